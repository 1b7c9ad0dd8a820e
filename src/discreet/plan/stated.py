"""What a plan's config states, by the names that its readers use; nothing is worked out."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.config import Config
from discreet.config.about import AboutConfig
from discreet.config.aggregation import AggregationConfig
from discreet.config.data import DataConfig
from discreet.config.evaluate import EvaluateConfig
from discreet.config.model import ModelConfig
from discreet.config.privacy import PrivacyConfig
from discreet.config.training import TrainingConfig
from discreet.config.weight_files import weight_files
from discreet.kinds import QuantileClipping, ServerRule
from discreet.kinds.model_facts import LINEAR, ORDINAL
from discreet.kinds.preparation import PreparationConfig
from discreet.kinds.questions import Question
from discreet.plan.aggregation import sum_protocol
from discreet.plan.silos import own_text
from discreet.privacy.units import Unit
from discreet.secagg import SumProtocol


class Stated:
    """What follows from a config alone, whatever the facts of the federation are.

    Attributes:
        config: what was asked for.
    """

    __slots__ = ()

    config: Config

    @property
    def name(self) -> str:
        """What the training is called."""
        return self.config.name

    @property
    def about(self) -> AboutConfig:
        """What the parties stated for a board; nothing is computed from it."""
        return self.config.about or AboutConfig()

    @property
    def data(self) -> DataConfig:
        """The rules by which every silo reads its records."""
        return self.config.data

    @property
    def model(self) -> ModelConfig:
        """Which model is trained, from which seed."""
        return self.config.model

    @property
    def questions(self) -> tuple[Question, ...]:
        """What is asked of the records; nothing where a model is trained."""
        return self.config.ask or ()

    @property
    def model_title(self) -> str:
        """What a reader calls the model: its name, but for bundled linear heads of numbers and levels."""
        if self.model.name == ORDINAL:
            return "ordinal regression"
        if self.data.several:
            return f"{self.model.name}, {self.data.several} labels"
        number = self.data.label_range is not None and self.model.name == LINEAR
        return "linear regression" if number else self.model.name

    @property
    def training(self) -> TrainingConfig:
        """What silos and server compute: local kind, sampling, server rule."""
        return self.config.training

    @property
    def privacy(self) -> PrivacyConfig:
        """Unit, target, clipping norm and noise law."""
        return self.config.privacy

    @property
    def evaluating(self) -> EvaluateConfig | None:
        """When held-out records are asked between rounds, and what ends the training; or None."""
        return self.config.evaluate

    @property
    def preparing(self) -> PreparationConfig | None:
        """How training records are prepared before the first round, as it was asked for; or None."""
        return self.config.preparation

    @property
    def own_settings(self) -> str:
        """Which silos have which settings in place of everybody's, in one line; empty if none has."""
        return own_text(self.config)

    @property
    def aggregation(self) -> AggregationConfig:
        """Protocol, mode and floors."""
        return self.config.aggregation

    @property
    def unit(self) -> Unit:
        """Whom the guarantees protect."""
        return Unit(self.privacy.unit)

    @property
    def keeps_best(self) -> bool:
        """Whether the model of the best evaluation is released, in place of the last one."""
        return self.evaluating is not None and self.evaluating.keep == "best"

    @property
    def weight_files(self) -> Mapping[str, str]:
        """The files of public weights that it asks for, by the key that names each."""
        return weight_files(self.config)

    @property
    def norm_rule(self) -> QuantileClipping | None:
        """The rule by which the clipping norm moves; None if it is fixed, or nothing is clipped."""
        return self.privacy.norm_rule

    @property
    def protocol(self) -> SumProtocol:
        """How integers are summed, and whom that withstands."""
        return sum_protocol(self.config)

    @property
    def server_rule(self) -> ServerRule:
        """The rule by which the server turns an aggregate into the next model; post-processing."""
        return self.training.server
