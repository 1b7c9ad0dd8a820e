"""Rounds of a consortium in this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from discreet.engines.flower.engine import FlowerEngine
from discreet.engines.flower.wire import NodeId
from discreet.models import build_model, flatten
from discreet.randomness import SeededRandom
from discreet.rounds import RoundOrder
from discreet.silo.requests import Request
from tests.engines.conftest import DirectWire, SmallConsortium

Tamper = Callable[[NodeId, Request], Request | None]


def _untouched(_: NodeId, request: Request) -> Request:
    return request


@pytest.fixture
def run_rounds(direct_wire: type[DirectWire]) -> Callable[..., object]:
    """Opens a session, sums the given rounds, and returns the wire with what was asked and answered."""

    def run(
        consortium: SmallConsortium, *releases: int, seed: int = 1, tamper: Tamper = _untouched
    ) -> DirectWire:
        wire, facts = direct_wire(consortium.silos, tamper), consortium.plan.facts
        made = FlowerEngine(
            consortium.folder.server.proposal(), wire, SeededRandom(seed), patience_seconds=0.05,
            announce=lambda _: None,
        )  # fmt: skip
        made.open()
        model = flatten(build_model("logistic", facts.feature_shape, facts.num_classes, seed=0))
        for release in releases:
            made.sum_round(RoundOrder(release, 100 * seed + release, model))
        return wire

    return run
