"""TensorBoard: event files in a folder, by the writer that comes with torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from discreet.tracking.tracker import optional


class TensorBoard:
    """Writes event files into ``folder``; a `Tracker`.

    Raises:
        ConfigurationError: if the ``tensorboard`` package is not installed.
    """

    def __init__(self, folder: Path) -> None:
        module = optional("torch.utils.tensorboard", option="--tensorboard", extra="tensorboard")
        self._writer = module.SummaryWriter(log_dir=str(folder))

    def record(self, release: int, values: Mapping[str, float]) -> None:
        """Records one scalar a value."""
        for name, value in values.items():
            self._writer.add_scalar(name.replace(" ", "_"), value, global_step=release)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()
