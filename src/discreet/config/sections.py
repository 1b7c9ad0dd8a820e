"""The tables of a config file: what a user may say, and nothing derived from it.

Noise, scale, ring and guarantees are worked out once, by the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from discreet.config.about import AboutConfig
from discreet.config.data import DataConfig
from discreet.config.evaluate import EvaluateConfig
from discreet.config.model import ModelConfig
from discreet.config.run import RunConfig
from discreet.config.segments import MOST_ROUNDS, Segments
from discreet.config.silos import SiloConfig, folded
from discreet.config.speed import SpeedConfig
from discreet.errors import ConfigurationError
from discreet.kinds import (
    ANSWERS,
    AveragingConfig,
    ClipNorm,
    LocalConfig,
    NoSamplingConfig,
    QuantileClipping,
    QuestionsConfig,
    SamplingConfig,
    ScheduleConfig,
    ServerConfig,
    UntunedStepsConfig,
)
from discreet.kinds.fields import Positive, Section, one_line
from discreet.kinds.model_facts import LINEAR
from discreet.kinds.preparation import PreparationConfig
from discreet.kinds.questions import MOST_QUESTIONS, Question
from discreet.kinds.untuned_steps import AUTO


class TrainingConfig(Section):
    """How the model is trained.

    Attributes:
        rounds: releases; left to the plan, as "auto", where stable-steps have no learning rate; left out
            where segments state them. With a schedule, the contributions that a silo makes at most.
        local: what a silo computes in a round.
        sampling: who enters a round.
        server: how an aggregate becomes the next model; "auto", as left out, where stable-steps have no
            learning rate.
        schedule: whether a sum waits for every silo, or every silo sends by itself; left out, it waits.
        segments: rounds with settings of their own, one segment after the other; left out, all are alike.
    """

    rounds: Annotated[int, Field(ge=1, le=1_000_000)] | Literal["auto"] = "auto"
    local: LocalConfig
    sampling: SamplingConfig = NoSamplingConfig()
    server: ServerConfig = AveragingConfig()
    schedule: ScheduleConfig | None = None
    segments: Segments | None = None

    @model_validator(mode="before")
    @classmethod
    def _server_left_to_the_plan(cls, data: Any) -> Any:
        """Takes "auto" for a server rule that is left out, where a plan finds one."""
        if not isinstance(data, Mapping) or data.get("server") != AUTO:
            return data
        local = data.get("local")
        stated = isinstance(local, Mapping) and local.get("learning_rate", AUTO) != AUTO
        if stated or not isinstance(local, Mapping) or local.get("kind") != "stable-steps":
            raise ValueError(
                "'server' must be a table where the plan does not choose the learning rate; got \"auto\". "
                "Only stable-steps without 'learning_rate' leave it to the plan"
            )
        return {key: value for key, value in data.items() if key != "server"}

    @model_validator(mode="after")
    def _left_to_the_plan(self) -> TrainingConfig:
        if not isinstance(self.local, UntunedStepsConfig):
            if self.rounds == "auto" and self.segments is None:
                raise ValueError(
                    f"'rounds' must be given for {self.local.kind} with a learning rate of its own; it is "
                    "missing. Only stable-steps without 'learning_rate' leave it to the plan"
                )
        elif self.server != AveragingConfig() or self.sampling != NoSamplingConfig():
            raise ValueError(
                "'server' and 'sampling' must be left out where stable-steps have no 'learning_rate', "
                "for the plan chooses it without them. Leave them out, or give a learning rate and steps"
            )
        return self

    @model_validator(mode="after")
    def _in_segments(self) -> TrainingConfig:
        if self.segments is None:
            return self
        if isinstance(self.local, UntunedStepsConfig):
            raise ValueError(
                "'segments' must be left out where stable-steps have no 'learning_rate', for the plan "
                "chooses it for rounds that are alike. Leave them out, or give a learning rate and steps"
            )
        if self.rounds != "auto":
            raise ValueError(f"'rounds' must be left out where 'segments' state them; got {self.rounds}")
        if self.schedule is not None:
            raise ValueError(
                "'schedule' must be left out with 'segments': silos in one sum would be in different ones"
            )
        if len(self.segments) > 1 and self.planned_rounds > MOST_ROUNDS:
            raise ValueError(
                f"'rounds' of all 'segments' must come to at most {MOST_ROUNDS:,}, which every silo accounts "
                f"for; they come to {self.planned_rounds:,}. Plan fewer rounds, or leave 'segments' out"
            )
        _ = self.segment_locals
        return self

    @property
    def segment_locals(self) -> tuple[LocalConfig, ...]:
        """The table of local training in each segment.

        Raises:
            ValueError: in one line, if a segment's keys make no table of that kind.
        """
        found = []
        for number, segment in enumerate(self.segments or ()):
            try:
                found.append(segment.local_table(self.local))
            except ValueError as error:
                raise ValueError(f"'segments.{number}': {error}") from None
        return tuple(found)

    @property
    def planned_rounds(self) -> int:
        """How many rounds there are.

        Raises:
            ConfigurationError: if that is still left to a plan.
        """
        if self.segments is not None:
            return sum(segment.rounds for segment in self.segments)
        if self.rounds == "auto":
            raise ConfigurationError("'training.rounds' must be worked out by a plan first; it is \"auto\".")
        return self.rounds


AUTO_NORM = {"quantile": 0.5, "initial": 0.1, "learning_rate": 0.5}
"""The median of the lengths, from a guess that is rather too short for features of length 1."""

_ASKING: dict[str, Any] = {"rounds": 1, "local": {"kind": "questions"}}


class PrivacyConfig(Section):
    """What must be guaranteed: a target (ε, δ), or a fixed ``noise_multiplier`` instead of ``epsilon``.

    The target holds against the strongest adversary of the plan: another member, which knows its own noise,
    or the server together with ``aggregation.max_colluding`` silos, when only ``aggregation.min_survivors``
    silos survive. A CONDITIONAL analysis is used only if its assumption is named in ``accept_assumptions``.

    Attributes:
        unit: what is protected: one record, one person with all records, or one silo (``client``).
        epsilon: the target ε; in its place ``noise_multiplier``.
        noise_multiplier: noise of the silos that the target counts, over the sensitivity of a round's sum; in
            place of ``epsilon``.
        delta: the δ at which ε is stated.
        accept_assumptions: names of assumptions without which an analysis is not used.
        mechanism: law of the noise. ``discrete-laplace`` is for questions that count records: narrower than
            Gaussian noise for one to a few questions, and dearer where many releases compose.
        against: whom the target is for. ``outsiders`` leaves other members out, as publications do that count
            every share of noise; their row is then printed with its larger ε.
        clip_norm: L2 norm that every contribution is shortened to: a number, or a table with a ``quantile``;
            "auto" is such a table, ``{ quantile = 0.5, initial = 0.1, learning_rate = 0.5 }``, and nothing
            where stable-steps clip nothing.
    """

    unit: Literal["record", "person", "client"] = "record"
    epsilon: Positive | None = None
    noise_multiplier: Positive | None = None
    delta: Annotated[float, Field(gt=0, lt=1)]
    against: Literal["members", "outsiders"] = "members"
    mechanism: Literal["rounded-gaussian", "discrete-gaussian", "skellam", "discrete-laplace"] = (
        "rounded-gaussian"
    )
    clip_norm: ClipNorm | None = None
    accept_assumptions: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_of(self) -> PrivacyConfig:
        if (self.epsilon is None) == (self.noise_multiplier is None):
            raise ValueError("exactly one of 'epsilon' and 'noise_multiplier' must be given")
        return self

    @property
    def norm_rule(self) -> QuantileClipping | None:
        """The rule by which the clipping norm moves; None if it is fixed, or nothing is clipped."""
        return self.clip_norm if isinstance(self.clip_norm, QuantileClipping) else None


class AggregationConfig(Section):
    """How integers are summed, and whom the sum must withstand.

    Attributes:
        protocol: ``ideal`` is an oracle for tests and research: it protects nothing from the server. ``none``
            is what a local schedule means: no sum is secret, and every silo has all of the noise.
        mode: what the server may do: lie (``malicious``), or only look (``semi-honest``). ``one-phase`` is
            ``semi-honest`` with a single exchange in a round in which every silo answers in time; besides, it
            takes the server's word that it discards late answers unread, or it could open them.
        min_survivors: fewer, and no silo helps to unmask; left out, every silo must survive.
        max_colluding: silos that may share their noise and keys with the server.
        bits: width of the ring; "auto" is the smallest in which no sum can wrap around.
        rotation: spread every update evenly by a public random rotation, for a narrower ring; a sum then
            wraps around with probability at most 2^-40 over the whole training.
        noise_first: add real Gaussian noise before the one rounding instead of integers after it. Rounding
            then costs no sensitivity, so that the grid is far coarser and messages are a third shorter; for
            rounded-gaussian.
    """

    protocol: Literal["bonawitz", "bell", "ideal", "none"] = "bonawitz"
    mode: Literal["malicious", "semi-honest", "one-phase"] = "malicious"
    min_survivors: Annotated[int, Field(ge=2)] | None = None
    max_colluding: Annotated[int, Field(ge=0)] = 0
    bits: Annotated[int, Field(ge=8, le=62)] | Literal["auto"] = "auto"
    rotation: bool = False
    noise_first: bool = False


class Config(Section):
    """The whole file: a training, or questions in its place.

    Attributes:
        name: what the training is called in reports and ledgers.
        about: what a board asks and no program can know.
        data: where the records are, and what is publicly known of them.
        model: which model is trained.
        training: what silos and server compute, and in how many rounds.
        privacy: what must be guaranteed.
        aggregation: how the silos' contributions are summed.
        run: how this machine carries the plan out.
        speed: processes and device; changes no guarantee.
        ask: questions about columns of tables, answered by one sum. Tables ``model`` and ``training`` then
            say so, and are left out of a file.
        evaluate: how good the model is on held-out records, asked between rounds under a guarantee.
        silos: settings of single silos, by name, in place of everybody's.
    """

    name: Annotated[str, Field(max_length=200), AfterValidator(one_line)] = "training"
    about: AboutConfig | None = None
    ask: Annotated[tuple[Question, ...], Field(min_length=1, max_length=MOST_QUESTIONS)] | None = None
    data: DataConfig
    model: ModelConfig = ModelConfig()
    training: TrainingConfig
    evaluate: EvaluateConfig | None = None
    silos: Annotated[dict[str, SiloConfig], Field(min_length=1)] | None = None
    privacy: PrivacyConfig
    aggregation: AggregationConfig = AggregationConfig()
    run: RunConfig = RunConfig()
    speed: SpeedConfig = SpeedConfig()

    def __repr__(self) -> str:
        what = (
            f"{len(self.ask)} questions" if self.ask else f"{self.training.local.kind} of {self.model.name}"
        )
        return f"Config({self.name!r}: {what} over {self.data!r})"

    def __str__(self) -> str:
        return repr(self)

    @property
    def preparation(self) -> PreparationConfig | None:
        """What a release before the first round asks of training records; None if there is none."""
        return self.training.local.preparation or self.data.preparation

    @property
    def measures(self) -> bool:
        """Whether models are measured on held-out records, without noise."""
        return self.run.evaluate and self.ask is None

    @model_validator(mode="before")
    @classmethod
    def _said_of_all(cls, data: Any) -> Any:
        """Keeps capacities and paces of silos where they are said of all."""
        return folded(data) if isinstance(data, Mapping) else data

    @model_validator(mode="before")
    @classmethod
    def _asked_in_place_of_training(cls, data: Any) -> Any:
        """Says, where questions are asked, what takes the place of model and training."""
        if not isinstance(data, Mapping) or data.get("ask") is None:
            return data
        records = data.get("data")
        if isinstance(records, Mapping):
            whole = {} if records.get("asked") else {"test_fraction": 0.0, "asked": True}
            records = {**whole, **records}
        return {"name": "questions", "model": {"name": ANSWERS}, "training": _ASKING, **data, "data": records}

    @model_validator(mode="before")
    @classmethod
    def _no_tangents_of_several_labels(cls, data: Any) -> Any:
        """Refuses the local kind before its numbers are asked for."""
        tables = data if isinstance(data, Mapping) else {}
        records, training = tables.get("data"), tables.get("training")
        local = training.get("local") if isinstance(training, Mapping) else None
        several = isinstance(records, Mapping) and isinstance(records.get("label"), list | tuple)
        if several and isinstance(local, Mapping) and local.get("kind") == "tangent-steps":
            raise ValueError(
                "'training.local.kind' must not be tangent-steps where there are several labels: nothing is "
                "proven for both together. Use single-step or clipped-update, or train one label"
            )
        return data

    @model_validator(mode="before")
    @classmethod
    def _clip_norm_finds_itself(cls, data: Any) -> Any:
        """Writes down what an automatic clipping norm is: the median of lengths, or none."""
        privacy = data.get("privacy") if isinstance(data, Mapping) else None
        if not isinstance(privacy, Mapping) or privacy.get("clip_norm") != AUTO:
            return data
        training = data.get("training")
        local = training.get("local") if isinstance(training, Mapping) else None
        clips = not (isinstance(local, Mapping) and local.get("kind") == "stable-steps")
        kept = {key: value for key, value in privacy.items() if key != "clip_norm"}
        return {**data, "privacy": kept | ({"clip_norm": AUTO_NORM} if clips else {})}

    @model_validator(mode="before")
    @classmethod
    def _silos_send_by_themselves(cls, data: Any) -> Any:
        """Says, where the schedule is local and nothing is said of sums, that none is secret."""
        training = data.get("training") if isinstance(data, Mapping) else None
        schedule = training.get("schedule") if isinstance(training, Mapping) else None
        if isinstance(schedule, Mapping) and schedule.get("kind") == "local" and "aggregation" not in data:
            return {**data, "aggregation": {"protocol": "none"}}
        return data

    @model_validator(mode="after")
    def _nothing_is_said_of_no_sum(self) -> Config:
        """Refuses what means nothing where no sum is secret, and no secrecy where a sum needs it."""
        schedule, summed = self.training.schedule, self.aggregation
        local = schedule is not None and not schedule.sums
        if local != (summed.protocol == "none"):
            raise ValueError(
                "'aggregation.protocol' must be none with 'training.schedule' local, and there alone; got "
                f"{summed.protocol}. Every silo's message is seen there, so leave 'aggregation' out"
            )
        plain = AggregationConfig(
            protocol="none", bits=summed.bits, rotation=summed.rotation, noise_first=summed.noise_first
        )
        if local and (summed != plain or self.privacy.against != "members"):
            raise ValueError(
                "'aggregation.min_survivors', 'max_colluding', 'mode' and 'privacy.against' must be left out "
                "with 'training.schedule' local: no sum is secret there, so that they mean nothing"
            )
        return self

    @model_validator(mode="after")
    def _a_name_is_one_file(self) -> Config:
        """Refuses two files of weights that a plan, which has no folders, could not tell apart."""
        features, network = self.data.pretrained, self.model.pretrained
        if features is None or network is None or features.sha256 == network.sha256:
            return self
        path = features.file or (self.data.transform or "").partition(":")[2]
        if PurePath(path).name == PurePath(network.file or "").name:
            raise ValueError(
                "'data.pretrained' and 'model.pretrained' must be files of different names, for a plan has "
                f"no folders; both are called {PurePath(path).name!r}. Rename one"
            )
        return self

    @model_validator(mode="after")
    def _begins_where_features_are_public(self) -> Config:
        """Refuses public weights of a head for features that a private release moves, scales or turns."""
        if self.model.begins is not None and self.data.preparation is not None:
            raise ValueError(
                f"'model.pretrained' of {self.model.name!r} must be left out where 'data' has 'standardise', "
                "'centre' or 'project': its weights are for features as they are read"
            )
        return self

    @model_validator(mode="after")
    def _questions_are_all(self) -> Config:
        """Refuses a training beside questions, and what only one of the two has."""
        asked = (
            isinstance(self.training.local, QuestionsConfig),
            self.model.name == ANSWERS,
            self.data.asked is not None,
        )
        if self.ask is None and not any(asked):
            return self
        if self.ask is None and self.data.asked is True:
            raise ValueError(
                "'data.label' must be given where a model is trained; it is missing. Records without one can "
                "be asked questions"
            )
        if self.ask is None or not all(asked) or self.training != TrainingConfig.model_validate(_ASKING):
            raise ValueError(
                "'model' and 'training' must be left out where questions are asked; a config has either "
                "'ask' or a training"
            )
        if self.run.compare:
            raise ValueError("'run.compare' must be false where questions are asked: no model is trained")
        if self.privacy.unit == "client":
            raise ValueError("'privacy.unit' must be record or person where questions are asked; got client")
        return self

    @model_validator(mode="after")
    def _persons_are_known(self) -> Config:
        unit, person = self.privacy.unit, self.data.person
        if person is None and unit == "person":
            raise ValueError(
                "'data.person' must be given where 'privacy.unit' is person; got none. It says which column "
                'tells whose a record is, as in { column = "patient", capacity = 500, most_records = 20 }'
            )
        if person is not None and unit != "person":
            raise ValueError(
                f"'privacy.unit' must be person where 'data.person' is given; got {unit}. Set it, or leave "
                "'data.person' out"
            )
        return self

    @model_validator(mode="after")
    def _preparation_is_proven(self) -> Config:
        """Refuses a preparation beside what it is not proven with (docs/theory/questions.md)."""
        stated = self.preparation
        if stated is None or self.ask is not None:
            return self
        key = stated.path
        if self.data.preparation is not None and stated is not self.data.preparation:
            raise ValueError(
                f"{key} must be public numbers with {self.data.preparation.path}: one release before the "
                "first round asks the training records, and it asks about one of the two"
            )
        if self.privacy.unit == "client":
            raise ValueError(
                f"{key} must be without the client unit: it asks records, and a client has any number of them"
            )
        if self.training.schedule is not None:
            raise ValueError(f"{key} must be without 'training.schedule', where sums ask some silos only")
        if self.training.local.noise_inside:
            raise ValueError(
                f"{key} must be without noisy-steps, whose noise need not add up over silos as "
                "that of its sum does"
            )
        return self

    @model_validator(mode="after")
    def _evaluation_is_of_other_units(self) -> Config:
        """Refuses evaluations where a unit could be in the training and among those held out, or scores vary.

        docs/theory/questions.md says which splits are parallel.
        """
        if self.evaluate is None:
            return self
        if self.ask is not None:
            raise ValueError("'evaluate' must be left out where questions are asked: no model is trained")
        if self.privacy.unit == "client":
            raise ValueError(
                "'evaluate' must be without the client unit, whose records are on both sides of the split"
            )
        if self.training.sampling.exchanges:
            raise ValueError(
                "'evaluate' must be without fixed-size sampling, where a record that takes another's place "
                "need not be on its side of the split: the guarantees would add up. Use poisson sampling"
            )
        if self.data.test_fraction == 0.0:
            raise ValueError("'data.test_fraction' must be above 0 where held-out records are asked; got 0")
        moved = self.data.centre or self.data.project
        if moved is not None and self.evaluate.by is not None:
            raise ValueError(
                f"'evaluate.by' must be left out with 'data.{moved.key}', under which records have no "
                "columns left"
            )
        if self.model.name != LINEAR or self.data.label_range is not None:
            found = "a regression" if self.data.label_range is not None else repr(self.model.name)
            raise ValueError(
                f"'evaluate' must be with {LINEAR!r} and classes; got {found}. A histogram makes a whole "
                "record of a last bit, and only the scores of linear heads are the same among any other "
                "records"
            )
        return self
