"""Steps of different numbers, aligned by fusing or by splitting: the table of ADR 33."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from discreet.accounting import epsilon
from discreet.privacy.events import (
    Event,
    GaussianNoise,
    NoSampling,
    PoissonSampling,
    Release,
    Repeated,
    RepeatedPoissonSampling,
)

RECORD = Path(__file__).parents[3] / "docs" / "adr" / "0033-steps-are-neither-fused-nor-split.md"
SILOS, ROUNDS, STDDEV = 5, 10, 4.0
ROWS = re.findall(r"^\| (\d), (\d) \| ([\d.]+) \| (.*) \|$", RECORD.read_text(encoding="utf-8"), re.MULTILINE)


def releases(stddev: float, moved: float, prob: float, count: int) -> Event:
    sampling = NoSampling() if prob == 1.0 else PoissonSampling(prob)
    return Repeated(Release(GaussianNoise(stddev), moved, 1, sampling), ROUNDS * count)


def fused(own: int, others: int, prob: float) -> Event:
    steps = math.gcd(own, others)
    together = own // steps
    stddev = STDDEV * math.sqrt(SILOS * (own + others) / steps)
    if prob == 1.0:
        return releases(stddev, together, prob, steps)
    sampling = RepeatedPoissonSampling(prob, together)
    return Repeated(Release(GaussianNoise(stddev), 1.0, 1, sampling), ROUNDS * steps)


def split(own: int, others: int, prob: float, *, fresh: bool) -> Event:
    """Parts with a batch each; or all parts of a step with one, which are one event of the step's noise."""
    steps = math.lcm(own, others)
    parts = steps // own
    stddev = STDDEV * math.sqrt(SILOS * (own + others) / steps)
    if fresh:
        return releases(stddev, 1.0 / parts, prob, steps)
    return releases(stddev * math.sqrt(parts), 1.0, prob, own)


@pytest.mark.parametrize(("own", "others", "prob", "stated"), ROWS)
def test_the_table_is_right(own: str, others: str, prob: str, stated: str) -> None:
    first, second, rate = int(own), int(others), float(prob)
    events = (
        fused(first, second, rate),
        split(first, second, rate, fresh=False),
        split(first, second, rate, fresh=True),
        releases(STDDEV, 1.0, rate, first),
    )
    for event, text in zip(events, stated.split(" | "), strict=True):
        assert epsilon(event, delta=1e-5).epsilon == pytest.approx(float(text), rel=0.01)


def test_there_is_a_table() -> None:
    assert len(ROWS) == 6
