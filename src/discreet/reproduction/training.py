"""Trainings inside reproductions: a config, some settings changed, the released model's accuracy."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.config import Config, parse_config
from discreet.engines.local import run


def changed(config: Config, changes: Mapping[str, Any]) -> Config:
    """Returns ``config`` with other values at dotted keys, validated again.

    A table is replaced as a whole when its own key is named.

    Raises:
        ConfigurationError: for an unknown key or a bad value.

    Example:
        >>> from discreet.config import parse_config
        >>> privacy = {"epsilon": 1.0, "delta": 1e-5, "clip_norm": 1.0}
        >>> training = {"rounds": 3, "local": {"kind": "single-step"}}
        >>> config = {"data": {"source": "digits"}, "training": training, "privacy": privacy}
        >>> changed(parse_config(config, source="here"), {"training.rounds": 7}).training.rounds
        7
    """
    document = config.model_dump(mode="json", exclude_none=True)
    for key, value in changes.items():
        *path, last = key.split(".")
        table = document
        for part in path:
            table = table.setdefault(part, {})
        table[last] = value
    return parse_config(document, source=f"{config.name}, changed")


def accuracy(config: Config) -> float:
    """Trains as ``config`` says in a folder of its own and returns the held-out accuracy in per cent."""
    with tempfile.TemporaryDirectory() as folder:
        return 100.0 * run(config, Path(folder) / "run").metrics["accuracy"]
