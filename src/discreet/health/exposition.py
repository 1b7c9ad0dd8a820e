"""Prometheus' text format, version 0.0.4: metrics in, text out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Kind(StrEnum):
    """How a number moves over time: a counter only grows, until the process starts again."""

    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True, slots=True)
class Metric:
    """One family of numbers; without labels, a single number.

    Attributes:
        name: as Prometheus' conventions have it, with its base unit.
        kind: counter or gauge.
        meaning: one sentence.
        samples: values by their labels.
    """

    name: str
    kind: Kind
    meaning: str
    samples: tuple[tuple[Mapping[str, str], float], ...]


def gauge(name: str, meaning: str, value: float | None) -> Metric:
    """Returns a gauge with one number, or with none if it is not known."""
    return Metric(name, Kind.GAUGE, meaning, () if value is None else (({}, value),))


def counter(name: str, meaning: str, value: float) -> Metric:
    """Returns a counter with one number."""
    return Metric(name, Kind.COUNTER, meaning, (({}, value),))


def exposition(metrics: Iterable[Metric]) -> str:
    r"""Returns the text that Prometheus reads.

    Example:
        >>> print(exposition([gauge("up", "Is it there?", 1.0)]), end="")
        # HELP up Is it there?
        # TYPE up gauge
        up 1.0
    """
    return "".join(f"{line}\n" for metric in metrics for line in _lines(metric))


def _lines(metric: Metric) -> Iterable[str]:
    meaning = metric.meaning.replace("\\", r"\\").replace("\n", r"\n")
    yield f"# HELP {metric.name} {meaning}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for labels, value in metric.samples:
        inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
        yield f"{metric.name}{f'{{{inside}}}' if inside else ''} {_number(value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return repr(float(value)) if math.isfinite(value) else ("+Inf" if value > 0 else "-Inf")
