"""The public facts of a real federation, from its config alone: nobody holds all records."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from discreet.config import Config
from discreet.data import PublicFacts
from discreet.data.columns import Categories, Column, Numeric
from discreet.engines.local.job import prepare
from discreet.errors import ConfigurationError
from discreet.models import build_model, flatten
from discreet.plan import FederationFacts, Plan, make_plan, model_digest

_DEFAULT_NORM_BOUND = 1.0


@dataclass(frozen=True, slots=True)
class _Shape:
    """What one record looks like, by public rules."""

    num_features: int
    num_classes: int
    norm_bound: float


def plan_without_data(config: Config) -> Plan:
    """Plans a training over tables that stay at their silos.

    The silos are the names in ``data.record_capacity``; features follow from ``data.ranges`` and
    ``data.categories``. A source that is not ``csv:``, or is transformed, must be public (bundled, or a
    sample made for planning) and is loaded here.

    Raises:
        ConfigurationError: if the config does not say enough.
        PrivacyRefusal: if no proven guarantee meets the target.
    """
    if not config.data.source.startswith("csv:") or config.data.transform is not None:
        return prepare(config).plan
    shape = _shape(config)
    capacity = config.data.record_capacity
    if not isinstance(capacity, dict):
        raise ConfigurationError(
            "'data.record_capacity' must name every silo with its public bound on records, "
            "as in { north = 500, south = 300, west = 400 }."
        )
    features = (shape.num_features,)
    model = build_model(config.model.name, features, shape.num_classes, seed=config.model.seed)
    return make_plan(config, _facts(tuple(sorted(capacity)), shape, model), model)


def _facts(silos: tuple[str, ...], shape: _Shape, model: nn.Module) -> FederationFacts:
    return FederationFacts(
        silos=silos,
        feature_shape=(shape.num_features,),
        num_classes=shape.num_classes,
        feature_norm_bound=shape.norm_bound,
        dimension=len(flatten(model)),
        model_digest=model_digest(model),
    )


def _shape(config: Config) -> _Shape:
    """Works the shape of a record out as `discreet.data.csv_source` will at every silo."""
    data = config.data
    columns: list[Column] = [Numeric(name, *limits) for name, limits in (data.ranges or {}).items()]
    columns += [Categories(name, tuple(values)) for name, values in (data.categories or {}).items()]
    if not columns or data.label is None:
        raise ConfigurationError(
            "'data.label' and at least one of 'data.ranges' and 'data.categories' must be given: "
            "features follow from public rules, not from anybody's records."
        )
    return _Shape(
        num_features=sum(len(column.names) for column in columns) + 1,
        num_classes=len(PublicFacts(num_classes=data.num_classes, classes=data.classes).class_texts()),
        norm_bound=_DEFAULT_NORM_BOUND if data.feature_norm_bound is None else data.feature_norm_bound,
    )
