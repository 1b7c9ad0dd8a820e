"""The plan: worked out once, frozen, hashed, and loaded by every party. What runs is what was accounted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from discreet.config import Config
from discreet.config.weight_files import with_weight_files
from discreet.encoding import Grid, Rotation
from discreet.kinds import (
    Asked,
    LocalConfig,
    SiloTraining,
    Timetable,
)
from discreet.plan.assumptions import NO_CHOSEN_END
from discreet.plan.composable import composable_cost
from discreet.plan.counted import composition, one_after_the_other
from discreet.plan.facts import FederationFacts
from discreet.plan.guaranteed import against
from discreet.plan.held_out import with_weights
from discreet.plan.order import EVALUATION, PREPARATION, Order, count_of
from discreet.plan.preparation import Preparation
from discreet.plan.prepared import preparation_of
from discreet.plan.releases import (
    RoundRelease,
    Thresholds,
    adversaries,
    budget_adversary,
    composed,
    event_for,
    of_several,
)
from discreet.plan.seen import relation_of
from discreet.plan.silos import local_of, training_of
from discreet.plan.stages import Stage
from discreet.plan.stated import Stated
from discreet.plan.timetable import planned_sums, planned_timetable
from discreet.plan.training import silo_setting, silos_of_a_unit
from discreet.plan.written import indented, plan_json
from discreet.privacy.adversary import Adversary
from discreet.privacy.events import Event
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.shown import guarantees_html, guarantees_text
from discreet.privacy.units import NeighboringRelation, Status
from discreet.privacy.wire import Json, digest

# Names of silos in a one-line description.
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Plan(Stated):
    """Everything that the parties of a training agree on.

    Attributes:
        config: what was asked for; its ``run`` and ``speed`` tables are local to a machine and not part of
            the agreement.
        facts: public names and shapes.
        capacities: public bound on the training records, or persons, of each silo, in the order of
            ``facts.silos``.
        grid: the integers that travel in rounds of the first stage: scale, ring, sensitivity after rounding.
        release: what one of those rounds releases.
        thresholds: survivors, colluders, shares.
        guarantees: one for each adversary, over all releases, in the worst case that the plan allows.
        evaluation: the plan of questions that held-out records are asked between rounds, with noise and
            guarantees of their own; None where the training is not evaluated.
        segments: the stages of a training with segments, all in one ring; none where all rounds are alike.
        preparation: the plan of questions that training records are asked before the first round, composed
            with the rounds in ``guarantees``; None where records are used as they are read.
        own: what one round releases of each silo's units, in the order of ``facts.silos``; empty where silos
            do not differ. ``release`` is then nowhere below any of them.
        timetable: which silos are in which round, on which models; None where every round asks everybody.
            It follows from the others, as does what comes next.
        order: which release prepares, which is a round, and which an evaluation.
    """

    config: Config
    facts: FederationFacts
    capacities: tuple[int, ...]
    grid: Grid
    release: RoundRelease
    thresholds: Thresholds
    guarantees: tuple[Guarantee, ...]
    evaluation: Plan | None = None
    preparation: Plan | None = None
    segments: tuple[Stage, ...] = ()
    own: tuple[RoundRelease, ...] = ()
    timetable: Timetable | None = field(init=False, repr=False, compare=False)
    order: Order = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rounds = planned_sums(self.config, self.facts.silos)
        every = None if self.evaluation is None or self.evaluating is None else self.evaluating.every
        segments = tuple(stage.rounds for stage in self.segments)
        object.__setattr__(self, "timetable", planned_timetable(self.config, self.facts.silos))
        object.__setattr__(self, "order", Order(rounds, every, int(self.preparation is not None), segments))

    @property
    def answers(self) -> Asked:
        """What silos add up where questions are asked; a ValueError where a model is trained."""
        training = self.silo_training(self.facts.silos[0])
        if not isinstance(training, Asked):
            raise ValueError("only a plan of questions has answers")
        return training

    @property
    def model_shape(self) -> tuple[int, ...]:
        """The shape of a record as the model takes it; records are read in that of ``facts``."""
        return self.data.model_shape(self.facts.feature_shape)

    @property
    def record_preparation(self) -> Preparation:
        """How training records are prepared before the first round; a ValueError where they are not."""
        return preparation_of(self.config, self.facts)

    @property
    def neighboring(self) -> NeighboringRelation:
        """Between which data the guarantees hold."""
        return relation_of(self.unit, self.release)

    @property
    def rounds(self) -> int:
        """How many rounds are planned, or sums of a timetable; interrupted ones count."""
        return self.order.rounds

    @property
    def releases(self) -> int:
        """How many sums are planned: preparation, rounds and evaluations; interrupted ones count."""
        return self.order.releases

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Rounds that are alike, in order: one stage, unless the training has segments."""
        return self.segments or (Stage(self.config, self.rounds, self.grid, self.release),)

    def stage_of(self, release: int) -> Stage:
        """Returns the stage of a release, from 1; of one beyond the plan, the last."""
        return self.stages[self.order.segment_of(release)]

    def at(self, release: int) -> Plan:
        """Returns the plan as if all rounds were like a release; its guarantees and digest mean nothing."""
        if not self.segments:
            return self
        stage = self.stage_of(release)
        return dataclasses.replace(
            self, config=stage.config, grid=stage.grid, release=stage.release, segments=()
        )

    def with_own_files(self, moved: Callable[[str], str]) -> Plan:
        """Returns the plan with the paths of public weights that only this machine knows."""
        return dataclasses.replace(self, config=with_weight_files(self.config, moved))

    @property
    def every_part(self) -> Mapping[str | None, Plan]:
        """The plans whose sums this one makes, by name: that of the rounds, which has none, and others."""
        return {**self.sides, **({} if self.preparation is None else {PREPARATION: self.preparation})}

    @property
    def sides(self) -> Mapping[str | None, Plan]:
        """The plans by whose rules records are read, by name; no unit's records are in two of them."""
        return {None: self} | ({} if self.evaluation is None else {EVALUATION: self.evaluation})

    def carried_out(self, release: int, announced: npt.NDArray[np.float64]) -> Plan:
        """Returns what silos carry out in a release before which the server announced a vector."""
        if self.preparation is not None and self.order.prepares(release):
            return self.preparation
        return self.questions_about(announced) if self.order.evaluates(release) else self

    def under(self, announced: npt.NDArray[np.float64] | None) -> Plan:
        """Returns the plan as rounds under a preparation's values carry it out; its digest means nothing."""
        if announced is None or self.preparation is None:
            return self
        kind = preparation_of(self.config, self.facts)
        config = kind.in_rounds(self.config, announced)
        if config is self.config:
            return self
        segments = tuple(
            dataclasses.replace(stage, config=kind.in_rounds(stage.config, announced))
            for stage in self.segments
        )
        return dataclasses.replace(self, config=config, segments=segments)

    def announced_length(self, release: int) -> int:
        """Returns how many numbers a release starts from: weights, and before a round its clipping norm."""
        return self.facts.dimension if self.order.evaluates(release) else self.grid.dimension

    def map_length(self, release: int) -> int:
        """Returns how many numbers the map has that records may be prepared by in a release; 0 for none."""
        if self.preparation is None or self.order.prepares(release):
            return 0
        return math.prod(preparation_of(self.config, self.facts).map_shape)

    def questions_about(self, weights: npt.NDArray[np.float64]) -> Plan:
        """Returns the plan of questions that an evaluation of a model with these weights carries out."""
        if self.evaluation is None:
            raise ValueError("only a training that is evaluated asks how good its models are")
        return dataclasses.replace(self.evaluation, config=with_weights(self.evaluation.config, weights))

    def unit_length(self, release: int) -> float:
        """What one real unit of the grid is in weights: 1, or the clipping norm of the first round.

        Where the norm follows a quantile, what travels is measured in units of the round's norm; where the
        rate of local steps decays and the update with it, in units of the round's factor.
        """
        if self.norm_rule is not None:
            return self.norm_rule.initial
        return self.silo_training(self.facts.silos[0], release).unit_length

    @property
    def bytes_per_vector(self) -> int:
        """Payload of one masked vector on the wire."""
        return self.grid.payload_bytes

    def segment_plans(self) -> tuple[tuple[str, Plan], ...]:
        """Returns what each segment has of its own, in words, and its `at`; nothing without segments."""
        found = []
        for stated, release in zip(self.training.segments or (), self.order.beginnings, strict=False):
            first, own = self.order.round_of(release), stated.describe(self.unit.value)
            text = f"rounds {first} to {first + stated.rounds - 1}{own and ': '}{own}"
            found.append((text, self.at(release)))
        return tuple(found)

    @property
    def noise_multiplier(self) -> float:
        """Of the first stage: deviation of the noise sure to protect a unit, over the rounded sensitivity."""
        counted = self.release.counted_shares(self.thresholds.honest_survivors)
        variance = self.release.share.variance / self.release.share.num_silos * counted
        return float(variance**0.5 / self.release.l2_sensitivity)

    def silo_training(self, silo: str, release: int | None = None) -> SiloTraining:
        """Returns the local training that ``silo`` runs in a release, at the first round's clipping norm.

        Without a release, and before the first round, it is that of the first round.
        """
        release = max(self.order.first_round, release or 0)
        capacity = self.capacities[self.facts.silos.index(silo)]
        config = self.stage_of(release).config
        setting = silo_setting(config, self.facts, capacity)
        return training_of(config, setting, silo, capacity, self.order.round_of(release) - 1)

    def local_of(self, silo: str) -> LocalConfig:
        """Returns what ``silo`` computes in a round, as its own table ``training.local`` would say it."""
        return local_of(self.config, silo)

    def release_of(self, silo: str | None) -> RoundRelease:
        """Returns what one round releases of the units of ``silo``; of a stranger or None, of any silo's."""
        known = self.own and silo in self.facts.silos
        return self.own[self.facts.silos.index(silo)] if known and silo is not None else self.release

    def asked(self, release: int) -> tuple[str, ...]:
        """Returns the silos that a release asks."""
        return self.facts.silos if self.timetable is None else self.timetable.sums[release - 1].silos

    def event(self, honest_silos: int, rounds: int) -> Event:
        """Returns the event of the first so many releases against whoever faces so many shares of noise.

        Evaluations are not in it, nor counted, which are of other units.
        """
        silos = silos_of_a_unit(self.config)
        return composed(
            event_for(of_several(release, silos), honest_silos=honest_silos, rounds=number)
            for part, count in one_after_the_other(self, rounds)
            for release, number in composition(part, count)
        )

    @property
    def targets(self) -> tuple[tuple[Adversary, int], ...]:
        """Adversaries that the target (ε, δ) holds against, with the shares that they face.

        One, the strongest; or, where nothing is summed, whoever sees the messages of any one silo.
        """
        if not self.thresholds.summed:
            return self.adversaries()
        return (budget_adversary(self.thresholds, self.unit, asks=bool(self.questions)),)

    def budget_adversary(self) -> tuple[Adversary, int]:
        """Returns the strongest of `targets` once everything is released, and its shares."""
        if len(self.targets) == 1:
            return self.targets[0]
        return max(self.targets, key=lambda row: against(self, *row, rounds=self.releases).epsilon)

    def adversaries(self) -> tuple[tuple[Adversary, int], ...]:
        """Returns every adversary that there is a guarantee for, and the shares of noise that it faces."""
        return adversaries(self.facts.silos, self.thresholds, self.unit, asks=bool(self.questions))

    def spent(self, rounds: int) -> Guarantee:
        """Returns the weakest guarantee against one of `targets` after ``rounds`` charged releases.

        Guarantee:
            That of all planned releases holds whenever the training ends. That of fewer is of a number which
            nobody chose by what they showed, so it is CONDITIONAL (docs/theory/budgets.md). Where evaluations
            may end the training (``evaluate.stop``) that is not so: from the first release on, all that are
            planned count.
        """
        if rounds > 0 and self.evaluation is not None and self.evaluating and self.evaluating.stop:
            rounds = max(rounds, self.releases)
        worst = max((against(self, *row, rounds=rounds) for row in self.targets), key=lambda one: one.epsilon)
        if not 0 < rounds < self.releases:
            return worst
        assumed = (*worst.assumptions, NO_CHOSEN_END)
        return dataclasses.replace(worst, status=Status.CONDITIONAL, assumptions=assumed)

    def decoded(
        self, total: npt.NDArray[np.uint64], release: int, rotation: Rotation | None = None
    ) -> npt.NDArray[np.float64]:
        """Returns what the modular sum of a release stands for; see `LocalTraining.decoded`."""
        training = self.silo_training(self.facts.silos[0], release)
        return training.decoded(total, self.stage_of(release).grid, rotation)

    def to_json(self) -> Json:
        """Returns the plan as plain JSON."""
        return plan_json(self)

    def digest(self) -> str:
        """Returns the SHA-256 that every party compares before keys are exchanged."""
        return digest(self.to_json())

    def document(self) -> bytes:
        """Returns the plan with its digest, as it travels and as silos keep it; `parse_plan` reads it."""
        return indented({"digest": self.digest(), "plan": self.to_json()})

    def file(self) -> bytes:
        """Returns the document with what all rounds cost in a form that others add up, beside the plan.

        The digest says nothing of that: it follows from the plan, and `load_plan` works it out again.
        """
        cost = composable_cost(self)
        return indented({"digest": self.digest(), "plan": self.to_json(), "composable": cost})

    def __repr__(self) -> str:
        named = (*self.facts.silos[:_MOST_NAMED], *(["…"] if len(self.facts.silos) > _MOST_NAMED else []))
        prepared = "" if self.preparation is None else "a preparation, "
        asked = count_of(self.order.evaluations, "evaluation")
        evaluated = "" if self.evaluation is None else f" and {asked}"
        what = f"{prepared}{count_of(self.rounds, 'round')}{evaluated} over {', '.join(named)}"
        return f"Plan({self.name!r}, {self.digest()[:12]}…: {what})"

    def __str__(self) -> str:
        return guarantees_text(repr(self), self.guarantees)

    def _repr_html_(self) -> str:
        return guarantees_html(repr(self), self.guarantees)

    def save(self, path: str | Path) -> None:
        """Writes what `file` returns."""
        Path(path).write_bytes(self.file())
