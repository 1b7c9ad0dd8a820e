"""A linear head that knows its classes from public texts about them, before it has seen a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Float32s, Floats
from discreet.errors import ConfigurationError

# Far from where float32 ends, on either side: no logit is infinite, and no difference of classes is lost.
_SMALLEST_SCALE, _LARGEST_SCALE = 2.0**-40, 2.0**40
_DECIMALS = 6
"""To which two classes must differ: float32, which encoders work in, has seven."""


def head_of_texts(classes: Sequence[npt.NDArray[Any]], *, scale: float = 20.0) -> Float32s:
    r"""Returns the weights of a head that gives each record the class whose texts its features are nearest.

    A class is the mean of its texts' vectors, each of length 1, and is itself brought to length 1. A record
    with features x has, for each class, the logit ``scale`` · cos(x, class) · R·‖x‖/√(‖x‖² + 1), R being the
    norm bound and 1 the constant behind its features; less the mean of all classes, which softmax does not
    see. Radford et al. (2021), sections 3.1.2 and 3.1.4, arXiv:2103.00020, for images; 20 is the usual scale
    of the cosines that sentence encoders are trained by.

    Guarantee:
        The weights are a function of the arguments alone. They cost no privacy if texts, scale and encoder
        were not chosen by protected records.

    Args:
        classes: for each class, in the order of the labels, the vectors of its texts: the encoder's features,
            as records have them; shape ``(texts, features)``.
        scale: of the cosines; from 2^-40 to 2^40.

    Returns:
        An array as `discreet.models.LinearHead` has it, the constant's column last and zero: shape
        ``(classes, features + 1)``; of two classes ``(1, features + 1)``, the second less the first.

    Raises:
        ConfigurationError: if there are fewer than two classes, their vectors are no numbers, of no or
            another shape, not finite or zero, two classes are the same, or ``scale`` is out of its range. It
            names classes and texts by their places, from 0.

    Example:
        >>> spring, winter = np.array([[2.0, 0.0]]), np.array([[0.0, 3.0], [0.0, 1.0]])
        >>> head_of_texts([spring, winter], scale=5.0).tolist()
        [[-5.0, 5.0, 0.0]]
    """
    given: object = scale
    is_none = isinstance(given, bool) or not isinstance(given, int | float | np.number)
    if is_none or not _SMALLEST_SCALE <= scale <= _LARGEST_SCALE:
        got = f"{given!r:.40}" if isinstance(given, int | float | str) else type(given).__name__
        raise ConfigurationError(f"'scale' must be a number from 2^-40 to 2^40; got {got}.")
    arrays = _vectors(classes)
    means = np.array([_mean(one, number) for number, one in enumerate(arrays)])
    _require_unlike(means)
    rows = means[1:] - means[:1] if len(means) == 2 else means - means.mean(axis=0)
    return np.pad(float(scale) * rows, ((0, 0), (0, 1))).astype(np.float32)


def _vectors(classes: Any) -> list[Floats]:
    """Returns the vectors of each class, all of one length."""
    if not isinstance(classes, list | tuple | np.ndarray) or not getattr(classes, "ndim", 1):
        raise ConfigurationError(
            "'classes' must be a list that has, for each class, the vectors of its texts; got "
            f"{type(classes).__name__}."
        )
    if not len(classes) >= 2:
        raise ConfigurationError(f"'classes' must be of at least 2 classes; got {len(classes)}.")
    arrays = [_numbers(one, number) for number, one in enumerate(classes)]
    for number, one in enumerate(arrays):
        if one.ndim != 2 or not one.size or one.shape[1] != arrays[0].shape[1]:
            raise ConfigurationError(
                "'classes' must be arrays of shape (texts, features), each with a text and all with as many "
                f"features; class {number} has {one.shape}."
            )
    return arrays


def _numbers(one: Any, number: int) -> Floats:
    try:
        raw = np.asarray(one)
    except (TypeError, ValueError, RuntimeError):  # ragged rows, or a tensor that NumPy cannot read as it is
        raw = np.asarray(None)
    if raw.dtype.kind not in "biuf":
        raise ConfigurationError(
            "'classes' must be arrays of real numbers: vectors of texts, as your encoder makes them, not "
            f"texts; got {type(one).__name__} for class {number}. Call .toarray() of a sparse matrix, and "
            ".detach().float().cpu().numpy() of a tensor."
        )
    numbers: Floats = raw.astype(np.float64)
    return numbers


def _mean(vectors: Floats, number: int) -> Floats:
    """Returns the direction of a class."""
    return _unit(_unit(vectors, f"class {number}, text").mean(axis=0), f"class {number}, mean of texts")


def _unit(vectors: Floats, where: str) -> Floats:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    wrong = np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))
    if len(wrong):
        place = f" {wrong[0]}" * (vectors.ndim > 1)
        raise ConfigurationError(
            f"{where}{place}: its vector must be finite and not all zero; it is not. Leave out texts of "
            "which the encoder knows no word."
        )
    unit: Floats = vectors / norms
    return unit


def _require_unlike(means: Floats) -> None:
    """Refuses classes that no record could be told apart by."""
    seen = dict[bytes, int]()
    for number, mean in enumerate(means.round(_DECIMALS) + 0.0):  # -0 becomes 0
        first = seen.setdefault(mean.tobytes(), number)
        if first != number:
            raise ConfigurationError(
                f"'classes' must differ; the vectors of class {first} and class {number} have one mean. Give "
                "each class texts of its own."
            )
