"""Public weights from a file that a plan names by its hash: read once, hashed, and loaded by their names."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load

from discreet.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class PublicWeights:
    """A file of weights.

    Attributes:
        path: where it lies on this machine; may hold environment variables.
        sha256: what its bytes must hash to; None where no plan states it.
    """

    path: str
    sha256: str | None

    def read(self, most: int | None = None) -> bytes:
        """Returns the file's bytes, which have the stated hash; what is loaded is made of these.

        Args:
            most: bytes that a file may have; None sets no bound.

        Raises:
            ConfigurationError: if the file cannot be read, is too large, or is another one than was agreed.
        """
        path = Path(os.path.expandvars(self.path))
        try:
            with path.open("rb") as file:
                data = file.read() if most is None else file.read(most + 1)
        except OSError as error:
            # A folder above or at hand has no name of its own.
            name = path.name or self.path
            # No folder is named: a silo's message goes to the server.
            start = "" if path.is_absolute() else " Its path is taken from the working folder."
            raise ConfigurationError(f"Cannot read weights from {name}: {error.strerror}.{start}") from error
        if most is not None and len(data) > most:
            raise ConfigurationError(f"{path.name} must have at most {most:,} bytes; it has more.")
        # Whoever proposed the hash hears no other one of this machine's files.
        if self.sha256 not in (None, hashlib.sha256(data).hexdigest()):
            raise ConfigurationError(
                f"'sha256' must be that of the public weights {path.name}; {self.sha256} is not. Take the "
                "file that was agreed on, or state what sha256sum says of this one."
            )
        return data

    def tensors(self) -> Mapping[str, torch.Tensor]:
        """Returns the tensors of a safetensors file by their names.

        Raises:
            ConfigurationError: as `read` does, or if it is no such file.
        """
        try:
            return load(self.read())
        except (SafetensorError, KeyError) as error:  # the latter for a type that torch has not
            name = Path(self.path).name
            raise ConfigurationError(
                f"{name} must be a safetensors file; it cannot be read: {error}."
            ) from None


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file, as a plan states it.

    Raises:
        ConfigurationError: if it cannot be read.
    """
    return hashlib.sha256(PublicWeights(str(path), None).read()).hexdigest()


def agreed_file(path: Path, name: str, sha256: str | None) -> PublicWeights:
    """Returns a user's own file of weights, once it is the one that a plan names ``name``.

    Raises:
        ConfigurationError: if it is another; it tells both hashes, which only an own file's reader may hear.
    """
    found = sha256_of(path)
    if found != sha256:
        raise ConfigurationError(
            f"the public weights (--weights) must be {name}, SHA-256 {sha256}; {path.name} has {found}. Take "
            "the file that was agreed on."
        )
    return PublicWeights(str(path), sha256)


RENAME = "Name the layer in 'trained' if it is to be trained, or rename it in the network."
"""What helps where a file lacks an array of a network."""


def fill(
    targets: Mapping[str, torch.Tensor],
    tensors: Mapping[str, torch.Tensor],
    *,
    name: str,
    knob: str = RENAME,
) -> None:
    """Writes tensors of a file into those of a network that have the same names.

    Args:
        targets: of the network, each of which must be in the file; the file may hold others besides.
        tensors: by name; numbers of another precision are converted.
        name: of the file, in messages.
        knob: what helps, in messages.

    Raises:
        ConfigurationError: naming the first that is missing or has another shape.
    """
    with torch.no_grad():
        for key, target in targets.items():
            if key not in tensors:
                others = ", ".join(sorted(tensors)[:5]) + ", …" * (len(tensors) > 5)
                raise ConfigurationError(f"{name} must hold {key!r}; it holds {others or 'nothing'}. {knob}")
            held = tensors[key]
            if (target.shape, target.dtype.is_floating_point) != (held.shape, held.dtype.is_floating_point):
                raise ConfigurationError(
                    f"{name} must hold {key!r} in the network's shape {tuple(target.shape)}, "
                    f"{target.dtype}; got {tuple(held.shape)}, {held.dtype}. {knob}"
                )
            target.copy_(held)
