"""A worker's answers are the engine's own contributions, to the bit; its errors are the engine's errors."""

from __future__ import annotations

import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from discreet.data import Records
from discreet.engines.local import LocalEngine, Prepared
from discreet.engines.local.processes import WorkerFailed
from discreet.engines.local.work import Assignment, source_for
from discreet.engines.local.worker import serve, told
from discreet.errors import ConfigurationError, DataError, HowTo, NotEnoughSurvivors, PrivacyViolation
from discreet.models import flatten
from discreet.rounds import RoundOrder
from tests.engines.local.small_digits import KINDS, announced, prepared


def answers(*requests: object) -> list[Any]:
    """Runs a worker, on this thread, on a whole conversation."""
    ours, theirs = Pipe()

    def conversation() -> list[Any]:
        with ours:
            found = []
            for request in requests:
                ours.send(request)
                found.append(ours.recv())
            return found

    with ThreadPoolExecutor(1) as engine, theirs:
        asked = engine.submit(conversation)
        serve(theirs)
        return asked.result()


def assignment(made: Prepared, **records: Records) -> Assignment:
    own = records or {silo.name: silo.train for silo in made.federation.silos}
    return Assignment(made.plan, own, seed=5, device="cpu")


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_contributes_what_the_engine_would(kind: str) -> None:
    made = prepared(kind)
    order = RoundOrder(release=1, sequence=4, parameters=announced(made, 0.25))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    ready, found = answers(assignment(made), order)
    torch.set_num_threads(2)
    engine = LocalEngine(made.plan, made.federation, made.model, source_for(5), session_label=0)
    total = engine.sum_round(order).total
    torch.set_num_threads(threads)
    assert ready is None
    assert list(found) == [silo.name for silo in made.federation.silos]
    modulus = np.uint64((1 << made.plan.grid.bits) - 1)
    np.testing.assert_array_equal(
        sum(each.values for each in found.values()).view(np.uint64) & modulus, total
    )
    assert all(each.training_seconds > 0 and np.isfinite(each.loss) for each in found.values())


def test_too_many_records_are_the_same_error_as_in_one_process() -> None:
    made = prepared("linear")
    silo = made.federation.silos[0]
    many = silo.train.take(np.zeros(1201, np.int64))
    order = RoundOrder(1, 1, flatten(made.model))
    _, answer = answers(assignment(made, **{silo.name: many}), order)
    with pytest.raises(DataError, match="record_capacity"):
        raise answer


def test_a_worker_goes_on_after_an_error_and_tells_of_any_kind() -> None:
    made = prepared("linear")
    start = assignment(made)
    wrong = RoundOrder(1, 1, np.zeros(3))
    right = RoundOrder(1, 1, flatten(made.model))
    _, refused, answered = answers(start, wrong, right)
    with pytest.raises(WorkerFailed, match=r"ValueError: .*\. Set speed\.workers = 1"):
        raise refused
    assert len(answered) == 3


def test_code_of_the_user_that_would_end_a_worker_is_an_error_like_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leaving.py").write_text(
        "import sys\nfrom torch import nn\ncalls = []\n"
        "def network(shape, classes):\n"
        "    calls.append(1)\n"
        "    return nn.Linear(shape[0], classes) if len(calls) < 2 else sys.exit(3)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    made = prepared("clipped", model={"name": "leaving:network"})
    (refused,) = answers(assignment(made))
    with pytest.raises(WorkerFailed, match=r"got SystemExit: 3, raised in \S*leaving\.py, line 6, in"):
        raise refused


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
    (refused,) = answers(assignment(made))
    with pytest.raises(ConfigurationError, match=r"a factory depend on its arguments alone"):
        raise refused


def test_an_error_of_ours_travels_as_it_is() -> None:
    sent = told(PrivacyViolation("too long", see=HowTo.CLIP_NORM))
    read = pickle.loads(pickle.dumps(sent))  # noqa: S301 - our own
    assert type(read) is PrivacyViolation
    assert (str(read), read.see) == ("too long", HowTo.CLIP_NORM)
    assert "NotEnoughSurvivors" in str(told(raised(NotEnoughSurvivors("code", "text"))))


def test_any_other_error_is_one_line_with_the_users_line_of_code() -> None:
    """Its class may be known to the worker alone; and the line is the user's, not torch's below it."""

    class OfTheUser(Exception):
        """No other process can import it."""

    sent = told(raised(OfTheUser("no luck")))
    read = pickle.loads(pickle.dumps(sent))  # noqa: S301 - our own
    assert re.search(r"OfTheUser: no luck, raised in \S*test_work\.py, line \d+, in raised", str(read))
    with pytest.raises(TypeError) as failed:
        nn.functional.linear(torch.zeros(3), "weights")  # type: ignore[arg-type]
    assert re.search(r"raised in \S*test_work\.py, line \d+, in test_any", str(told(failed.value)))


def raised(error: Exception) -> Exception:
    """The error with the place where it was raised."""
    try:
        raise error
    except Exception as found:
        return found


def test_an_assignment_shows_no_records() -> None:
    shown = repr(assignment(prepared("linear")))
    assert "array" not in shown
    assert "0." not in shown
