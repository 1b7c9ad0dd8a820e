"""What ends a silo's part in mid-training, whoever invites: its budget, and its policy's last day."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime, time, timedelta
from itertools import count
from typing import Any

import numpy as np
import pytest

from discreet.engines.flower.engine import FlowerEngine
from discreet.errors import NotEnoughSurvivors
from discreet.models import build_model, flatten
from discreet.plan import Plan
from discreet.plan.order import EVALUATION
from discreet.privacy.ledger import Entry, Intent, Opened, Resumed, read_ledger, spending
from discreet.privacy.wire import digest
from discreet.randomness import SeededRandom
from discreet.rounds import RoundOrder
from discreet.secagg import RoundTerms
from discreet.secagg.codec import decode, encode
from discreet.secagg.messages import ConfirmSet, RoundStart
from discreet.silo.policy import Charge, load_policy
from discreet.silo.requests import Deliver, Propose, Refused, Request
from discreet.silo.silo import Surroundings, open_silo
from discreet.silo.spending import odometer
from tests.engines.conftest import DirectWire, SmallConsortium

NAME = "cleveland"


def engine(consortium: SmallConsortium, wire: DirectWire, seed: int = 1) -> FlowerEngine:
    made = FlowerEngine(
        consortium.folder.server.proposal(), wire, SeededRandom(seed), patience_seconds=0.05,
        announce=lambda _: None,
    )  # fmt: skip
    made.open()
    return made


def order(plan: Plan, release: int, sequence: int) -> RoundOrder:
    model = build_model("logistic", plan.facts.feature_shape, plan.facts.num_classes, seed=0)
    return RoundOrder(release, sequence, flatten(model))


def entries(consortium: SmallConsortium) -> tuple[Entry, ...]:
    lines = read_ledger(consortium.folder.silo(NAME) / "state" / "ledger.jsonl")
    return tuple(line.entry for line in lines)


def contributions(consortium: SmallConsortium) -> int:
    return sum(isinstance(entry, Intent) for entry in entries(consortium))


def refusals(consortium: SmallConsortium, wire: DirectWire) -> list[str]:
    return [reply.code for reply in wire.answered if isinstance(reply, Refused) and reply.silo == NAME]


@pytest.mark.parametrize("retries", [0, 1])
def test_attempts_that_came_to_nothing_use_the_budget_up(
    consortium: SmallConsortium, direct_wire: type[DirectWire], retries: int
) -> None:
    """Round 1 again and again, never unmasked: the rounds of the plan and the retries are the most."""
    plan = consortium.plan
    text, most = consortium.folder.policy(NAME).read_text(), plan.rounds + retries
    for key in ("max_epsilon", "max_epsilon_per_training"):
        old = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
        consortium.edit_policy(NAME, old, f"{key} = {plan.spent(most).epsilon * (1 + 1e-9)!r}")
    consortium.edit_policy(NAME, "[budget]", f"[budget]\nretries = {retries}")

    def never_unmasked(_: int, request: Request) -> Request | None:
        return None if isinstance(request, Deliver) and not request.parameters else request

    wire = direct_wire(consortium.silos)
    for attempt in range(1, most + 3):
        wire.tamper = lambda _, request: request
        made = engine(consortium, wire, attempt)
        wire.tamper = never_unmasked
        with pytest.raises(NotEnoughSurvivors):
            made.sum_round(order(plan, 1, attempt))
    assert contributions(consortium) == most
    assert refusals(consortium, wire) == ["budget", "budget"]
    # What was charged for stands: later room would be room because of what was seen.
    found = odometer(
        load_policy(consortium.folder.policy(NAME)), entries(consortium), datetime.now(UTC).date()
    )
    assert found.lifetime.epsilon == pytest.approx(plan.spent(most).epsilon)
    assert not found.unfixed
    consortium.edit_policy(NAME, f"retries = {retries}", f"retries = {retries + 1}")
    changed = odometer(
        load_policy(consortium.folder.policy(NAME)), entries(consortium), datetime.now(UTC).date()
    )
    assert changed.unfixed.startswith("'budget.retries' must be written down before the first contribution")


def test_each_side_may_be_tried_again_once_and_no_more(
    make_consortium: Any, small_config: Any, direct_wire: type[DirectWire]
) -> None:
    """A training with evaluations, of which a year's limit and that of all years are just what it costs."""
    consortium = make_consortium(small_config(evaluate={"every": 2, "epsilon": 1.5, "bins": 8}))
    plan, path = consortium.plan, consortium.folder.policy(NAME)
    charge = Charge(plan, load_policy(path).require.max_colluding, NAME, retries=1)
    most, delta = charge.whole.epsilon * (1 + 1e-9), load_policy(path).budget.max_delta
    for key in ("max_epsilon", "max_epsilon_per_training"):
        old = next(line for line in path.read_text().splitlines() if line.startswith(f"{key} = "))
        consortium.edit_policy(NAME, old, f"{key} = {most!r}")
    year = f"max_epsilon_per_year = {most!r}\nmax_delta_per_year = {delta!r}"
    consortium.edit_policy(NAME, "[budget]", f"[budget]\nretries = 1\n{year}")
    wire = direct_wire(consortium.silos)
    made, attempts = engine(consortium, wire), count(1)

    def tries(release: int, *, unmasked: bool) -> None:
        wire.tamper = lambda _, request: (
            request if unmasked or not isinstance(request, Deliver) or request.parameters else None
        )
        with nullcontext() if unmasked else pytest.raises(NotEnoughSurvivors):
            made.sum_round(order(plan, release, next(attempts)))
        wire.tamper = lambda _, request: request

    for release in range(1, plan.releases + 1):
        if release in (2, 3):  # a round, and the evaluation behind it
            tries(release, unmasked=False)
        tries(release, unmasked=True)
    counts = Counter(entry.part for entry in entries(consortium) if isinstance(entry, Intent))
    assert counts == {None: plan.rounds + 1, EVALUATION: 3}
    assert not refusals(consortium, wire)
    found = odometer(load_policy(path), entries(consortium), datetime.now(UTC).date())
    assert found.year is not None
    assert found.lifetime.epsilon == found.year.epsilon == charge.whole.epsilon
    for number, release in enumerate((4, 5)):
        made = engine(consortium, wire, seed=2 + number)
        assert len(refusals(consortium, wire)) == number, "who starts again may propose what is charged"
        tries(release, unmasked=False)
        assert refusals(consortium, wire) == ["budget"] * (number + 1)
    assert contributions(consortium) == counts.total()


def test_a_policy_that_expires_in_mid_training_ends_it(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    node, clock = consortium.node(NAME), [datetime(2026, 1, 1, tzinfo=UTC)]
    consortium.silos[node].close()
    surroundings = Surroundings(now=lambda: clock[0])
    silo = consortium.silos[node] = open_silo(consortium.folder.policy(NAME), surroundings)
    wire = direct_wire(consortium.silos)
    clock[0] = datetime.combine(silo._policy.expires, time.max, tzinfo=UTC)
    made = engine(consortium, wire)
    assert len(made.sum_round(order(consortium.plan, 1, 1)).survivors) == 4
    clock[0] += timedelta(days=1)
    assert len(made.sum_round(order(consortium.plan, 2, 2)).survivors) == 3
    assert contributions(consortium) == 1
    assert refusals(consortium, wire) == ["expired"]


def test_an_attempt_stays_charged_whatever_a_server_that_may_lie_says_of_it(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """The same session tries round 1 again; in malicious mode no silo believes that the first failed."""
    plan = consortium.plan
    assert plan.config.aggregation.mode == "malicious"
    wire = direct_wire(consortium.silos)
    made = engine(consortium, wire)
    wire.tamper = lambda _, request: (
        None if isinstance(request, Deliver) and not request.parameters else request
    )
    with pytest.raises(NotEnoughSurvivors):
        made.sum_round(order(plan, 1, 1))
    wire.tamper = lambda _, request: request
    made.sum_round(order(plan, 1, 2))
    assert endings(consortium) == ["Intent", "Lost", "Intent", "Completed"]


@pytest.fixture
def trusting(make_consortium: Any, small_config: Any) -> Any:
    """A consortium that takes its server at its word."""
    return make_consortium(
        small_config(aggregation={"mode": "semi-honest", "min_survivors": 3, "max_colluding": 1})
    )


def endings(consortium: SmallConsortium) -> Any:
    """What became of every contribution of one silo, in order."""
    entries = [line.entry for line in read_ledger(consortium.folder.silo(NAME) / "state" / "ledger.jsonl")]
    return [type(entry).__name__ for entry in entries if not isinstance(entry, Opened | Resumed)]


@pytest.mark.parametrize(("second", "ending"), [(1, "Aborted"), (2, "Lost")])
def test_only_the_same_round_again_says_that_an_attempt_came_to_nothing(
    trusting: Any, direct_wire: Any, second: Any, ending: Any
) -> None:
    """A server that goes on to another round may have unmasked the one before."""
    node, wire = trusting.node(NAME), direct_wire(trusting.silos)
    invited: list[Any] = []
    replies: list[Any] = []

    def invite_again(to: Any, request: Any) -> Any:
        """Answers the masked input with the next invitation, so that it is never unmasked."""
        if to != node or not isinstance(request, Deliver):
            return request
        agreement, epoch = request.messages[-1][5:37], int.from_bytes(request.messages[-1][37:41], "little")
        message = decode(request.messages[-1], agreement, epoch)
        if isinstance(message, RoundStart):
            invited.append((message, request.parameters))
        elif invited and not replies:
            first, parameters = invited[0]
            terms = dataclasses.replace(first.terms, round_index=second, attempt=first.terms.attempt + 1)
            again = encode(dataclasses.replace(first, terms=terms, slot=first.slot + 1), agreement, epoch)
            replies.append(trusting.silos[node].handle(Deliver((again,), parameters)))
            return None
        return request

    wire.tamper = invite_again
    engine(trusting, wire).sum_round(order(trusting.plan, 1, 1))
    assert [type(reply).__name__ for reply in replies] == ["Replied"]
    assert endings(trusting) == ["Intent", ending, "Intent"]


def test_the_same_round_in_another_session_says_nothing_of_the_attempt_before(
    trusting: Any, direct_wire: type[DirectWire]
) -> None:
    """A server that was started again cannot know what it unmasked before."""
    wire = direct_wire(trusting.silos)
    first = engine(trusting, wire)
    wire.tamper = lambda _, request: (
        None if isinstance(request, Deliver) and not request.parameters else request
    )
    with pytest.raises(NotEnoughSurvivors):
        first.sum_round(order(trusting.plan, 1, 1))
    wire.tamper = lambda _, request: request
    engine(trusting, wire, seed=2).sum_round(order(trusting.plan, 1, 2))
    assert endings(trusting) == ["Intent", "Lost", "Intent", "Completed"]


def test_an_invitation_that_is_refused_leaves_the_round_before_as_it_was(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """Between a masked input and its unmasking; the ledger must still be one that can be read."""
    plan = consortium.plan
    text = consortium.folder.policy(NAME).read_text()
    for key in ("max_epsilon", "max_epsilon_per_training"):
        old = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
        consortium.edit_policy(NAME, old, f"{key} = {plan.spent(plan.rounds).epsilon * (1 + 1e-9)!r}")
    wire, replies = direct_wire(consortium.silos), []
    invited: dict[str, Any] = {}

    def once_more(node: int, request: Request) -> Request | None:
        if node != consortium.node(NAME) or not isinstance(request, Deliver):
            return request
        agreement, epoch = request.messages[-1][5:37], int.from_bytes(request.messages[-1][37:41], "little")
        message = decode(request.messages[-1], agreement, epoch)
        if isinstance(message, RoundStart):
            invited["start"], invited["parameters"] = message, request.parameters
        elif isinstance(message, ConfirmSet) and invited["start"].terms.round_index == plan.rounds:
            first = invited["start"]
            terms = dataclasses.replace(first.terms, attempt=first.terms.attempt + 1)
            again = encode(dataclasses.replace(first, terms=terms, slot=first.slot + 1), agreement, epoch)
            replies.append(consortium.silos[node].handle(Deliver((again,), invited["parameters"])))
        return request

    wire.tamper = once_more
    made = engine(consortium, wire)
    for release in range(1, plan.rounds + 1):
        made.sum_round(order(plan, release, release))
    assert [reply.code for reply in replies] == ["budget"]
    entries = [line.entry for line in read_ledger(consortium.folder.silo(NAME) / "state" / "ledger.jsonl")]
    assert spending(entries).charged == len(spending(entries).completed) == plan.rounds


def test_an_invitation_before_its_turn_is_not_read(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """It may hold 64 MiB; what no state waits for costs a silo its header."""
    joined: list[Any] = []

    def keep(node: int, request: Request) -> Request | None:
        if node != consortium.node(NAME) or not isinstance(request, Propose):
            return request
        joined.append(consortium.silos[node].handle(request))
        return None

    engine(consortium, direct_wire(consortium.silos, keep))
    agreed, epoch = joined[0].advertisement[5:37], int.from_bytes(joined[0].advertisement[37:41], "little")
    cut = encode(RoundStart(RoundTerms(1, 1, bytes(32)), 0, (0, 1, 2)), agreed, epoch)[:-1]
    reply = consortium.silos[consortium.node(NAME)].handle(Deliver((cut,)))
    assert isinstance(reply, Refused)
    assert reply.reason.startswith("out-of-order: ")


@pytest.mark.parametrize("change", [lambda weights: weights[:-1], lambda weights: np.append(weights, 0.0)])
def test_a_model_of_another_length_is_refused(
    consortium: SmallConsortium, direct_wire: type[DirectWire], change: Callable[..., Any]
) -> None:
    wire = direct_wire(consortium.silos)
    made = engine(consortium, wire)
    whole = order(consortium.plan, 1, 1)
    with pytest.raises(NotEnoughSurvivors):
        made.sum_round(RoundOrder(1, 1, change(whole.parameters)))
    assert refusals(consortium, wire) == ["protocol"]
    assert contributions(consortium) == 0


def test_what_a_plan_says_forges_no_line_of_the_owners_log(consortium: SmallConsortium) -> None:
    node = consortium.node(NAME)
    lines: list[str] = []
    consortium.silos[node].close()
    silo = consortium.silos[node] = open_silo(consortium.folder.policy(NAME), Surroundings(log=lines.append))
    server = consortium.folder.server.path
    plan = json.loads((server / "plan.json").read_text())
    plan["plan"]["config"]["model"]["name"] = "x\n12:00:00 joined plan\x1b[2J"
    plan["digest"] = digest(plan["plan"])
    document, allow_list = json.dumps(plan).encode(), (server / "allow-list.json").read_bytes()
    reply = silo.handle(Propose(1, bytes(32), document, allow_list))
    assert isinstance(reply, Refused)
    assert "joined plan" in " ".join([reply.reason, *lines])
    assert all(line.isprintable() for line in [reply.reason, *lines])
