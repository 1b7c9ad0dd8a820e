"""``expected.json``: what every cell should give, how closely, and where the number stands in the paper."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any

from discreet.errors import ConfigurationError

_NUMBERS = ("published", "reproduced", "ours", "ours_at_least", "ours_at_most")


class Scale(Enum):
    """How much to compute: ``SMALL`` in minutes, in every change; ``FULL`` as in the paper, by hand."""

    SMALL = "small"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Expected:
    """What one cell should give.

    Attributes:
        where: place in the paper, or why the cell is here.
        published: the paper's number; None where it has none for this cell.
        not_compared: why the cell is not held to what the paper prints: other data, model or settings. Empty
            if it is, or if the paper prints nothing for it.
        reproduced: what the paper's method gave in an earlier run here, or in another evaluation; None if
            that is not checked. Never beside a published number that is compared.
        tolerance: largest distance of the paper's method from ``published``, or else ``reproduced``.
        ours: what our method gave in an earlier run here; None if that is not checked.
        ours_tolerance: largest distance from ``ours`` that passes.
        ours_at_least: smallest value of ours that passes.
        ours_at_most: largest value of ours that passes.
    """

    where: str
    published: float | None = None
    not_compared: str = ""
    reproduced: float | None = None
    tolerance: float = 0.0
    ours: float | None = None
    ours_tolerance: float = 0.0
    ours_at_least: float | None = None
    ours_at_most: float | None = None

    def __post_init__(self) -> None:
        if self.compared and self.reproduced is not None:
            raise ValueError(
                "the paper's method must be held to 'published' or to 'reproduced', not to both; say in "
                "'not_compared' why the published number is only shown"
            )

    @property
    def compared(self) -> bool:
        """Says whether the paper's method is held to the paper's own number."""
        return self.published is not None and not self.not_compared

    @property
    def guarded(self) -> bool:
        """Says whether any number of our own is expected."""
        targets = (self.reproduced, self.ours, self.ours_at_least, self.ours_at_most)
        return any(target is not None for target in targets)


@dataclass(frozen=True, slots=True)
class Expectations:
    """The whole file.

    Attributes:
        title: what is reproduced.
        paper: whose table or figure it is.
        quantity: what the numbers are, with their unit.
        cells: by scale and name, in the order of the table.
    """

    title: str
    paper: str
    quantity: str
    cells: dict[Scale, dict[str, Expected]]


def read_expectations(path: Path) -> Expectations:
    """Reads ``expected.json``; cells under "any" count at every scale.

    A cell that gives ``published`` is expected to reproduce it, unless it says in ``not_compared`` why not.

    Raises:
        ConfigurationError: if the file is missing, unreadable, holds unknown keys or contradicts itself.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        common = document["cells"].get("any", {})
        cells = {
            scale: {
                name: _expected(name, entry)
                for name, entry in (common | document["cells"].get(scale.value, {})).items()
            }
            for scale in Scale
        }
        return Expectations(document["title"], document["paper"], document["quantity"], cells)
    except OSError as error:
        raise ConfigurationError(f"{path} must be readable; got: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"{path} must be an expected.json with title, paper, quantity and cells; got: {error}."
        ) from None


def _expected(name: str, entry: dict[str, Any]) -> Expected:
    known = {field.name for field in fields(Expected)}
    unknown = sorted(set(entry) - known)
    if unknown:
        raise ValueError(f"cell {name!r} has the unknown key {unknown[0]!r}; known are {sorted(known)}")
    for key in _NUMBERS:
        value = entry.get(key)
        if not (value is None or (isinstance(value, int | float) and math.isfinite(value))):
            raise ValueError(f"cell {name!r}: {key!r} must be a number; it is {value!r}")
    try:
        return Expected(**entry)
    except ValueError as error:
        raise ValueError(f"cell {name!r}: {error}") from None
