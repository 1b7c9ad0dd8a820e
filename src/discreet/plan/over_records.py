"""Planning over records at hand, as a simulation does; only their public facts reach the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.arrays import Floats
from discreet.config import Config, DataConfig
from discreet.config.federation import federation_of
from discreet.data import Federation
from discreet.kinds import Asked, SamplingConfig
from discreet.kinds.model_facts import LINEAR, ModelFacts, answers_facts, defined_in_main, linear_facts
from discreet.plan.asked import asked_blocks
from discreet.plan.batch_norm import few_together
from discreet.plan.facts import FederationFacts, federation_facts
from discreet.plan.make import make_plan
from discreet.plan.plan import Plan
from discreet.plan.start import require_start


@dataclass(frozen=True, slots=True, repr=False)
class Planned:
    """A config, the records that it names, and the plan that follows."""

    config: Config
    federation: Federation
    plan: Plan

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.plan!r})"

    @property
    def surplus(self) -> Mapping[str, int]:
        """Silo to its number of training records above its capacity, which were left out; private."""
        return {silo.name: silo.surplus for silo in self.federation.silos if silo.surplus}

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever runs this should know of records and model; it is for nobody else."""
        notes = list(self.federation.warnings)
        if (
            self.config.ask is None
            and self.config.run.evaluate
            and not any(len(silo.test) for silo in self.federation.silos)
        ):
            notes.append("no record is held out, so nothing is measured.")
        for name in filter(defined_in_main, self.config.model.own_code):
            what = "model" if name == self.config.model.name else "loss"
            notes.append(
                f"{what} {name!r}: this program itself defines it, so all silos train in this process, and "
                "no other program can build it or verify its weights. Move it into a module to change that."
            )
        return (*notes, *few_together(self.plan))


def plan_over_records(config: Config) -> Planned:
    """Loads the federation that a config names and works out the plan; writes nothing.

    Raises:
        ConfigurationError: for anything that cannot be carried out; the message names the key.
        PrivacyRefusal: if no proven guarantee meets the target.
    """
    federation = records_of(config.data, config.training.sampling)
    model, start = model_facts(config, federation.feature_shape, federation.num_classes)
    return Planned(config, federation, plan_from(config, facts_of(federation, model), start))


def plan_from(config: Config, facts: FederationFacts, start: Floats | None) -> Plan:
    """Returns the plan of a config and public facts, and checks the weights that a training begins at.

    Args:
        config: what is asked for.
        facts: what is public of records and model.
        start: as `model_facts` returns it.

    Raises:
        ConfigurationError: for anything that cannot be carried out; the message names the key.
        PrivacyRefusal: if no proven guarantee meets the target.
    """
    plan = make_plan(config, facts)
    if start is not None:
        require_start(plan, start)
    return plan


def records_of(
    data: DataConfig, sampling: SamplingConfig, by_silo: Mapping[str, Any] | None = None
) -> Federation:
    """Loads the federation that a config names.

    Args:
        data: where the records are, and how they are read.
        sampling: who enters a round: under fixed-size sampling, records have places.
        by_silo: what each silo holds, where the source is ``memory``.
    """
    return federation_of(data, exchanged=sampling.exchanges, by_silo=by_silo)


def facts_of(federation: Federation, model: ModelFacts) -> FederationFacts:
    """Returns the public facts of a federation that trains a model."""
    return federation_facts(
        tuple(silo.name for silo in federation.silos),
        feature_shape=federation.feature_shape,
        num_classes=federation.num_classes,
        feature_norm_bound=federation.feature_norm_bound,
        model=model,
        map_answers=federation.map_answers,
    )


def model_facts(
    config: Config, feature_shape: tuple[int, ...], num_classes: int
) -> tuple[ModelFacts, Floats | None]:
    """Returns the public facts of the model that a config names, and the trained weights that it begins at.

    None where these are zeros: no head from zero is made for its facts.

    Raises:
        ConfigurationError: if it cannot be built here.
    """
    blocks = asked_blocks(config)
    if blocks is not None:
        return answers_facts(Asked(blocks).dimension), None
    if config.model.name == LINEAR and config.model.begins is None:
        shape = config.data.model_shape(feature_shape)
        return linear_facts(shape, num_classes, config.data.several), None
    # torch takes longer to import than a plan to make
    from discreet.models import flatten
    from discreet.plan.public_model import made_model

    made, facts = made_model(config, feature_shape, num_classes)
    return facts, flatten(made)
