"""Planning from public facts alone: what a program or a consortium may know before anybody opens a record."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from discreet.config import Config, parse_config
from discreet.config.arguments import known_arguments, known_fields
from discreet.config.data import DataConfig, counted_unit
from discreet.config.federation import public_facts, table_shape
from discreet.data import IN_MEMORY, Federation, Records, Silo
from discreet.data.map_answers import MapAnswers
from discreet.data.split import OTHERS
from discreet.data.table_files import of_tables
from discreet.errors import ConfigurationError
from discreet.kinds.model_facts import LINEAR, LINEAR_HEADS
from discreet.plan import Plan, federation_facts
from discreet.plan.over_records import model_facts, plan_from, plan_over_records
from discreet.session.own_model import importable_name

# Every number is left to the plan, which works it out from public ones.
_UNTUNED = {"kind": "stable-steps"}


def _is_between(given: object, below: float) -> bool:
    return not isinstance(given, bool) and isinstance(given, Real) and 0.0 < float(given) < below


_Unit = Literal["record", "person", "client"]
_Against = Literal["members", "outsiders"]
_UNITS, _AGAINST = get_args(_Unit), get_args(_Against)


@known_fields
@dataclass(frozen=True, slots=True)
class Target:
    """What must be guaranteed against the strongest adversary of a plan.

    Attributes:
        epsilon: the target ε.
        delta: the target δ; far below one in the number of units.
        unit: whom it protects: each record, each person, or each client with all of its records.
        against: ``members`` counts another silo, which knows its own noise, among the adversaries.
    """

    epsilon: float
    delta: float = 1e-5
    unit: _Unit = "record"
    against: _Against = "members"

    def __post_init__(self) -> None:
        for name, value, below in (("epsilon", self.epsilon, math.inf), ("delta", self.delta, 1.0)):
            if not _is_between(value, below):
                most = "" if below == math.inf else f" and below {below:g}"
                raise ConfigurationError(
                    f"the target's {name} must be a number above 0{most}; got {value!r}."
                )
        for name, allowed in (("unit", _UNITS), ("against", _AGAINST)):
            if (given := getattr(self, name)) not in allowed:
                raise ConfigurationError(
                    f"the target's {name} must be one of {', '.join(allowed)}; got {given!r}."
                )

    def require_unit_of(self, data: DataConfig) -> None:
        """Refuses a target whose unit is not the one that the records are told apart by.

        Raises:
            ConfigurationError: if a person is protected and nothing says whose a record is, or the reverse.
        """
        if data.person is not None and self.unit != "person":
            raise ConfigurationError(
                "the target's unit must be 'person' where the records are given with person=...; got "
                f"{self.unit!r}. Give Target(..., unit='person'), or leave person out."
            )
        if data.person is None and self.unit == "person":
            raise ConfigurationError(
                "person=... must be given with the records where the target's unit is 'person'; got none. "
                "Give Frames(..., person={'column': ..., 'most_records': ...}), or another unit in Target."
            )

    def stated(self) -> dict[str, Any]:
        """Returns it as keys of the config's table ``privacy``."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "unit": self.unit,
            "against": self.against,
        }

    def with_keys(self, privacy: Mapping[str, Any] | None) -> dict[str, Any]:
        """Returns the config's table ``privacy``, of further keys too.

        Raises:
            ConfigurationError: if ``privacy`` is no table, or states the target again.
        """
        require_table("privacy", privacy, {"clip_norm": 1.0})
        stated, further = self.stated(), dict(privacy or {})
        for name in stated.keys() & further.keys():
            raise ConfigurationError(
                f"{name!r} must be stated in the target alone, which says {stated[name]!r}; got "
                f"{further[name]!r} in privacy."
            )
        return stated | further


@known_fields
@dataclass(frozen=True, slots=True)
class Loss:
    """A loss of your own, with constants that you state; they are tried on random logits before training.

    Attributes:
        function: takes logits, shape ``(n, outputs)``, and classes, shape ``(n,)``; returns losses, ``(n,)``,
            and their gradients by the logits, ``(n, outputs)``, each row by itself. One output for two
            classes. It must be convex in the logits.
        residual_norm: bound on the L2 norm of a gradient; noise is proportional to it.
        curvature: the most that a gradient moves for each unit that the logits move.
    """

    function: Callable[..., Any] | str
    residual_norm: float
    curvature: float

    def stated(self) -> dict[str, Any]:
        """Returns the config's table ``model.loss``.

        Raises:
            ConfigurationError: if the function cannot be imported by its name.
        """
        own = self.function
        named = (
            own if isinstance(own, str) else importable_name(own, "loss", "a function of logits and labels")
        )
        return {"function": named, "residual_norm": self.residual_norm, "curvature": self.curvature}


@known_arguments
def plan_training(
    data: DataConfig,
    *,
    target: Target,
    model: str | Callable[..., Any] = LINEAR,
    loss: Loss | None = None,
    pretrained: Mapping[str, str | Path] | None = None,
    rounds: int | Literal["auto"] | None = None,
    local: Mapping[str, Any] | None = None,
    server: Mapping[str, Any] | None = None,
    sampling: Mapping[str, Any] | None = None,
    schedule: Mapping[str, Any] | None = None,
    segments: Sequence[Mapping[str, Any]] | None = None,
    silos: Mapping[str, Mapping[str, Any]] | None = None,
    aggregation: Mapping[str, Any] | None = None,
    privacy: Mapping[str, Any] | None = None,
    evaluate: Mapping[str, Any] | None = None,
    standardise: Mapping[str, Any] | None = None,
    centre: Mapping[str, Any] | None = None,
    project: Mapping[str, Any] | None = None,
    name: str = "training",
) -> Plan:
    """Works out noise, grid and every guarantee from public facts; no record is opened.

    Args:
        data: what is publicly known of the records, as of `Frames.public` or `Arrays.public`.
        target: what must be guaranteed.
        model: a bundled name; or for one of your own ``module:factory``, or the factory itself: a function of
            ``(feature_shape, num_classes)``, or a class of module with these arguments. The plan keeps its
            name, by which workers and later programs import it. One of ``__main__``, that is of a script or a
            notebook, is found in its own process alone, and all silos train there.
        loss: a loss of your own for a linear model under stable-steps, with its constants.
        pretrained: the config's table ``model.pretrained``: the file of public weights that a linear model
            begins at, such as `discreet.head_of_texts` makes, with its hash, source and licence.
        rounds: how many sums are released; left out, 10, or what the plan works out where ``local`` is left
            to it, or as many as ``segments`` have.
        local: the config's table ``training.local``; needed for a model that is not linear. Left out, it is
            stable-steps with every number worked out by the plan from public ones.
        server: the config's table ``training.server``.
        sampling: the config's table ``training.sampling``.
        schedule: the config's table ``training.schedule``: sums that do not wait for every silo.
        segments: the config's tables ``training.segments``, in order: rounds with settings of their own, such
            as ``[{"rounds": 3, "noise_scale": 2.0}, {"rounds": 2}]``.
        silos: the config's tables ``silos``, by name: settings of single silos in place of everybody's, such
            as ``{"north": {"sampling": {"kind": "poisson", "probability": 0.5}}}``.
        aggregation: the config's table ``aggregation``; left out where ``schedule`` is local.
        privacy: further keys of the config's table ``privacy``, such as ``clip_norm``.
        evaluate: the config's table ``evaluate``, such as ``{"every": 5, "epsilon": 0.2}``: between rounds,
            held-out records are asked how good the model is, under the guarantee; `Run.evaluations` has it.
        standardise: the config's key ``data.standardise``, such as ``{"kind": "private", "share": 0.1}``:
            numbers are centred and scaled by what one release before the first round says of them.
        centre: the config's key ``data.centre``, such as ``{"kind": "private"}``: whole records are centred
            by their mean, which one release before the first round says.
        project: the config's key ``data.project``, such as ``{"kind": "private-pca", "components": 32}``:
            records are projected onto the directions that one release before the first round shows.
        name: what to call the training in its report.

    Raises:
        ConfigurationError: if something does not fit together; the message names the key.
        PrivacyRefusal: if no proven guarantee meets the target.
    """
    require_planned_for(data, target)
    if not isinstance(loss, Loss | None):
        raise ConfigurationError(
            f"loss must be a Loss, with a function and its constants, or left out; got {loss!r}."
        )
    require_table("local", local, _UNTUNED)
    require_table("pretrained", pretrained, {"file": "start.safetensors", "sha256": "…"})
    require_table("standardise", standardise, {"kind": "private"})
    require_table("centre", centre, {"kind": "private"})
    require_table("project", project, {"kind": "private-pca", "components": 32})
    named = (
        model
        if isinstance(model, str)
        else importable_name(
            model, "model", "a function of (feature_shape, num_classes), or a class of module,"
        )
    )
    if local is None and named not in LINEAR_HEADS:
        raise ConfigurationError(
            f"'local' must say how a silo trains a model that is not {LINEAR!r}; got none for {named!r}. "
            'Give, for example, local={"kind": "single-step"} and privacy={"clip_norm": 1.0}.'
        )
    by_itself = "auto" if _untuned(local) or segments is not None else 10
    training = _stated(server=server, sampling=sampling, schedule=schedule, segments=segments) | {
        "rounds": by_itself if rounds is None else rounds,
        "local": _UNTUNED if local is None else local,
    }
    tables = {
        "name": name,
        "data": data.model_dump(exclude_none=True)
        | _stated(standardise=standardise, centre=centre, project=project),
        "model": {"name": named} | _stated(loss=loss and loss.stated(), pretrained=_texts(pretrained)),
        "training": training,
        "privacy": target.with_keys(privacy),
        **_stated(silos=silos, aggregation=aggregation, evaluate=evaluate),
    }
    return plan_without_data(parse_config(tables, source="the plan's settings"))


def require_planned_for(data: object, target: object) -> None:
    """Refuses what is no public knowledge or no target, and a target of another unit than the records have.

    Raises:
        ConfigurationError: naming what to give in its place.
    """
    if not isinstance(data, DataConfig):
        raise ConfigurationError(
            "data must be what is publicly known of the records, as public(capacity=...) of Frames or Arrays "
            f"returns it; got {type(data).__name__}."
        )
    if not isinstance(target, Target):
        raise ConfigurationError(f"target must be a Target, such as Target(epsilon=1.0); got {target!r}.")
    target.require_unit_of(data)


def require_table(name: str, given: object, example: Mapping[str, Any]) -> None:
    """Refuses what is read here and is no table; the config refuses the others."""
    if not (given is None or isinstance(given, Mapping)):
        raise ConfigurationError(f"{name!r} must be a table, such as {dict(example)}; got {given!r}.")


def _stated(**tables: Any) -> dict[str, Any]:
    """Returns those that are not left out."""
    return {name: table for name, table in tables.items() if table is not None}


def _texts(table: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Returns a table with paths as a config has them."""
    if table is None:
        return None
    return {key: str(given) if isinstance(given, Path) else given for key, given in table.items()}


def _untuned(local: Mapping[str, Any] | None) -> bool:
    """Says whether the plan works the numbers of ``training.local`` out."""
    stated = local or _UNTUNED
    return stated.get("kind") == "stable-steps" and stated.get("learning_rate", "auto") == "auto"


@dataclass(frozen=True, slots=True)
class _Shape:
    """What one record looks like, by public rules."""

    features: tuple[int, ...]
    num_classes: int
    norm_bound: float | None
    map_answers: MapAnswers | None = None


def plan_without_data(config: Config) -> Plan:
    """Plans a training over tables or arrays that stay at their silos.

    The silos are the names in ``data.record_capacity``, or ``data.person.capacity``; features follow from
    ``data.ranges``, ``data.dates`` and ``data.categories``, or from ``data.feature_shape``. Any other source,
    and a file that is transformed, must be public (bundled, or a sample for planning) and is loaded here.

    Raises:
        ConfigurationError: if the config does not say enough.
        PrivacyRefusal: if no proven guarantee meets the target.
    """
    source = config.data.source
    if not (source == IN_MEMORY or (of_tables(source) and config.data.transform is None)):
        return plan_over_records(config).plan
    shape = _shape(config)
    data = config.data
    capacity = data.unit_capacity
    if not isinstance(capacity, dict) or OTHERS in capacity:
        counted = counted_unit(config.data)
        key = "data.record_capacity" if config.data.person is None else "data.person.capacity"
        raise ConfigurationError(
            f"'{key}' must name every silo with its public bound on {counted}s, "
            f"as in {{ north = 500, south = 300, west = 400 }}; got {capacity}."
        )
    model, start = model_facts(config, shape.features, shape.num_classes)
    facts = federation_facts(
        tuple(sorted(capacity)),
        feature_shape=shape.features,
        num_classes=shape.num_classes,
        feature_norm_bound=shape.norm_bound,
        model=model,
        map_answers=shape.map_answers,
    )
    return plan_from(config, facts, start)


def _shape(config: Config) -> _Shape:
    """Works the shape of a record out as what reads it will at every silo."""
    data, facts = config.data, public_facts(config.data)
    arrays = facts.array_facts()
    if arrays is not None and data.transform is not None:
        from discreet.models.transforms import transformed  # torch, which planning over tables does without

        empty = _no_records(arrays.shape, arrays.num_classes)
        made = transformed(empty, data.transform, data.feature_norm_bound)
        return _Shape(made.feature_shape, made.num_classes, made.feature_norm_bound, made.map_answers)
    if arrays is not None:
        return _Shape(arrays.shape, arrays.num_classes, arrays.feature_norm_bound)
    table = table_shape(data)
    if table is None:
        raise ConfigurationError(
            "'data.label' and at least one of 'data.ranges', 'data.dates' and 'data.categories' must be "
            "given: features follow from public rules, not from anybody's records."
        )
    return _Shape(
        features=(table[0],),
        num_classes=table[1],
        norm_bound=facts.norm_bound(),
    )


def _no_records(shape: tuple[int, ...], num_classes: int) -> Federation:
    """Returns a federation that holds nothing, on which a feature map shows the shape that it makes."""
    none = Records(np.zeros((0, *shape), dtype=np.float32), np.zeros(0, dtype=np.int64))
    return Federation("no records", (Silo("nobody", none, none),), num_classes, shape)
