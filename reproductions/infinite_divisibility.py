r"""A Poisson-binomial law is no sum of N equal shares, so N silos cannot each add one.

Run: python reproductions/infinite_divisibility.py

Heikkilä (2025), Theorem 4.7, divides the noise of infinitely divisible mechanisms among silos and names the
Poisson-binomial one. An N-th share of a law with the generating function ∏(1 − p_i + p_i z) would have its
N-th root; a coefficient of that is a probability. One below zero says that there is no such share.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def generating_function(probs: Sequence[Fraction]) -> list[Fraction]:
    """Returns the probabilities of 0, 1, … heads of independent coins, exactly."""
    law = [Fraction(1)]
    for prob in probs:
        kept = [(1 - prob) * mass for mass in law] + [Fraction(0)]
        law = [stay + prob * below for stay, below in zip(kept, [Fraction(0), *law], strict=True)]
    return law


def share(law: Sequence[Fraction], silos: int, terms: int) -> list[Fraction]:
    r"""Returns the first coefficients of the N-th root of a power series, over its first one; exactly.

    From g = f^{1/N}: N·f·g' = f'·g, so N·f_0·k·g_k = Σ_{j ≥ 1} (j − N(k − j))·f_j·g_{k−j}.

    Example:
        >>> share([Fraction(1), Fraction(2), Fraction(1)], silos=2, terms=3)
        [Fraction(1, 1), Fraction(1, 1), Fraction(0, 1)]
    """
    root = [Fraction(1)]
    for k in range(1, terms):
        known = sum(
            ((j - silos * (k - j)) * law[j] * root[k - j] for j in range(1, min(k, len(law) - 1) + 1)),
            Fraction(0),
        )
        root.append(known / (silos * k * law[0]))
    return root


def first_negative(probs: Sequence[Fraction], silos: int, terms: int = 12) -> tuple[int, float] | None:
    """Returns where a share's first negative coefficient is, and its size over the first one; else None."""
    root = share(generating_function(probs), silos, terms)
    return next(((k, float(mass)) for k, mass in enumerate(root) if mass < 0), None)


def main() -> None:
    """Prints what docs/claims.md shows."""
    print("the share of one of N silos: first negative 'probability', relative to that of zero")
    coins = {
        "8 fair coins": [Fraction(1, 2)] * 8,
        "8 coins biased by data": [Fraction(1, 2) + Fraction(k, 40) for k in range(-4, 4)],
    }
    for name, probs in coins.items():
        for silos in (2, 3, 10):
            found = first_negative(probs, silos)
            told = "none" if found is None else f"{found[1]:.4f} at {found[0]}"
            print(f"  {name}, N = {silos}: {told}")


if __name__ == "__main__":
    main()
