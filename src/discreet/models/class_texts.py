"""A linear head that knows its classes from public texts about them, before it has seen a record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Float32s, Floats
from discreet.errors import ConfigurationError


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
        scale: of the cosines; positive.

    Returns:
        An array as `discreet.models.LinearHead` has it, the constant's column last and zero: shape
        ``(classes, features + 1)``; of two classes ``(1, features + 1)``, the second less the first.

    Raises:
        ConfigurationError: if there are fewer than two classes, their vectors are of no or another shape, not
            finite or zero, or ``scale`` is not positive.

    Example:
        >>> spring, winter = np.array([[2.0, 0.0]]), np.array([[0.0, 3.0], [0.0, 1.0]])
        >>> head_of_texts([spring, winter], scale=5.0).tolist()
        [[-5.0, 5.0, 0.0]]
    """
    if not (scale > 0 and math.isfinite(scale)):
        raise ConfigurationError(f"'scale' must be positive and finite; got {scale}.")
    if not len(classes) >= 2:
        raise ConfigurationError(f"'classes' must be of at least 2 classes; got {len(classes)}.")
    arrays = [np.asarray(one, dtype=np.float64) for one in classes]
    for number, one in enumerate(arrays):
        if one.ndim != 2 or not one.size or one.shape[1] != arrays[0].shape[1]:
            raise ConfigurationError(
                "'classes' must be arrays of shape (texts, features), each with a text and all with as many "
                f"features; class {number} has {one.shape}."
            )
    means = np.array([_unit(_unit(one).mean(axis=0)) for one in arrays])
    rows = means[1:] - means[:1] if len(means) == 2 else means - means.mean(axis=0)
    return np.pad(scale * rows, ((0, 0), (0, 1))).astype(np.float32)


def _unit(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not bool(np.all(np.isfinite(norms) & (norms > 0))):
        raise ConfigurationError(
            "the vectors of a class and their mean must be finite and not all zero; they are not. Leave out "
            "texts of which the encoder knows no word."
        )
    unit: Floats = vectors / norms
    return unit
