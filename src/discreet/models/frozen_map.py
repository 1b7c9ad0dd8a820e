"""Frozen networks with public weights as feature maps: a torch module of the user's own, or an ONNX file."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from discreet.arrays import Float32s
from discreet.errors import ConfigurationError
from discreet.models.onnx_file import LARGEST, OnnxNetwork
from discreet.models.own_code import imported
from discreet.models.per_record import features_of
from discreet.models.public_weights import PublicWeights, fill

_SCALES = (1.0, 0.0, 1e-3, 30.0, 1e4)


@dataclass(slots=True)
class FrozenMap:
    """The features that a frozen network gives to records, each in a call of its own.

    Guarantee:
        What a record gets is a function of the record and the network, if the network keeps nothing from call
        to call. One for which it raises, or gives no vector of the public length, gets zeros and is
        counted; no other hears of it.

    Attributes:
        name: as the plan has it.
        answer: features of a batch of one record, shape ``(1, length)``.
        of_zeros: features of a record of zeros, shape ``(length,)``; so the length is public.
        made_of: a hash of what decides features: weights, name, source files, answers to public records.
        module: what answers, in evaluation mode; None of an ONNX file.
        unusable: records that got zeros so far; private.
    """

    name: str
    answer: Callable[[Float32s], Float32s]
    of_zeros: Float32s
    made_of: str
    module: nn.Module | None = None
    unusable: int = 0

    @classmethod
    def network(cls, spec: str, weights: PublicWeights, feature_shape: tuple[int, ...]) -> Self:
        """Builds ``factory(feature_shape)`` and loads all its weights from a safetensors file.

        Raises:
            ConfigurationError: if the factory or the file does not fit, or it keeps something between calls.
        """
        factory = imported(spec, "factory of a feature network")
        if not any(is_one(factory) for is_one in (inspect.isfunction, inspect.isclass)):
            raise ConfigurationError(
                f"{spec!r} must be a function or a class, which makes the network of a feature_shape; got an "
                f"object of the type {type(factory).__name__}. Write a function that returns the network."
            )
        tensors = weights.tensors()
        try:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                made = factory(feature_shape)
        except Exception as error:
            raise ConfigurationError(
                f"{spec!r} must make a network for records of shape {feature_shape}; it raised "
                f"{type(error).__name__}: {error}."
            ) from error
        if not isinstance(made, nn.Module):
            raise ConfigurationError(f"{spec!r} must return a torch.nn.Module; got {type(made).__name__}.")
        fill(made.state_dict(), tensors, name=PurePath(weights.path).name)
        made.eval().requires_grad_(False)

        def answer(record: Float32s) -> Float32s:
            with torch.no_grad():
                found = made(torch.from_numpy(record).clone())
                # Conversion would drop the imaginary part, with a message.
                return np.asarray((found if found.is_complex() else found.float()).numpy())

        written_in = {
            spec.partition(":")[0],
            factory.__module__,
            *(type(one).__module__ for one in made.modules()),
        }
        found = cls._tried(spec, answer, feature_shape, f"{weights.sha256} {_digest(written_in)}")
        found.module = made
        return found

    @classmethod
    def onnx(cls, weights: PublicWeights, feature_shape: tuple[int, ...]) -> Self:
        """Loads an ONNX file whose one input is a batch of one record, and whose first output are features.

        Raises:
            ConfigurationError: as `OnnxNetwork`, if the file is too large, or does not take such records.
        """
        name = PurePath(weights.path).name
        network = OnnxNetwork(weights.read(LARGEST), name, feature_shape)
        return cls._tried(name, network, feature_shape, str(weights.sha256))

    @classmethod
    def _tried(
        cls, name: str, answer: Callable[[Float32s], Float32s], shape: tuple[int, ...], made_of: str
    ) -> Self:
        """Tries a map on a record of zeros, which decides the length, and on random ones of many scales."""
        try:
            found = answer(np.zeros((1, *shape), dtype=np.float32))
        except Exception as error:
            reason = (str(error).splitlines() or [""])[0]
            raise ConfigurationError(
                f"feature network {name!r} must take a batch of one record, {(1, *shape)}; for zeros it "
                f"raised {type(error).__name__}: {reason}."
            ) from error
        if not (found.ndim == 2 and len(found) == 1 and found.size and found.dtype.kind in "fiub"):
            raise ConfigurationError(
                f"feature network {name!r} must give one vector for a record, (1, d); got {found.shape} of "
                f"{found.dtype}."
            )
        made = cls(name, answer, np.zeros(found.shape[1], dtype=np.float32), "")
        probe = np.random.default_rng(0).uniform(size=shape)
        public = [made._of((scale * probe).astype(np.float32)) for scale in (*_SCALES, *_SCALES)]
        answers = [features.tobytes() for features in public]
        if answers[: len(_SCALES)] != answers[len(_SCALES) :]:
            raise ConfigurationError(
                f"feature network {name!r} must answer a record alike whatever it was asked before; it "
                "does not. Let it keep nothing from call to call, and draw no random numbers."
            )
        digest = hashlib.sha256(b"\n".join([f"{name} {made_of}".encode(), *answers])).hexdigest()
        return cls(name, answer, public[_SCALES.index(0.0)], digest)

    @property
    def length(self) -> int:
        """Numbers for a record."""
        return len(self.of_zeros)

    def __call__(self, records: Float32s) -> Float32s:
        """Returns the features of records, shape ``(n, length)``."""
        features = np.empty((len(records), self.length), dtype=np.float32)
        for place, record in enumerate(records):
            features[place] = self._of(record) if record.any() else self.of_zeros
        return features

    def _of(self, record: Float32s) -> Float32s:
        """Returns the features of one record; zeros if there are none."""
        found = features_of(record, self._alone, self.length)
        if found is not None:
            return found
        self.unusable += 1
        return np.zeros(self.length, dtype=np.float32)

    def _alone(self, record: Float32s) -> Float32s:
        with np.errstate(all="ignore"):  # one record's overflow must not become a message
            (found,) = self.answer(record[None])
        return np.asarray(found)


def _digest(modules: Iterable[str]) -> str:
    """Returns the hash of the files of modules: another forward pass, other features."""
    digest = hashlib.sha256()
    for name in sorted(modules):
        file: Any = getattr(sys.modules.get(name), "__file__", None)
        digest.update(f"\n{name}\n".encode() + (b"" if file is None else Path(file).read_bytes()))
    return digest.hexdigest()
