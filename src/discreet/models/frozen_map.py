"""Frozen networks with public weights as feature maps: a torch module of the user's own, or an ONNX file."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from discreet.arrays import Float32s
from discreet.errors import ConfigurationError
from discreet.learning.forward import independent_records
from discreet.models.own_code import imported
from discreet.models.public_weights import PublicWeights, fill

_PROBES = 3


@dataclass(slots=True)
class FrozenMap:
    """The features that a frozen network gives to records.

    Guarantee:
        A record for which the network raises gets zeros and is counted, and others get what they would have
        got. On random records one record's features did not depend on the others of its chunk.

    Attributes:
        name: as the plan has it.
        answer: features of a chunk, shape ``(n, length)``.
        length: numbers for a record; found on records of zeros, so it is public.
        made_of: a hash of what decides the features: the weights, and the factory's file.
        unusable: records that got zeros so far; private.
    """

    name: str
    answer: Callable[[Float32s], Float32s]
    length: int
    made_of: str
    unusable: int = 0

    @classmethod
    def network(cls, spec: str, weights: PublicWeights, feature_shape: tuple[int, ...]) -> Self:
        """Builds ``factory(feature_shape)`` and loads all its weights from a safetensors file.

        Raises:
            ConfigurationError: if the factory or the file does not fit, or records are mixed.
        """
        factory = imported(spec, "factory of a feature network")
        try:
            with torch.random.fork_rng(devices=[]):
                made = factory(feature_shape)
        except Exception as error:
            raise ConfigurationError(
                f"{spec!r} must make a network for records of shape {feature_shape}; it raised "
                f"{type(error).__name__}: {error}."
            ) from error
        if not isinstance(made, nn.Module):
            raise ConfigurationError(f"{spec!r} must return a torch.nn.Module; got {type(made).__name__}.")
        fill(made.state_dict(), weights.tensors(), name=PurePath(weights.path).name)
        made.eval().requires_grad_(False)

        def answer(records: Float32s) -> Float32s:
            with torch.no_grad(), independent_records(made):
                return np.asarray(made(torch.from_numpy(records)).float().numpy())

        return cls._checked(spec, answer, feature_shape, f"{weights.sha256} {_source_digest(factory)}")

    @classmethod
    def onnx(cls, weights: PublicWeights, feature_shape: tuple[int, ...]) -> Self:
        """Loads an ONNX file whose one input is a batch of records, and whose first output are features.

        Raises:
            ConfigurationError: if onnxruntime is not installed, the file does not fit, or records are mixed.
        """
        data, name = weights.read(), PurePath(weights.path).name
        try:
            import onnxruntime
        except ModuleNotFoundError:
            raise ConfigurationError(
                "an ONNX file needs onnxruntime; it is not installed. Run: pip install 'discreet[export]'"
            ) from None
        try:
            session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
            (taken,) = session.get_inputs()
        except Exception as error:  # whatever onnxruntime raises
            reason = (str(error).splitlines() or [""])[0]
            raise ConfigurationError(f"{name} must be an ONNX file with one input; {reason}.") from error
        kind = np.int64 if taken.type == "tensor(int64)" else np.float32
        size = taken.shape[0] if taken.shape and isinstance(taken.shape[0], int) else None

        def answer(records: Float32s) -> Float32s:
            batches = np.split(records, range(size, len(records), size)) if size else [records]
            parts: list[Any] = [session.run(None, {taken.name: part.astype(kind)})[0] for part in batches]
            return np.concatenate(parts).astype(np.float32)

        return cls._checked(name, answer, feature_shape, weights.sha256 or "")

    @classmethod
    def _checked(
        cls, name: str, answer: Callable[[Float32s], Float32s], shape: tuple[int, ...], made_of: str
    ) -> Self:
        """Tries a map on random records and on zeros."""
        probe = np.random.default_rng(0).uniform(0.0, 2.0, size=(_PROBES, *shape)).astype(np.float32)
        alone = probe.copy()
        alone[1:] = 0.0
        try:
            together, apart = answer(probe), answer(alone)
        except Exception as error:
            reason = (str(error).splitlines() or [""])[0]
            raise ConfigurationError(
                f"feature network {name!r} must take records of shape {shape}; it raised "
                f"{type(error).__name__}: {reason}."
            ) from error
        if not (together.ndim == 2 and len(together) == _PROBES and together.shape[1] > 0):
            raise ConfigurationError(
                f"feature network {name!r} must give one vector a record, shape ({_PROBES}, d) for {_PROBES} "
                f"records; got {together.shape}."
            )
        if not np.allclose(together[0], apart[0], rtol=1e-3, atol=1e-4, equal_nan=True):
            raise ConfigurationError(
                f"feature network {name!r} must give a record features that depend on no other record; they "
                "do. Export or build it for inference, with batch norm by its running statistics."
            )
        return cls(name, answer, together.shape[1], made_of)

    def __call__(self, records: Float32s) -> Float32s:
        """Returns the features of a chunk of records, shape ``(n, length)``."""
        try:
            return self._require_shape(self.answer(records.copy()), len(records))
        except (Exception, SystemExit):  # some record raises: only that one may hang on it
            return self._one_by_one(records)

    def _one_by_one(self, records: Float32s) -> Float32s:
        """Computes every record in a chunk of the same shape, with zeros for the others."""
        features = np.zeros((len(records), self.length), dtype=np.float32)
        for place, record in enumerate(records):
            alone = np.zeros_like(records)
            alone[place] = record
            try:
                features[place] = self._require_shape(self.answer(alone), len(records))[place]
            except (Exception, SystemExit):
                self.unusable += 1
        return features

    def _require_shape(self, features: Float32s, records: int) -> Float32s:
        if features.shape != (records, self.length):
            raise ValueError(f"features must have the shape {(records, self.length)}; got {features.shape}")
        return features


def _source_digest(factory: Callable[..., Any]) -> str:
    """Returns the hash of the file that a factory is written in: another forward pass, other features."""
    file = inspect.getsourcefile(inspect.unwrap(factory))
    return "" if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest()
