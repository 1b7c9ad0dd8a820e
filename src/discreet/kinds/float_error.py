r"""What floating-point arithmetic adds to a sensitivity, and the one assumption behind it.

Every kind claims ``(1 + FLOAT_SLACK)`` times its exact sensitivity; the tenth of a per cent covers:

- *Sums in float64.* With terms that are together at most 32·C long for each of n records, and at most k
  additions on the way of any term, a sum is within 1.01·k·2^-53·32·n·C of the exact one (Higham 2002,
  equation 4.4), on either neighbouring data set. Partial sums have at most 2^15 terms, and chunks at least 32
  records: for n ≤ `MAX_BATCH` that is below 2^-10.9·C in all.
- *Norms.* Clipping factors are computed from norms that are rounded upwards, what underflows included; what
  float64 leaves is below 2^-40.
- *Local steps.* Each step of stable-steps is off by at most `linear_step_error`; non-expansive steps do not
  amplify it, so 2·(number of steps) times it is compared with the slack before any record is touched.
  Tangent-steps do the same with `tangent_gradient_error`, record by record.

What a record contributes before sums is *defined* by the float32 numbers that forward and backward passes
give. It must then be a function of that record alone: a ReLU, a largest entry or cancellation makes
anything of a last bit. `discreet.learning.clipping.shapes` has every record computed in one public shape,
whatever the number of records, and what is not finite or is padding is left out by selection, before sums.
`ROWS_ALIKE` is the assumption that is left; `discreet.learning.alike` measures it. Continuous functions of
records in float64 do not need it: their last bits are inside the bounds above.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.arrays import Floats
from discreet.errors import ConfigurationError

FLOAT_SLACK = 2.0**-10
MAX_BATCH = 1 << 20
FEATURE_NORM_TOLERANCE = 2.0**-20
SHORTEST_SHARE = 1.0 / 32.0
"""A gradient that is shorter than this share of its terms' lengths together counts as so long, because the
rounding of sums is relative to the terms; ordinary networks stay far above."""
MIN_NORM, MAX_NORM = 2.0**-64, 2.0**64
"""Contributions are brought to norms between these. Far outside, a factor C/norm is no normal number,
whose rounding is not relative, and no bound holds: at C = 1e-305 a sum moved by 1.9·C."""
_UNIT_ROUNDOFF = 2.0**-53

ROWS_ALIKE = (
    "on each silo's machine, numerical kernels that are called with one shape treat all records, or shards, "
    "of a batch alike, in every place and whatever the others hold (checked on the planned model when a silo "
    "starts); random numbers that a model draws, such as dropout masks, are as good as independent"
)


def with_slack(exact: float) -> float:
    """Returns ``exact`` enlarged by `FLOAT_SLACK`."""
    return exact * (1.0 + FLOAT_SLACK)


def require_norm(norm: float, name: str, kind: str) -> None:
    """Refuses the norm ``name`` of ``kind`` outside the range in which rounding is bounded, `MIN_NORM`."""
    if not MIN_NORM <= norm <= MAX_NORM:
        raise ConfigurationError(f"{name!r} of {kind} must be positive, from 2^-64 to 2^64; got {norm}.")


def require_summable(largest_batch: int) -> None:
    """Refuses settings under which a batch may be so large that its float64 sum could exceed the slack.

    Args:
        largest_batch: a public number: the record capacity, or the size of all batches.
    """
    if not largest_batch <= MAX_BATCH:
        raise ConfigurationError(
            f"A batch must have at most {MAX_BATCH} records for its float64 sum to stay within the claimed "
            f"sensitivity; it may have {largest_batch}. Lower 'data.record_capacity' or split the silo."
        )


def linear_step_error(
    *,
    num_features: int,
    residual_norm: float,
    residual_lipschitz: float,
    residual_error: float,
    batch: int,
    feature_norm: float,
    weight_norm: float,
    learning_rate: float,
    terms: int | None = None,
) -> float:
    r"""Bounds how far one float64 gradient step of any linear loss lands from the exact one.

    The residual is the loss's derivative by the logits. With u = 2^-53 and p features: logits are off by at
    most p·u·R·‖W‖, residuals by s times that and by their own e; the sum over b records of length at most
    (ρ + e)·R adds b·u times their total, and the update itself two roundings (Higham 2002, sections 3.1 and
    3.5; docs/theory/steps.md, stable-steps). What is of higher order is in factors of 1.01 and 3. Where the b
    units of a batch are persons, whose weighted records are together no longer than one record, the sum has
    more terms, and weighting costs a residual one rounding more.

    Args:
        num_features: p, length of one record's features.
        residual_norm: ρ, largest L2 norm of a record's residual.
        residual_lipschitz: s, by how much at most the residual moves when the logits move by one.
        residual_error: e, L2 distance of a computed residual from that of the same float64 logits.
        batch: b, largest batch.
        feature_norm: R.
        weight_norm: largest Frobenius norm the weights can have during the steps.
        learning_rate: γ, per record.
        terms: most records of a batch, where its units have several.

    Returns:
        L2 distance, in parameter units.
    """
    logits = num_features * _UNIT_ROUNDOFF * feature_norm * weight_norm
    residual = residual_lipschitz * logits + residual_error
    added = batch if terms is None else 2 + terms
    summed = added * _UNIT_ROUNDOFF * (residual_norm + residual_error)
    gradient = 1.01 * batch * feature_norm * (residual + summed)
    longest = weight_norm + learning_rate * batch * feature_norm * (residual_norm + residual_error)
    return learning_rate * gradient + 3.0 * _UNIT_ROUNDOFF * longest


def entropy_residual_error(outputs: int) -> float:
    """Bounds the rounding of a logistic or softmax residual, two thirds of it for capping: 3·(k + 8)·2^-53.

    Args:
        outputs: k, number of logits.
    """
    return 3 * (outputs + 8) * _UNIT_ROUNDOFF


MARGIN_TERMS = 3
"""As by so many features more, at most, rounding moves the logits of an ordinal head in its margins."""


def ordinal_residual_error(outputs: int) -> float:
    """Bounds the rounding of an ordinal residual, 3·(k + 20)·2^-53, beside `MARGIN_TERMS`.

    A margin m_k = z_0 + z_k + t_k is off by 2u·(|z_0| + |z_k| + |t_k|), and the residual by s times that over
    √(1 + 1/(k - 1)), for its derivative by all margins is shorter by this than by the logits: at most
    s·u·(3‖z‖ + 2·log k). The k - 1 binary residuals are each off by 27u, together by √2 times that, and
    their sum by k·u more.

    Args:
        outputs: k, number of levels.
    """
    return 3 * (outputs + 20) * _UNIT_ROUNDOFF


def labels_residual_error(labels: int) -> float:
    """Bounds the rounding of the residuals of several labels: √K times that of one.

    Args:
        labels: K.
    """
    return math.sqrt(labels) * entropy_residual_error(1)


def weighted_residual_error(residual_norm: float, residual_error: float) -> float:
    """Bounds the rounding of a residual that is multiplied by a weight of at most 1: one product more.

    Args:
        residual_norm: ρ.
        residual_error: of the residual itself.
    """
    return residual_error + _UNIT_ROUNDOFF * (residual_norm + residual_error)


def huber_residual_error(threshold: float) -> float:
    """Bounds the rounding of a residual of Huber's loss: one subtraction, then a cut that rounds nothing.

    The place of a label is exact. A difference within the threshold is off by at most u times it, and cutting
    off is non-expansive.

    Args:
        threshold: c.
    """
    return 2.0 * _UNIT_ROUNDOFF * threshold


def tangent_gradient_error(
    *,
    outputs: int,
    along_error: float,
    sum_error: float,
    clip_norm: float,
    longest_row: float,
    reach: float,
    largest_logit: float,
) -> float:
    r"""Bounds how far one record's gradient of a tangent model in float64 lands from the exact one.

    With u = 2^-53, K outputs, scaled rows aJ_k of norm at most m whose differences are at most √2·C, and a
    local state of norm at most D: a logit is off by at most ρ·m·D and 2u of what is added; the residual
    p - e_y is ½-Lipschitz in the logits and its change sums to zero, so that it moves the gradient by at most
    √(K/2)·C times its norm; computing the residual, capped, weighted by its class, by its share of a person
    and by a, costs K·(K + 10)·u in all entries together (docs/theory/steps.md, tangent-steps, rounding of
    residuals), and the weighted sum of the rows σ·m times ‖p - e_y‖₁ ≤ 2 (Higham 2002, sections 3.1 and 3.5).

    Args:
        outputs: K.
        along_error: ρ, relative error of inner products of rows with the local state.
        sum_error: σ, relative error of a record's share in weighted sums of rows.
        clip_norm: C.
        longest_row: m.
        reach: D.
        largest_logit: bound on a logit at the public model.

    Returns:
        L2 distance, per unit of the learning rate.
    """
    moved = longest_row * reach
    logits = math.sqrt(outputs) * (along_error * moved + 2.0 * _UNIT_ROUNDOFF * (largest_logit + moved))
    through_residual = 0.5 * logits * math.sqrt(outputs / 2.0) * clip_norm
    residual = outputs * (outputs + 10) * _UNIT_ROUNDOFF * longest_row
    return 1.01 * (through_residual + residual + 2.0 * sum_error * longest_row)


def finite_or_zero(vector: Floats) -> Floats:
    """Returns ``vector``, or zeros if any entry of it is not a finite number.

    What one unit contributes may be any function of that unit, but must not be an error: an aborted round is
    seen by others.

    Example:
        >>> finite_or_zero(np.array([1.0, np.inf])).tolist()
        [0.0, 0.0]
    """
    return vector if bool(np.all(np.isfinite(vector))) else np.zeros_like(vector)


def project(vector: Floats, radius: float) -> Floats:
    """Returns the nearest point of the ball of ``radius``; a non-expansive map, so sensitivities survive it.

    Example:
        >>> project(np.array([3.0, 4.0]), 1.0).tolist()
        [0.6000000000000001, 0.8]
    """
    norm = float(np.linalg.norm(vector))
    return vector if norm <= radius else vector * (radius / norm)
