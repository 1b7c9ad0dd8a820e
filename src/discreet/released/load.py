"""From a model file to a model: what it says of itself must follow from the plan in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt
from torch import nn

from discreet.arrays import Floats
from discreet.config.arguments import known_arguments
from discreet.data.record_map import RecordMap
from discreet.errors import ConfigurationError
from discreet.kinds.model_facts import names_own_code
from discreet.models import load_tensors, read_model_file
from discreet.own_code import require_leave
from discreet.plan import Plan
from discreet.plan.follows import unlike_its_config
from discreet.plan.public_model import public_model
from discreet.released.model import Model
from discreet.released.public_map import public_map
from discreet.rounds import Origin, parse_origin
from discreet.rounds.preparing import record_map


def build_network(
    plan: Plan, *, own_code: bool, released: Mapping[str, npt.NDArray[Any]] | None = None
) -> nn.Module:
    """Builds the model that a plan names, with its initial weights.

    Frozen weights from a file are taken from ``released``, the tensors of a released model, if that is given.

    Raises:
        ConfigurationError: if it is not bundled and ``own_code`` is false, or cannot be built here.
    """
    name = plan.model.name
    if not own_code and names_own_code(name):
        raise ConfigurationError(
            f"the model must be bundled, or be imported by your leave; the plan names {name!r}. "
            "Open it with own_code=True (--own-code) if you trust it."
        )
    return public_model(plan, None if plan.model.pretrained is None else released)


@known_arguments
def load_model(path: str | Path, *, own_code: bool = False, weights: str | Path | None = None) -> Model:
    """Loads a released model from its file alone; neither records nor the run's other files are needed.

    Its guarantees must be those that its plan gives, but that its plan was carried out is the file's own
    word: only `discreet.verify` works that out again, from the folder of the run.

    Args:
        path: a model file, or the folder of a finished run.
        own_code: import a model or a feature map that is not bundled, if the file names one.
        weights: the public weights of the network that made the features, if one did: the file that the plan
            names, by its hash. Without it such a model takes features, and no records.

    Raises:
        ConfigurationError: if it is no model file or was altered, its model cannot be built here, the
            public weights are others, or ``own_code`` is no bool.
    """
    require_leave(own_code, weights)
    path = Path(path)
    file = path / "model.safetensors" if path.is_dir() else path
    if not file.is_file():
        raise ConfigurationError(
            f"the model must be a file, or the folder of a finished run; there is no {file}."
        )
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"the model must be a readable file; {file}: {error.strerror}.") from None
    found = read_model_file(data, name=file.name)
    origin = parse_origin(found.about, name=file.name)
    _require_no_more_than_planned(origin, file.name)
    network = build_network(origin.plan, own_code=own_code, released=found.tensors)
    load_tensors(network, found, name=file.name)
    prepares = _map(origin.plan, found.prepared, file.name)
    maps = public_map(origin.plan, weights, own_code=own_code)
    return Model(origin, network.eval(), own_code, prepares, maps)


def _map(plan: Plan, announced: Floats | None, name: str) -> RecordMap | None:
    """Returns what prepares records, which a file may lack where the preparation was lost.

    Raises:
        ConfigurationError: if it is none of the plan's.
    """
    if announced is not None and plan.preparation is None:
        raise ConfigurationError(f"{name} must prepare records only where its plan does; it does.")
    try:
        return record_map(plan, announced)
    except ValueError as error:
        raise ConfigurationError(f"{name} must hold what prepares records; {error}.") from None


def _require_no_more_than_planned(origin: Origin, name: str) -> None:
    """Refuses a file that states a stronger guarantee than its plan gives: for all rounds, at least.

    Raises:
        ConfigurationError: naming the adversary.
    """
    difference = unlike_its_config(origin.plan)
    if difference is not None:
        raise ConfigurationError(
            f"{name} must hold a plan that follows from its config; {difference}. Take the file as made."
        )
    planned = {row.against: row for row in origin.plan.guarantees}
    stated = {row.against: row for row in origin.guarantees}
    if stated.keys() != planned.keys():
        raise ConfigurationError(
            f"{name} must state a guarantee for every adversary of its plan, and no more."
        )
    for against, row in stated.items():
        least = planned[against]
        same = (row.unit, row.neighboring, row.status) == (least.unit, least.neighboring, least.status)
        if not (same and row.epsilon >= least.epsilon and row.delta >= least.delta):
            raise ConfigurationError(
                f"{name} must state for {against} what its plan gives, "
                f"epsilon {least.epsilon} at delta {least.delta}, {least.status.value}; "
                f"it states {row.epsilon} at {row.delta}, {row.status.value}."
            )
