"""How many bytes a round moves: a masked vector is its planned bits, and next to nothing besides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet.config import Config
from discreet.engines.flower.service import serve_training
from discreet.silo.requests import Deliver, Replied, encode
from tests.engines.conftest import DirectWire

MOST_OVERHEAD = 1.02
FIXED_BYTES = 600


def wide_config(small_config: Callable[..., Any], **aggregation: Any) -> Config:
    """An MLP on digits: enough weights for headers not to matter."""
    return small_config(
        data={"source": "digits", "record_capacity": 700, "partition": {"kind": "iid", "silos": 3}},
        model={"name": "mlp"},
        training={"rounds": 2, "local": {"kind": "single-step"}},
        privacy={"epsilon": 3.0, "delta": 1e-5, "clip_norm": 1.0},
        aggregation={"max_colluding": 0, **aggregation},
    )


@pytest.mark.parametrize("mode", ["malicious", "one-phase"])
def test_a_masked_vector_takes_its_planned_bits(
    make_consortium: Callable[..., Any],
    direct_wire: type[DirectWire],
    small_config: Callable[..., Any],
    mode: str,
) -> None:
    """As it leaves the silo's process, header of the request format, digest and consent included."""
    consortium = make_consortium(wide_config(small_config, mode=mode))
    wire = direct_wire(consortium.silos)
    serve_training(wire, consortium.folder.server, patience_seconds=0.1)
    plan = consortium.plan
    planned = plan.facts.dimension * plan.grid.bits / 8
    assert planned > 10_000
    masked = [
        len(encode(reply))
        for (_, request), reply in zip(wire.seen, wire.answered, strict=True)
        if reply is not None and isinstance(request, Deliver) and request.parameters
    ]
    assert len(masked) == 3 * plan.rounds
    assert all(planned <= size < MOST_OVERHEAD * planned for size in masked)


def test_all_that_a_silo_sends_in_a_healthy_round_is_little_more(
    make_consortium: Callable[..., Any], direct_wire: type[DirectWire], small_config: Callable[..., Any]
) -> None:
    """Headers, consent and shares of three silos are a few hundred bytes, whatever the number of weights."""
    consortium = make_consortium(wide_config(small_config))
    wire = direct_wire(consortium.silos)
    serve_training(wire, consortium.folder.server, patience_seconds=0.1)
    node, plan = consortium.node("silo-1"), consortium.plan
    replies = [
        (request, reply)
        for (at, request), reply in zip(wire.seen, wire.answered, strict=True)
        if at == node and isinstance(reply, Replied) and isinstance(request, Deliver)
    ]
    second = [number for number, (request, _) in enumerate(replies) if request.parameters][1]
    sent = sum(len(encode(reply)) for _, reply in replies[second:])
    assert plan.bytes_per_vector <= sent < plan.bytes_per_vector + FIXED_BYTES
