"""Trainings inside reproductions: a config, some settings changed, the released model's accuracy."""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.config import Config, parse_config


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
    # The list of reproductions is shown without loading torch.
    from discreet.engines.local import run

    with tempfile.TemporaryDirectory() as folder:
        return 100.0 * run(config, Path(folder) / "run").metrics["accuracy"]


@dataclass(frozen=True, slots=True)
class Score:
    """Held-out accuracies of the same training under several seeds, in per cent.

    Example:
        >>> Score((80.0, 81.0)).mean
        80.5
        >>> Score((80.0, 81.0)).note
        '± 0.50 over 2 seeds'
    """

    accuracies: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean accuracy."""
        return statistics.fmean(self.accuracies)

    @property
    def error(self) -> float:
        """The standard error of the mean; NaN for a single seed."""
        count = len(self.accuracies)
        return statistics.stdev(self.accuracies) / math.sqrt(count) if count > 1 else math.nan

    @property
    def note(self) -> str:
        """The error in words."""
        count = len(self.accuracies)
        return f"± {self.error:.2f} over {count} seeds" if count > 1 else "one seed"


def score(configs: Iterable[Config]) -> Score:
    """Trains every config, one for each seed, and returns their accuracies.

    Raises:
        ConfigurationError: if a config cannot be carried out.
    """
    return Score(tuple(accuracy(config) for config in configs))
