"""A worker's answers are the engine's own contributions, to the bit; its errors are the engine's errors."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from discreet.data import Records
from discreet.engines.local import LocalEngine, Prepared
from discreet.engines.local.frames import (
    Frame,
    WorkerFailed,
    failure_frame,
    read_frame,
    require_success,
    write_frame,
)
from discreet.engines.local.work import Assignment, order_frame, read_contributions, source_for
from discreet.engines.local.worker import serve
from discreet.errors import ConfigurationError, DataError, NotEnoughSurvivors, PrivacyViolation
from discreet.models import flatten
from discreet.rounds import RoundOrder
from tests.engines.local.small_digits import KINDS, announced, prepared


def answers(*requests: Frame) -> list[Frame]:
    """Runs a worker on a whole conversation."""
    asked, answered = io.BytesIO(), io.BytesIO()
    for request in requests:
        write_frame(asked, request)
    asked.seek(0)
    serve(asked, answered)
    answered.seek(0)
    return list(iter(lambda: read_frame(answered), None))


def assignment(made: Prepared, **records: Records) -> Assignment:
    own = records or {silo.name: silo.train for silo in made.federation.silos}
    return Assignment(made.plan, own, seed=5, device="cpu")


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_contributes_what_the_engine_would(kind: str) -> None:
    made = prepared(kind)
    order = RoundOrder(release=1, sequence=4, parameters=announced(made, 0.25))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    ready, answer = answers(assignment(made).to_frame(), order_frame(order))
    torch.set_num_threads(2)
    engine = LocalEngine(made.plan, made.federation, made.model, source_for(5), session_label=0)
    total = engine.sum_round(order).total
    torch.set_num_threads(threads)
    found = read_contributions(require_success(answer))
    assert ready.texts == {}
    assert len(found) == 3
    modulus = np.uint64((1 << made.plan.grid.bits) - 1)
    np.testing.assert_array_equal(sum(each.values for each in found).view(np.uint64) & modulus, total)
    assert all(each.training_seconds > 0 and np.isfinite(each.loss) for each in found)


def test_an_assignment_survives_the_wire() -> None:
    sent = assignment(prepared("linear"))
    read = Assignment.from_frame(sent.to_frame())
    assert read.plan.digest() == sent.plan.digest()
    assert (read.seed, read.device, list(read.records)) == (5, "cpu", list(sent.records))
    for name, records in sent.records.items():
        np.testing.assert_array_equal(read.records[name].features, records.features)
        np.testing.assert_array_equal(read.records[name].labels, records.labels)
    assert Assignment.from_frame(replace(sent, seed=None).to_frame()).seed is None


def test_too_many_records_are_the_same_error_as_in_one_process() -> None:
    made = prepared("linear")
    silo = made.federation.silos[0]
    many = silo.train.take(np.zeros(1201, np.int64))
    order = RoundOrder(1, 1, flatten(made.model))
    _, answer = answers(assignment(made, **{silo.name: many}).to_frame(), order_frame(order))
    with pytest.raises(DataError, match="record_capacity"):
        require_success(answer)


def test_a_worker_goes_on_after_an_error_and_tells_of_any_kind() -> None:
    made = prepared("linear")
    start = assignment(made).to_frame()
    wrong = order_frame(RoundOrder(1, 1, np.zeros(3)))
    right = order_frame(RoundOrder(1, 1, flatten(made.model)))
    _, refused, answered = answers(start, wrong, right)
    with pytest.raises(WorkerFailed, match=r"ValueError: .*speed\.workers = 1"):
        require_success(refused)
    assert len(read_contributions(require_success(answered))) == 3


def test_a_factory_that_never_builds_the_same_model_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "changing.py").write_text(
        "import itertools\nfrom torch import nn\nwidth = itertools.count(3)\n"
        "def network(shape, classes):\n"
        "    hidden = next(width)\n"
        "    return nn.Sequential(nn.Linear(shape[0], hidden), nn.Linear(hidden, classes))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    made = prepared("clipped", model={"name": "changing:network"})
    (refused,) = answers(assignment(made).to_frame())
    with pytest.raises(ConfigurationError, match=r"a factory depend on its arguments alone"):
        require_success(refused)


def test_errors_keep_their_class_and_text() -> None:
    with pytest.raises(PrivacyViolation, match=r"^too long$"):
        require_success(failure_frame(PrivacyViolation("too long")))
    with pytest.raises(WorkerFailed, match="NotEnoughSurvivors"):
        require_success(failure_frame(NotEnoughSurvivors("code", "text")))


def test_a_frame_survives_the_wire_and_a_torn_one_is_none() -> None:
    stream = io.BytesIO()
    write_frame(stream, Frame({"a": "ü"}, {"x": np.arange(6).reshape(2, 3), "y": np.zeros(0)}))
    whole = stream.getvalue()
    read = read_frame(io.BytesIO(whole))
    assert read is not None
    assert read.texts == {"a": "ü"}
    np.testing.assert_array_equal(read.arrays["x"], np.arange(6).reshape(2, 3))
    assert read.arrays["y"].shape == (0,)
    for length in (0, 3, 8, 12, len(whole) - 1):
        assert read_frame(io.BytesIO(whole[:length])) is None


def test_messages_show_no_records() -> None:
    sent = assignment(prepared("linear"))
    assert "arrays" not in repr(sent.to_frame())
    assert "features" not in repr(sent)
