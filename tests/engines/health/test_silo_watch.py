"""What an owner's monitor and log learn of a training: counts and charges, nothing that records decide."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.engines.flower.service import ServerFolder, serve_training
from discreet.errors import PrivacyRefusal
from discreet.health import read_silo_status
from discreet.health.exposition import exposition
from discreet.privacy.notation import pair_text
from discreet.silo.policy import load_policy
from discreet.silo.requests import Deliver, Hello, Propose, Request
from discreet.silo.silo import Silo
from tests.engines.conftest import DirectWire, SmallConsortium
from tests.engines.health.conftest import Watched
from tests.unit.health.exposition_text import parse

NAME = "hungary"


def numbers(watched: Watched) -> dict[tuple[Any, ...], float]:
    return parse(exposition(watched.watch.metrics())).values()


def single(watched: Watched, name: str) -> float:
    return numbers(watched)[f"discreet_silo_{name}", ()]


def test_a_training_is_counted_and_its_charge_is_that_of_the_ledger(
    consortium: SmallConsortium, direct_wire: type[DirectWire], watched: Callable[[str], Watched]
) -> None:
    silo = watched(NAME)
    assert single(silo, "epsilon_charged") == 0.0
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=0.05)
    status = read_silo_status(silo.policy)
    found = numbers(silo)
    assert found["discreet_silo_requests_total", (("request", "propose"), ("verdict", "granted"))] == 1
    assert found["discreet_silo_requests_total", (("request", "farewell"), ("verdict", "granted"))] == 1
    assert single(silo, "rounds_answered_total") == single(silo, "rounds_unmasked_total") == 3
    assert status.trainings[0].releases == 3
    assert single(silo, "epsilon_charged") == status.epsilon > 0
    assert single(silo, "delta_charged") == status.delta > 0
    budget = load_policy(silo.policy).budget
    assert (single(silo, "epsilon_budget"), single(silo, "delta_budget")) == (
        budget.max_epsilon,
        budget.max_delta,
    )
    assert single(silo, "training_in_progress") == 0
    assert silo.watch.health() == {
        "silo": NAME, "serving": True, "since": "2023-11-14T22:13:20.000Z", "training": False,
    }  # fmt: skip


def test_the_charge_is_that_of_all_trainings(
    consortium: SmallConsortium,
    direct_wire: type[DirectWire],
    watched: Callable[[str], Watched],
    tmp_path: Path,
) -> None:
    first = consortium.folder.server
    serve_training(direct_wire(consortium.silos), first, patience_seconds=0.05)
    silo, again = watched(NAME), ServerFolder(tmp_path / "again")
    again.path.mkdir()
    renamed = consortium.plan.config.model_copy(update={"name": "again"})
    dataclasses.replace(consortium.plan, config=renamed).save(again.path / "plan.json")
    (again.path / "allow-list.json").write_bytes((first.path / "allow-list.json").read_bytes())
    serve_training(direct_wire(consortium.silos), again, patience_seconds=0.05)
    status = read_silo_status(silo.policy)
    one, other = status.trainings
    assert single(silo, "epsilon_charged") == pytest.approx(one.epsilon + other.epsilon)
    assert single(silo, "delta_charged") == pytest.approx(one.delta + other.delta)
    assert status.epsilon == pytest.approx(2 * one.epsilon)


def test_a_restarted_silo_states_what_was_charged_before(
    consortium: SmallConsortium, direct_wire: type[DirectWire], watched: Callable[[str], Watched]
) -> None:
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=0.05)
    silo = watched(NAME)
    assert single(silo, "epsilon_charged") == read_silo_status(silo.policy).epsilon > 0
    assert single(silo, "rounds_answered_total") == 0


def test_no_time_but_that_of_arrivals_is_told(
    consortium: SmallConsortium, direct_wire: type[DirectWire], watched: Callable[[str], Watched]
) -> None:
    """When an answer left says how long training took, which records decide."""
    silo = watched(NAME)
    arrivals = []

    def tamper(node: int, request: Request) -> Request | None:
        if node == consortium.node(NAME):
            arrivals.append(silo.now + 1.0)
        return request

    serve_training(direct_wire(consortium.silos, tamper), consortium.folder.server, patience_seconds=0.05)
    times = {name: value for (name, _), value in numbers(silo).items() if name.endswith("_seconds")}
    assert times.keys() == {
        "discreet_silo_start_time_seconds",
        "discreet_silo_policy_expires_timestamp_seconds",
        "discreet_silo_last_request_timestamp_seconds",
        "discreet_silo_last_round_timestamp_seconds",
    }
    assert times["discreet_silo_last_request_timestamp_seconds"] == arrivals[-1]
    assert times["discreet_silo_last_round_timestamp_seconds"] in arrivals


def test_a_refusal_is_counted_by_its_code(
    consortium: SmallConsortium, watched: Callable[[str], Watched]
) -> None:
    consortium.edit_policy(NAME, 'unit = "record"', 'unit = "client"')
    silo = watched(NAME)
    node = consortium.node(NAME)
    consortium.silos[node].handle(Hello())
    document = consortium.folder.server.proposal()
    consortium.silos[node].handle(Propose(1, bytes(32), document.document, document.allow_list.serialise()))
    consortium.silos[node].handle(Deliver((b"junk",)))
    found = {
        labels: value for (name, labels), value in numbers(silo).items() if name.endswith("requests_total")
    }
    assert found == {
        (("request", "hello"), ("verdict", "granted")): 1,
        (("request", "propose"), ("verdict", "not-allowed")): 1,
        (("request", "deliver"), ("verdict", "protocol")): 1,
    }


def test_a_failure_inside_is_counted_too(
    consortium: SmallConsortium, watched: Callable[[str], Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    silo = watched(NAME)
    node = consortium.node(NAME)

    def fail(*_: Hello | Silo) -> None:
        raise RuntimeError("patient 17 has a cold")

    monkeypatch.setattr(type(consortium.silos[node]), "_answer", fail)
    with pytest.raises(RuntimeError):
        consortium.silos[node].handle(Hello())
    labels = (("request", "hello"), ("verdict", "internal"))
    assert numbers(silo)["discreet_silo_requests_total", labels] == 1


def test_the_owners_log_says_each_round_and_the_charge(
    consortium: SmallConsortium, direct_wire: type[DirectWire], watched: Callable[[str], Watched]
) -> None:
    silo = watched(NAME)
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=0.05)
    lines = [json.loads(line) for line in silo.written.getvalue().splitlines()]
    digest = consortium.plan.digest()
    answered = [line for line in lines if "answered" in line["event"]]
    unmasked = [line for line in lines if "unmasked" in line["event"]]
    assert [(line["round"], line["planned"]) for line in answered] == [(1, 3), (2, 3), (3, 3)]
    assert [line["survivors"] for line in unmasked] == [4, 4, 4]
    assert {line["plan"] for line in lines} == {digest}
    assert len({line["epsilon"] for line in answered}) == 1, "the whole training is charged from the first on"
    last = answered[-1]
    status = read_silo_status(silo.policy)
    assert (last["epsilon"], last["delta"]) == (status.epsilon, status.delta)
    assert pair_text(last["epsilon"], last["delta"]) in last["event"]
    assert all(line["time"].endswith("Z") and line["level"] == "info" for line in lines)


def test_quoted_words_cannot_forge_a_line(watched: Callable[[str], Watched]) -> None:
    silo = watched(NAME)
    silo.log.warn('x\n{"time":"2026-01-01T00:00:00.000Z","level":"info","event":"completed"}')
    silo.log.note("ready")
    lines = [json.loads(line) for line in silo.written.getvalue().splitlines()]
    assert [line["level"] for line in lines] == ["warning", "info"]


def test_a_log_that_cannot_be_written_does_not_stop_the_silo(
    consortium: SmallConsortium, direct_wire: type[DirectWire], watched: Callable[[str], Watched]
) -> None:
    silo = watched(NAME)
    silo.written.close()
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=0.05)
    assert single(silo, "rounds_answered_total") == 3


def test_all_silos_refusing_leaves_every_charge_at_nothing(
    consortium: SmallConsortium, direct_wire: type[DirectWire], watched: Callable[[str], Watched]
) -> None:
    for name in consortium.plan.facts.silos:
        consortium.edit_policy(name, 'unit = "record"', 'unit = "client"')
    silo = watched(NAME)
    with pytest.raises(PrivacyRefusal):
        serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=0.05)
    assert single(silo, "epsilon_charged") == 0.0
