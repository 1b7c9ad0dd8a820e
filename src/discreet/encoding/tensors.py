"""Named tensors as one flat vector and back, with refusals that name the tensor."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from discreet.errors import ConfigurationError, PrivacyViolation


def flatten(tensors: Mapping[str, npt.NDArray[np.generic]]) -> npt.NDArray[np.float64]:
    """Concatenates tensors in the mapping's order; shape ``(total size,)``.

    Raises:
        ConfigurationError: a tensor that is not float32 or float64 (an integer buffer, float16), by name.
        PrivacyViolation: a tensor with a NaN or an infinity, by name.

    Example:
        >>> flatten({"weight": np.ones((1, 2)), "bias": np.zeros(1)})
        array([1., 1., 0.])
    """
    out = np.empty(sum(tensor.size for tensor in tensors.values()), dtype=np.float64)
    start = 0
    for name, tensor in tensors.items():
        if tensor.dtype not in (np.float32, np.float64):
            raise ConfigurationError(
                f"tensor {name!r} must be float32 or float64; got {tensor.dtype}. "
                "Exclude buffers that are not trained from the update."
            )
        part = out[start : start + tensor.size]
        part[:] = tensor.reshape(-1)
        if not np.all(np.isfinite(part)):
            raise PrivacyViolation(f"tensor {name!r} must be finite; it holds a NaN or an infinity.")
        start += tensor.size
    return out


def unflatten(
    vector: npt.NDArray[np.float64], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, npt.NDArray[np.float64]]:
    """Cuts a flat vector into named views of these shapes; the inverse of `flatten`.

    Raises:
        ConfigurationError: if the sizes do not add up.
    """
    total = sum(math.prod(shape) for shape in shapes.values())
    if vector.shape != (total,):
        raise ConfigurationError(f"the shapes hold {total} values; got a vector of shape {vector.shape}.")
    out, start = {}, 0
    for name, shape in shapes.items():
        stop = start + math.prod(shape)
        out[name] = vector[start:stop].reshape(shape)
        start = stop
    return out
