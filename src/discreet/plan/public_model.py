"""The public model that a plan names: the one part of a plan that takes torch, and may take a user's code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy.typing as npt
import torch
from torch import nn

from discreet.config import Config
from discreet.errors import ConfigurationError
from discreet.kinds import Asked
from discreet.kinds.model_facts import LINEAR_HEADS, ModelFacts, answers_facts
from discreet.models import Answers, build_model, count_weights, described, flatten
from discreet.models.adapters import FineTuning
from discreet.models.build import BUNDLED
from discreet.models.head_start import HeadStart
from discreet.models.public_weights import PublicWeights
from discreet.plan.asked import asked_blocks
from discreet.plan.plan import Plan
from discreet.plan.start import require_start


def made_model(
    config: Config,
    feature_shape: tuple[int, ...],
    num_classes: int,
    stated: int | None = None,
    released: Mapping[str, npt.NDArray[Any]] | None = None,
) -> tuple[nn.Module, ModelFacts]:
    """Builds the public model that a config names, with its initial weights; imports what it names.

    Where questions are asked, it is what holds their sums. A bundled model that has not as many weights as a
    plan has ``stated`` is never made: a plan of a few bytes may name one of any size.

    Args:
        config: what is asked for.
        feature_shape: of a record as it is read.
        num_classes: number of label values.
        stated: weights that a plan names; None compares none.
        released: tensors of a released model, which are taken in place of those of the file of public
            weights: frozen ones, or a linear head's. All else follows from the seed, and the digest of what
            is returned says whether it does.

    Raises:
        ConfigurationError: if it cannot be built here.
    """
    blocks = asked_blocks(config)
    if blocks is None:
        shape = config.data.model_shape(feature_shape)
        name = config.model.name
        weights = None if stated is None else count_weights(name, shape, num_classes, config.data.several)
        if weights not in {None, stated}:
            raise ConfigurationError(
                f"'facts.dimension' must be the weights of {name!r} for these features, {weights}; the plan "
                f"names {stated}. Plan again."
            )
        made = build_model(
            name,
            shape,
            num_classes,
            seed=config.model.seed,
            mixes_records=config.training.local.clips_whole_update,
            labels=config.data.several,
            tuning=_tuning(config, released),
        )
        trained = [name for name, weight in made.named_parameters() if weight.requires_grad]
        config.training.local.require_layers(len({name.rpartition(".")[0] for name in trained}))
        return made, described(made, shape)
    dimension = Asked(blocks).dimension
    return Answers(dimension), answers_facts(dimension)


def _tuning(config: Config, released: Mapping[str, npt.NDArray[Any]] | None) -> FineTuning | HeadStart | None:
    """Returns what of a model is trained, or where its head begins; None where the factory says both."""
    model = config.model
    weights, adapters = _weights(config, released), model.adapters
    if weights is not None and model.begins is not None:
        return HeadStart(weights)
    if model.trained is None and adapters is None:
        return None
    return FineTuning(
        model.trained or (),
        adapters.layers if adapters is not None else (),
        adapters.rank if adapters is not None else 1,
        weights,
    )


def _weights(
    config: Config, released: Mapping[str, npt.NDArray[Any]] | None
) -> PublicWeights | Mapping[str, torch.Tensor] | None:
    """Returns the public weights that a model names: its file, or what a released model has in its place."""
    stated = config.model.pretrained
    if stated is None or stated.file is None:
        return None
    if released is None:
        return PublicWeights(stated.file, stated.sha256)
    # With several labels the network is a part of what is released.
    wrapped = "network." if config.data.several else ""
    return {name.removeprefix(wrapped): torch.from_numpy(one) for name, one in released.items()}


def public_model(plan: Plan, released: Mapping[str, npt.NDArray[Any]] | None = None) -> nn.Module:
    """Builds the public model, with its initial weights; imports what the config names.

    Args:
        plan: what was agreed.
        released: tensors of a released model: public weights are taken from there, and no file is opened. A
            linear head has its released weights then, and whether the plan's digest is that of the weights
            that it began at is not compared.

    Raises:
        ConfigurationError: if it cannot be built here, is another one than was planned for, or begins at
            weights that no silo trains from.
    """
    model, facts = plan.model, plan.facts
    if model.name in BUNDLED and facts.linear != (model.name in LINEAR_HEADS):
        raise ConfigurationError(
            f"'facts.linear' must be {model.name in LINEAR_HEADS} for {model.name!r}; the plan names "
            f"{facts.linear}. Plan again."
        )
    made, built = made_model(plan.config, facts.feature_shape, facts.num_classes, facts.dimension, released)
    moved = released is not None and model.begins is not None
    for field in fields(ModelFacts):
        if moved and field.name == "model_digest":
            continue
        planned, here = getattr(facts.model, field.name), getattr(built, field.name)
        if planned != here:
            raise ConfigurationError(
                f"'facts.{field.name}' must be that of the model built here, {_shown(here)}; "
                f"the plan names {_shown(planned)}. Install the versions that planned it, let a factory "
                "depend on its arguments alone, or plan again."
            )
    if released is None and plan.config.ask is None:
        require_start(plan, flatten(made))
    return made


def _shown(value: object) -> str:
    return f"{value[:12]}…" if isinstance(value, str) else str(value)
