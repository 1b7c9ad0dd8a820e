"""A whole config: its tables, and what must hold between them; what a user may say, and nothing derived.

Noise, scale, ring and guarantees are worked out once, by the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from discreet.config.about import AboutConfig
from discreet.config.aggregation import AggregationConfig
from discreet.config.data import DataConfig
from discreet.config.evaluate import EvaluateConfig
from discreet.config.model import ModelConfig
from discreet.config.privacy import AUTO_NORM, PrivacyConfig
from discreet.config.run import RunConfig
from discreet.config.silos import SiloConfig, folded
from discreet.config.speed import SpeedConfig
from discreet.config.training import TrainingConfig
from discreet.kinds import ANSWERS, QuestionsConfig
from discreet.kinds.fields import Section, one_line
from discreet.kinds.model_facts import LINEAR
from discreet.kinds.preparation import PreparationConfig
from discreet.kinds.questions import MOST_QUESTIONS, Question
from discreet.kinds.untuned_steps import AUTO

_ASKING: dict[str, Any] = {"rounds": 1, "local": {"kind": "questions"}}


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
