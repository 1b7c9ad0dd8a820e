r"""The closed forms of DP-Fed stand at real Rényi orders, their lemmas at integer ones: gap and repair.

Run: python reproductions/real_orders.py

Liang et al. prove D_α ≤ c·α a round for integer α (Lemmas 2 and 3) and use it at α = log(1/δ)/((1 − λ)ε) + 1
(Theorems 1 and 2). (α − 1)·D_α is convex in α (van Erven and Harremoës 2014, Corollary 2), so between the
integers n and n + 1, at α = n + t, the chord bounds it: D_α ≤ c·α + c·t(1 − t)/(α − 1), at most c/(4(α − 1))
more. That is proven if the lemmas' condition holds at n + 1 too. In the paper's MNIST setting it holds at
the order 2 and at no greater integer, so ε = 6 and 7, whose orders lie between 2 and 3, are not proven by
any noise. They hold all the same: exact accounting finds less than a fifth of them.
"""

from __future__ import annotations

import math

from closed_forms import (
    POISSON,
    UNIFORM,
    ClosedForm,
    Federation,
    best_share,
    closed_form_stddev,
    formula_stddev,
    order,
    order_is_allowed,
)

MNIST = Federation(sampling_prob=0.05, rounds=30, update_norm=0.3, delta=1000**-1.1)
# More noise than the formula asks for, in case the condition holds there only.
_RAISED = tuple(1.005**k for k in range(500))


def chord_factor(real: float) -> float:
    r"""Returns by how much the bound c·α grows at the order n + t: 1 + t(1 − t)/(α(α − 1)).

    Example:
        >>> chord_factor(3.0), chord_factor(2.5)
        (1.0, 1.0666666666666667)
    """
    part = real - math.floor(real)
    return 1.0 + part * (1.0 - part) / (real * (real - 1.0))


def proven_stddev(form: ClosedForm, federation: Federation, epsilon: float) -> float:
    """Returns the smallest ν that the lemmas prove for (ε, δ) at any real order; infinite if there is none.

    The λ of a theorem is the part of ε that the divergence of all rounds may take; noise whose variance is
    larger by `chord_factor` keeps it there.
    """
    return min(_proven(form, federation, epsilon, k / 400.0) for k in range(1, 400))


def _proven(form: ClosedForm, federation: Federation, epsilon: float, share: float) -> float:
    real = order(federation, epsilon, share)
    asked = max(
        formula_stddev(form, federation, epsilon, share) * math.sqrt(chord_factor(real)),
        2.0 * federation.update_norm * math.sqrt(form.min_ratio),
    )
    tried = (asked * factor for factor in _RAISED)
    return next((found for found in tried if order_is_allowed(federation, math.ceil(real), found)), math.inf)


def main() -> None:
    """Prints what docs/claims.md shows."""
    print("asked, theorem: its order, its noise, the noise that the lemmas prove")
    for epsilon in (6.0, 7.0, 8.0, 9.0):
        for name, form in (("uniform", UNIFORM), ("Poisson", POISSON)):
            real = order(MNIST, epsilon, best_share(form, MNIST, epsilon))
            proven = proven_stddev(form, MNIST, epsilon)
            told = "none" if math.isinf(proven) else f"{proven:.3f}"
            printed = closed_form_stddev(form, MNIST, epsilon)
            print(f"  {epsilon:g}, {name}: {real:.3f}, {printed:.3f}, {told}")


if __name__ == "__main__":
    main()
