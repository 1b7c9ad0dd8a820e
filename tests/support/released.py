"""The weights in a model file, without what it says of itself: runs under different plans may share them."""

from __future__ import annotations

from pathlib import Path

from discreet.models import read_model_file


def weights(run: Path) -> dict[str, bytes]:
    """Returns every tensor of a run's model file by name."""
    path = run / "model.safetensors"
    tensors = read_model_file(path.read_bytes(), name=path.name).tensors
    assert tensors
    return {name: array.tobytes() for name, array in tensors.items()}
