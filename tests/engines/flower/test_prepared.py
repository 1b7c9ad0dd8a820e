"""A private preparation over a wire: the local bits, charges, forged maps, kills, dropouts, a loss."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.accounting.odometer import AdaptiveFilter, Composition
from discreet.cli.owner_log import event_line
from discreet.config import Config
from discreet.engines.flower.service import serve_training
from discreet.engines.local import run
from discreet.errors import NotEnoughSurvivors
from discreet.plan import event_for, sum_terms, wire_terms
from discreet.plan.counted import contributions_of
from discreet.plan.guaranteed import against
from discreet.plan.order import EVALUATION, PREPARATION
from discreet.privacy.ledger import Lost, read_ledger, spending
from discreet.rounds import RoundOrder
from discreet.rounds.contribution import contribute
from discreet.secagg import Stage
from discreet.silo.check import dry_run
from discreet.silo.events import SiloEvent
from discreet.silo.policy import Charge, load_policy
from discreet.silo.requests import Deliver, Refused
from discreet.silo.silo import Surroundings, open_silo
from tests.engines.conftest import DirectWire, SmallConsortium
from tests.engines.flower.one_process import (
    asked_again_and_again,
    both,
    charged,
    engine_of,
    restarting,
    seal_and_verify,
    state,
    with_dropout,
)
from tests.engines.flower.test_equivalence import PATIENCE, dropping

Make = Callable[..., SmallConsortium]
DIMENSION, NUMBERS = 16, 5
STEPS = {"kind": "stable-steps", "learning_rate": 0.05, "steps": 4}


@pytest.fixture
def standardised(small_config: Callable[..., Config]) -> Config:
    """A release of the training records, and two rounds of records that it prepares."""
    data = small_config().data.model_dump(exclude_none=True) | {"standardise": {"kind": "private"}}
    training = {"rounds": 2, "local": STEPS}
    return small_config(data=data, training=training)


@pytest.fixture
def projected(small_config: Callable[..., Config], standardised: Config) -> Config:
    """The same, with records projected onto three directions."""
    tables = standardised.model_dump(exclude_none=True)
    del tables["data"]["standardise"]
    data = tables["data"] | {"project": {"kind": "private-pca", "components": 3}}
    return small_config(data=data, training=tables["training"])


def test_a_preparation_and_its_rounds_are_those_of_one_process(
    make_consortium: Make, standardised: Config, tmp_path: Path
) -> None:
    consortium = make_consortium(standardised)
    told: list[SiloEvent] = []
    consortium.silos[consortium.node("cleveland")].close()
    again = open_silo(consortium.folder.policy("cleveland"), Surroundings(tell=told.append))
    consortium.silos[consortium.node("cleveland")] = again
    both(consortium, standardised, tmp_path / "local", DirectWire(consortium.silos))
    assert charged(consortium, "cleveland") == {PREPARATION: 1, None: 2}
    log = [line.event for line in map(event_line, told) if line is not None]
    answered = [line.partition(" answered")[0] for line in log if " answered" in line]
    assert answered == ["preparation, before round 1 (asks the training records)", "round 1/2", "round 2/2"]
    found = consortium.folder.server.run
    assert "prepared_sums" in state(found.path)
    assert "preparation, before round 1: 4 silos" in consortium.folder.server.log.read_text()
    seal_and_verify(consortium)


@pytest.mark.parametrize(("release", "stage"), [(1, Stage.MASK), (1, Stage.UNMASK), (2, Stage.MASK)])
def test_a_dropout_leaves_the_bits_of_one_process(
    make_consortium: Make, standardised: Config, tmp_path: Path, release: int, stage: Stage
) -> None:
    """In the preparation, whose noise and map then are of three silos, or in a round."""
    config = with_dropout(standardised, release, stage)
    consortium = make_consortium(config)
    wire = DirectWire(consortium.silos, dropping(consortium, "hungary", release, stage))
    both(consortium, config, tmp_path / "local", wire)
    assert charged(consortium, "cleveland") == {PREPARATION: 1, None: 2}


def test_a_mean_and_rounds_without_it_are_those_of_one_process(
    make_consortium: Make, standardised: Config, small_config: Callable[..., Config], tmp_path: Path
) -> None:
    tables = standardised.model_dump(exclude_none=True)
    del tables["data"]["standardise"]
    data = tables["data"] | {"centre": {"kind": "private"}}
    config = small_config(data=data, training=tables["training"])
    consortium = make_consortium(config)
    both(consortium, config, tmp_path / "local", DirectWire(consortium.silos))
    assert charged(consortium, "cleveland") == {PREPARATION: 1, None: 2}


def test_a_projection_and_its_rounds_are_those_of_one_process(
    make_consortium: Make, projected: Config, tmp_path: Path
) -> None:
    consortium = make_consortium(projected)
    both(consortium, projected, tmp_path / "local", DirectWire(consortium.silos))
    assert charged(consortium, "cleveland") == {PREPARATION: 1, None: 2}
    seal_and_verify(consortium)


def test_noise_takes_the_place_of_records_that_cannot_be_projected(
    make_consortium: Make, projected: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the release and in the rounds, whose records are of another shape."""

    shapes = set[tuple[int, ...]]()

    def failing(*stated: Any, records: Any, **others: Any) -> Any:
        if len(records):
            raise MemoryError
        shapes.add(records.features.shape[1:])
        return contribute(*stated, records=records, **others)

    monkeypatch.setattr("discreet.silo.training.contribute", failing)
    consortium = make_consortium(projected)
    serve_training(DirectWire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
    assert charged(consortium, "cleveland") == {PREPARATION: 1, None: 2}
    assert shapes == {(DIMENSION,), (4,)}


def test_directions_that_are_not_orthonormal_are_refused(make_consortium: Make, projected: Config) -> None:
    consortium = make_consortium(projected)
    forged = np.full((3, DIMENSION), 0.5)
    with pytest.raises(NotEnoughSurvivors):
        engine_of(consortium).sum_round(RoundOrder(2, 1, np.zeros(4), prepared=forged))
    assert not charged(consortium, "cleveland")


def weighed(small_config: Callable[..., Config]) -> Config:
    """A count of classes, and two rounds whose losses weigh by it."""
    local = STEPS | {"class_weights": {"kind": "private"}}
    return small_config(training={"rounds": 2, "local": local})


def test_class_weights_by_noisy_counts_are_those_of_one_process(
    make_consortium: Make, small_config: Callable[..., Config], tmp_path: Path
) -> None:
    config = weighed(small_config)
    consortium = make_consortium(config)
    both(consortium, config, tmp_path / "local", DirectWire(consortium.silos))
    assert charged(consortium, "cleveland") == {PREPARATION: 1, None: 2}
    plain = small_config(training={"rounds": 2, "local": STEPS})
    unweighted = run(plain, tmp_path / "plain").directory.model.read_bytes()
    assert consortium.folder.server.run.model.read_bytes() != unweighted
    told = dry_run(load_policy(consortium.folder.policy("cleveland")), consortium.plan)
    assert any("weigh 2 classes inversely to their noisy counts" in line for line in told.released)


@pytest.mark.parametrize(
    "forged", [[0.01, 1.0], [1.0, 1.5], [math.nan, 1.0], [1.0]], ids=["light", "heavy", "nan", "length"]
)
def test_class_weights_that_no_count_leads_to_are_refused(
    make_consortium: Make, small_config: Callable[..., Config], forged: list[float]
) -> None:
    consortium = make_consortium(weighed(small_config))
    engine = engine_of(consortium)
    with pytest.raises(NotEnoughSurvivors):
        engine.sum_round(RoundOrder(2, 1, np.zeros(DIMENSION), prepared=np.array([forged])))
    replies = engine._wire.answered  # type: ignore[attr-defined]  # a `DirectWire`
    (reason,) = {reply.reason for reply in replies if isinstance(reply, Refused)}
    assert ("class weights must be in [0.05, 1]" if len(forged) == 2 else "144 with what") in reason
    assert not charged(consortium, "cleveland")


def test_evaluations_ask_prepared_records_beside_it(
    make_consortium: Make, standardised: Config, small_config: Callable[..., Config], tmp_path: Path
) -> None:
    tables = standardised.model_dump(exclude_none=True)
    evaluate = {"every": 2, "epsilon": 1.5, "bins": 8}
    config = small_config(data=tables["data"], training=tables["training"], evaluate=evaluate)
    consortium = make_consortium(config)
    both(consortium, config, tmp_path / "local", DirectWire(consortium.silos))
    assert charged(consortium, "cleveland") == {PREPARATION: 1, None: 2, EVALUATION: 1}
    assert consortium.plan.order.covering({PREPARATION: 1, None: 2, EVALUATION: 1}) == 4


def test_a_silo_that_was_restarted_before_a_round_trains_on_prepared_records(
    make_consortium: Make, standardised: Config, tmp_path: Path
) -> None:
    """What its server announces is all that it needs of release 0, by keys made anew."""
    consortium = make_consortium(standardised)
    expected = run(standardised, tmp_path / "local").directory.model.read_bytes()
    wire = DirectWire(consortium.silos, restarting(consortium, model=2))
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    assert charged(consortium, "hungary") == {PREPARATION: 1, None: 1}
    assert charged(consortium, "cleveland") == {PREPARATION: 1, None: 2}
    assert consortium.folder.server.run.model.read_bytes() != expected


class Killed(BaseException):
    """Ends the server's process."""


def test_a_preparation_that_was_lost_stays_charged_and_rounds_use_records_as_read(
    make_consortium: Make, standardised: Config
) -> None:
    """The server died when shares might have left; one that goes on knows the public ranges alone."""
    consortium = make_consortium(standardised)
    unmasking = dropping(consortium, "cleveland", 1, Stage.UNMASK)

    def kill(node: int, request: Any) -> Any:
        if unmasking(node, request) is None:
            raise Killed
        return request

    with pytest.raises(Killed):
        serve_training(
            DirectWire(consortium.silos, kill), consortium.folder.server, patience_seconds=PATIENCE
        )
    consortium.reopen("hungary")
    wire = DirectWire(consortium.silos)
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    found = consortium.folder.server.run
    entries = [line.entry for line in read_ledger(found.ledger)]
    (lost,) = [entry for entry in entries if isinstance(entry, Lost)]
    assert lost.release == 1
    assert spending(entries).charged == 3
    assert "prepared_sums" not in state(found.path)
    told = {len(one.parameters) for _, one in wire.seen if isinstance(one, Deliver) and one.parameters}
    assert told == {8 * DIMENSION}
    assert charged(consortium, "cleveland") == charged(consortium, "hungary") == {PREPARATION: 1, None: 2}


def announced(center: float, scale: float, numbers: int = NUMBERS) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([np.full(numbers, center), np.full(numbers, scale)])


@pytest.mark.parametrize(
    ("release", "forged", "told"),
    [
        (
            2,
            announced(0.0, 1.0, NUMBERS - 1),
            "must have 128 bytes, or 208 with what",
        ),
        (2, announced(math.nan, 1.0), "must be centres in"),
        (2, announced(0.0, math.nan), "must be centres in"),
        (2, announced(1e30, 1.0), "must be centres in"),
        (2, announced(0.0, 1e-9), r"scales in [0.02, 1]; one is not"),
        (1, announced(0.0, 1.0), "must have 128 bytes, as planned; got 208"),
    ],
    ids=["length", "nan centre", "nan scale", "huge", "steep", "before the preparation"],
)
def test_a_map_that_is_none_is_refused_and_nothing_is_charged(
    make_consortium: Make,
    standardised: Config,
    release: int,
    forged: np.ndarray[Any, np.dtype[np.float64]],
    told: str,
) -> None:
    consortium = make_consortium(standardised)
    engine = engine_of(consortium)
    with pytest.raises(NotEnoughSurvivors):
        engine.sum_round(RoundOrder(release, 1, np.zeros(DIMENSION), prepared=forged))
    replies = engine._wire.answered  # type: ignore[attr-defined]  # a `DirectWire`
    (reason,) = {reply.reason for reply in replies if isinstance(reply, Refused)}
    assert told in reason
    assert "\n" not in reason
    assert not charged(consortium, "cleveland")


def test_a_map_that_masks_are_not_bound_to_is_refused(make_consortium: Make, standardised: Config) -> None:
    """Two silos that were told of different maps would be in one sum."""
    consortium = make_consortium(standardised)
    engine = engine_of(consortium)
    node = consortium.node("hungary")

    def tamper(at: int, request: Any) -> Any:
        if at == node and isinstance(request, Deliver) and request.parameters:
            other = announced(0.5, 0.5).astype("<f8").tobytes()
            return dataclasses.replace(request, parameters=request.parameters[: 8 * DIMENSION] + other)
        return request

    engine._wire.tamper = tamper  # type: ignore[attr-defined]  # a `DirectWire`
    found = engine.sum_round(RoundOrder(2, 1, np.zeros(DIMENSION), prepared=announced(0.0, 0.5)))
    assert "hungary" not in found.survivors
    assert not charged(consortium, "hungary")


def test_a_preparation_asked_for_again_and_again_is_charged_each_time(
    make_consortium: Make, standardised: Config
) -> None:
    consortium = make_consortium(standardised)
    asked_again_and_again(consortium, 1, consortium.plan.preparation, PREPARATION)


def test_an_owner_is_told_what_release_0_asks_and_may_refuse_it(
    make_consortium: Make, standardised: Config
) -> None:
    consortium = make_consortium(standardised)
    asked = consortium.plan.preparation
    assert asked is not None
    told = dry_run(load_policy(consortium.folder.policy("cleveland")), consortium.plan)
    assert told.released[0].startswith("release 0, before round 1, asks the training records: How many")
    assert "noise multiplier" in told.released[0]
    terms = wire_terms(consortium.plan, bytes(32))
    (sent,) = [line for line in told.released if "masked" in line]
    assert "in each of 1 release that asks the training records and 2 rounds one vector" in sent
    assert f"of {terms.length} integers" in sent
    assert (terms.length, terms.context) == (
        max(asked.grid.dimension, consortium.plan.grid.dimension),
        sum_terms(consortium.plan, bytes(32)).context,
    )
    consortium.edit_policy("cleveland", f', "answers@sha256:{asked.facts.model_digest}"', "")
    wire = DirectWire(consortium.silos)
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    (refusal,) = {reply for reply in wire.answered if isinstance(reply, Refused)}
    assert "model of its preparation must be one of logistic@sha256:" in refusal.reason
    assert not charged(consortium, "cleveland")


class TestABudget:
    def test_charges_the_preparation_and_its_rounds_as_composed(
        self, make_consortium: Make, standardised: Config
    ) -> None:
        consortium = make_consortium(standardised)
        plan, policy = consortium.plan, load_policy(consortium.folder.policy("cleveland"))
        charge = Charge.under(plan, policy)
        assert contributions_of(plan, "cleveland") == plan.order.covering({PREPARATION: 1, None: 2}) == 3
        assert charge.cost(3).epsilon == pytest.approx(1.0, abs=0.01)
        alone = dataclasses.replace(plan, preparation=None)
        assert against(alone, charge.adversary, charge.honest_silos, rounds=2).epsilon < 0.99
        # Who missed release 0 is charged for it; asked twice, it costs as much as if all began anew.
        assert plan.order.covering({None: 1}) == 2
        assert plan.order.covering({PREPARATION: 2}) == 4
        assert plan.order.covering({PREPARATION: 2, None: 2}) == 4
        assert plan.order.covering({PREPARATION: 1, None: 3}) == 5
        assert charge.cost(4).epsilon > charge.cost(3).epsilon

    @pytest.mark.parametrize("composition", Composition)
    def test_takes_a_share_for_each_release_of_a_filter(
        self, make_consortium: Make, standardised: Config, composition: Composition
    ) -> None:
        """The first takes what the preparation's noise costs, and no release is free."""
        consortium = make_consortium(standardised)
        plan, policy = consortium.plan, load_policy(consortium.folder.policy("cleveland"))
        charge, empty = Charge.under(plan, policy), AdaptiveFilter(8.0, 1e-4, composition=composition)
        one, two, three = (charge.of_filter(empty, count).divergence for count in (1, 2, 3))
        asked, honest = plan.preparation, charge.honest_silos
        assert asked is not None
        first = empty.cost(event_for(asked.release, honest_silos=honest, rounds=1)).divergence
        rounds = empty.cost(event_for(plan.release, honest_silos=honest, rounds=2)).divergence
        assert one == pytest.approx(first, rel=1e-6)
        assert three - one == pytest.approx(2.0 * (two - one)) == pytest.approx(rounds, rel=1e-6)

    def test_that_release_0_exceeds_refuses_the_plan(
        self, make_consortium: Make, standardised: Config
    ) -> None:
        """The rounds alone would stay within it."""
        consortium = make_consortium(standardised)
        text = consortium.folder.policy("cleveland").read_text()
        (line,) = [one for one in text.splitlines() if one.startswith("max_epsilon_per_training")]
        consortium.edit_policy("cleveland", line, "max_epsilon_per_training = 0.98")
        wire = DirectWire(consortium.silos)
        serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
        (refusal,) = {reply for reply in wire.answered if isinstance(reply, Refused)}
        assert "3 releases must stay within this silo's 'budget.max_epsilon_per_training'" in refusal.reason
