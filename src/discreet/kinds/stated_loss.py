"""A loss of the user's own for stable-steps: its constants are stated in the plan, and tried before training.

For a linear head with weights W on features x of norm at most R, a loss ℓ(z, y) of the logits z = Wx that is
convex in z, whose gradient by z has norm at most ρ and is s-Lipschitz, is convex, ρR-Lipschitz and sR²-smooth
in W: the gradient by W is ∇ℓ ⊗ x, and it moves by at most s‖(W − W')x‖·‖x‖. That is all that the theorem of
stable-steps asks for (docs/theory/steps.md, a loss of one's own).
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import ConfigurationError
from discreet.kinds.float_error import require_norm

ROUNDING = 2.0**-36
"""How far, as a share of ρ, floating point may move what a function gives off what its constants hold for."""

Function = Callable[[Floats, Integers], tuple[Floats, Floats]]

# Trials are of public random numbers alone; logits of all these sizes.
_SCALES = (0.1, 1.0, 5.0, 30.0)
_PAIRS = 400
_TOLERANCE = 1e-7
_STEP = 1e-5


@dataclass(frozen=True, slots=True)
class StatedLoss:
    """A function of logits and labels, by name, and the constants that it is stated to have.

    Attributes:
        function: ``module:name``; takes logits, shape ``(n, outputs)``, and classes, shape ``(n,)``, and
            returns losses, ``(n,)``, and their gradients by the logits, ``(n, outputs)``, row by row.
        outputs: logits of a record.
        residual_norm: ρ, bound on the L2 norm of a gradient by the logits.
        curvature: s, the most that the gradient moves for each unit that the logits move.

    Raises:
        ConfigurationError: if a constant is not positive and finite, or no gradient could be shortened to
            ``residual_norm`` without losing digits.
    """

    function: str
    outputs: int
    residual_norm: float
    curvature: float

    def __post_init__(self) -> None:
        require_norm(self.residual_norm, "residual_norm", "a loss")
        if not (self.curvature > 0 and math.isfinite(self.curvature)):
            raise ConfigurationError(
                f"'curvature' of a loss must be positive and finite; got {self.curvature}."
            )

    def lipschitz(self, feature_norm_bound: float) -> float:
        """Bounds the norm of any record's gradient: ρ·R."""
        return self.residual_norm * feature_norm_bound

    def smoothness(self, feature_norm_bound: float) -> float:
        """Bounds the largest eigenvalue of any record's Hessian: s·R²."""
        return self.curvature * feature_norm_bound**2

    def losses_and_residuals(self, logits: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Calls the function; a gradient that is no number, or longer than ρ, is shortened to ρ or zero.

        So one record's gradient never breaks the bound on its length; that it is convex and as smooth as
        stated is what is assumed.
        """
        try:
            losses, residuals = _called(self.function, logits, labels)
        except Exception:  # whatever it is, only the record that it is raised for may hang on it
            losses, residuals = _one_by_one(self.function, logits, labels)
        finite = np.isfinite(losses) & np.isfinite(residuals).all(axis=1)
        losses, residuals = np.where(finite, losses, 0.0), np.where(finite[:, None], residuals, 0.0)
        norms = np.sqrt(np.vecdot(residuals, residuals))
        return losses, residuals * (self.residual_norm / np.maximum(norms, self.residual_norm))[:, None]


def _one_by_one(name: str, logits: Floats, labels: Integers) -> tuple[Floats, Floats]:
    """Calls the function row by row; one that raises counts for nothing."""
    losses, residuals = np.zeros(len(labels)), np.zeros_like(logits)
    for place in range(len(labels)):
        row = slice(place, place + 1)
        with contextlib.suppress(Exception):
            losses[row], residuals[row] = _called(name, logits[row], labels[row])
    return losses, residuals


def _called(name: str, logits: Floats, labels: Integers) -> tuple[Floats, Floats]:
    losses, residuals = _imported(name)(logits, labels)
    losses, residuals = np.asarray(losses, dtype=np.float64), np.asarray(residuals, dtype=np.float64)
    if losses.shape != labels.shape or residuals.shape != logits.shape:
        raise ConfigurationError(
            f"the loss {name!r} must return losses of shape {labels.shape} and gradients of shape "
            f"{logits.shape}; got {losses.shape} and {residuals.shape}."
        )
    return losses, residuals


@functools.lru_cache(maxsize=8)
def _imported(name: str) -> Function:
    from discreet.models.own_code import imported  # planning does without torch

    return imported(name, "loss")


@functools.lru_cache(maxsize=8)
def require_as_stated(loss: StatedLoss, num_classes: int) -> None:
    """Tries the function on random logits of many sizes, before any record is touched.

    Nothing here proves a constant; what is visibly untrue is refused.

    Args:
        loss: with its constants.
        num_classes: labels are below this.

    Raises:
        ConfigurationError: saying which constant does not hold, and what was found.
    """
    random = np.random.default_rng(0)
    count = _PAIRS * len(_SCALES)
    scales = np.repeat(_SCALES, _PAIRS)[:, None]
    one = random.normal(size=(count, loss.outputs)) * scales
    # Partners near and far: curvature shows in the near ones, convexity in both.
    reach = np.where(np.arange(count) % 2 == 0, 0.01, scales[:, 0])[:, None]
    other = one + random.normal(size=one.shape) * reach
    labels = random.integers(0, num_classes, count)
    _require_rows(loss, one, labels)
    (losses, first), (_, second) = (_called(loss.function, at, labels) for at in (one, other))
    longest = float(np.sqrt(np.vecdot(first, first)).max())
    if not longest <= loss.residual_norm * (1.0 + _TOLERANCE):
        raise _untrue(loss, "residual_norm", loss.residual_norm, longest)
    moved, apart = first - second, one - other
    inner, far = np.vecdot(moved, apart), np.sqrt(np.vecdot(apart, apart))
    slope = float((np.sqrt(np.vecdot(moved, moved)) / far).max())
    if not slope <= loss.curvature * (1.0 + 1e-6) + _TOLERANCE:
        raise _untrue(loss, "curvature", loss.curvature, slope)
    if not float((inner / far).min()) >= -_TOLERANCE * loss.residual_norm:
        raise ConfigurationError(
            f"the loss {loss.function!r} must be convex in the logits; between some of them its gradient "
            "turns back. Only convex losses have the guarantee of stable-steps."
        )
    _require_gradient(loss, one, labels, losses, first)


def _require_rows(loss: StatedLoss, logits: Floats, labels: Integers) -> None:
    """Compares rows together with rows alone: a loss must be a function of its own record."""
    together = _called(loss.function, logits, labels)[1]
    for place in range(0, len(labels), 97):
        alone = _called(loss.function, logits[place : place + 1], labels[place : place + 1])[1][0]
        if not np.allclose(alone, together[place], rtol=1e-9, atol=1e-12):
            raise ConfigurationError(
                f"the loss {loss.function!r} must treat every record by itself; a record alone has another "
                "gradient than among others."
            )


def _require_gradient(
    loss: StatedLoss, logits: Floats, labels: Integers, losses: Floats, gradients: Floats
) -> None:
    for output in range(loss.outputs):
        moved = logits.copy()
        moved[:, output] += _STEP
        found = (_called(loss.function, moved, labels)[0] - losses) / _STEP
        off = float(np.abs(found - gradients[:, output]).max())
        if not off <= loss.curvature * _STEP + 1e-4 * max(1.0, loss.residual_norm):
            raise ConfigurationError(
                f"the loss {loss.function!r} must return its own gradient; by the difference of losses one "
                f"entry is off by {off:.3g}."
            )


def _untrue(loss: StatedLoss, name: str, stated: float, found: float) -> ConfigurationError:
    return ConfigurationError(
        f"'{name}' of the loss {loss.function!r} must hold for all logits; stated is {stated:g}, and some "
        f"reach {found:.6g}. State a larger one."
    )
