"""Measures on the machine at hand what `ROWS_ALIKE` assumes, on the planned model, in the shapes of training.

A proof has one record's contribution depend on no other record; kernels decide whether the program's does.
Rows are computed, moved to other places, and given other company; every number of a row must stay as it was,
to the bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.arrays import Float32s, Floats, Integers
from discreet.data.records import Records
from discreet.errors import HowTo, PrivacyRefusal
from discreet.kinds import (
    Flat,
    NoisySteps,
    QuantileClipped,
    Sharded,
    SiloTraining,
    SingleStep,
    TangentSteps,
)
from discreet.kinds.float_error import ROWS_ALIKE
from discreet.learning.clients import clients_at_once
from discreet.learning.clipping.clipped_sum import differentiation_of, prepare
from discreet.learning.clipping.dense import dense_chunk, dense_rows
from discreet.learning.clipping.linear import in_single_precision, linear_chunk, linear_rows
from discreet.learning.clipping.person_rows import widths
from discreet.learning.clipping.shapes import chunk_length, longest_chunk, persons_of_a_chunk
from discreet.learning.dense import is_dense
from discreet.learning.objective import Client, objective_for
from discreet.learning.tangent_model import linearise
from discreet.learning.tangent_steps import chunk_of
from discreet.learning.torch_state import device_of, draws_random_numbers
from discreet.models.convexity import convexity
from discreet.models.map_alike import strange
from discreet.models.parameters import flatten, load_flat
from discreet.models.threads import one_thread
from discreet.randomness import SeededRandom

Labels = npt.NDArray[np.int64]

_SHIFTS = (1, 5)
_WEIGHT_NOISE = 0.05  # linear heads begin at zero, where every logit is right
_MOST_SHARDS = 8


def require_rows_alike(
    trainings: Iterable[SiloTraining], model: nn.Module, feature_shape: tuple[int, ...]
) -> None:
    """Refuses a machine whose kernels let a record's numbers depend on its place or on other records.

    A measurement on random records, among huge, tiny and zero ones; it takes as long as a few chunks of
    training. Kinds that do not assume it are not measured.

    Args:
        trainings: of the silos on this machine.
        model: the planned one, where it will be trained; its weights stay as they are.
        feature_shape: of one record.

    Raises:
        PrivacyRefusal: if a number changes.
    """
    flat = len(feature_shape) == 1
    probes = dict.fromkeys(
        probe for training in trainings for probe in _probes(training, model, flat_records=flat)
    )
    weights, rng = flatten(model), np.random.default_rng(0)
    for probe in probes:
        parameters = weights + _WEIGHT_NOISE * rng.normal(size=len(weights))
        with one_thread():
            alike = _alike(probe, model, parameters, feature_shape)
        load_flat(model, weights)
        if not alike:
            on_cpu = device_of(model).type == "cpu"
            first = "Unset" if on_cpu else "Set 'speed.device' to 'cpu', unset"
            raise PrivacyRefusal(
                "A record's numbers must not depend on its place in a batch or on the other records, to the "
                f"bit; on this machine those of {type(model).__name__} do. {first} environment variables "
                "that change kernels, or use a linear model with stable-steps.",
                see=HowTo.LOCAL_KIND,
            )


class _Probe(Protocol):
    """One way in which training computes many rows at once."""

    @property
    def rows(self) -> int:
        """How many."""
        ...

    @property
    def records_per_row(self) -> int | None:
        """None if a row is a record."""
        ...

    def numbers(
        self, model: nn.Module, parameters: Floats, features: Float32s, labels: Labels
    ) -> list[torch.Tensor]:
        """Returns numbers of every row, each of shape ``(rows, ...)``."""
        ...


@dataclass(frozen=True, slots=True)
class _Clipped:
    """Clipped gradients of a network."""

    rows: int
    records_per_row: None = None

    def numbers(
        self, model: nn.Module, parameters: Floats, features: Float32s, labels: Labels
    ) -> list[torch.Tensor]:
        """Returns logits, losses, norms, and the pieces of the gradients."""
        device = _prepared(model, parameters, features)
        found = differentiation_of(model)(
            model, torch.from_numpy(features).to(device), torch.from_numpy(labels).to(device)
        )
        return [found.outputs, found.losses, found.norms_squared().T, *_tensors(list(found.pieces.values()))]


@dataclass(frozen=True, slots=True)
class _Dense:
    """Clipped gradients of a dense network."""

    rows: int
    records_per_row: None = None

    @torch.no_grad()
    def numbers(
        self, model: nn.Module, parameters: Floats, features: Float32s, labels: Labels
    ) -> list[torch.Tensor]:
        """Returns losses, norms, inputs and gradients of the layers, and what is usable."""
        if not is_dense(model, flat_records=features.ndim == 2):
            raise TypeError(f"Not a dense network: {type(model).__name__}.")
        load_flat(model, parameters)
        found = dense_rows(model, torch.from_numpy(features).flatten(1), torch.from_numpy(labels))
        return [found.losses, found.norms_squared.T, found.usable, *_tensors(found.layers)]


@dataclass(frozen=True, slots=True)
class _Tangent:
    """Tangents of a network."""

    rows: int
    records_per_row: None = None

    def numbers(
        self, model: nn.Module, parameters: Floats, features: Float32s, labels: Labels
    ) -> list[torch.Tensor]:
        """Returns logits, spreads, lengths, and the rows of the Jacobian."""
        del labels
        found = linearise(model, torch.from_numpy(features).to(_prepared(model, parameters, features)))
        return [found.logits, found.spread(), found.longest(), *_tensors(found.rows)]


@dataclass(frozen=True, slots=True)
class _Linear:
    """Clipped gradients of a linear head."""

    rows: int
    records_per_row: None = None

    def numbers(
        self, model: nn.Module, parameters: Floats, features: Float32s, labels: Labels
    ) -> list[torch.Tensor]:
        """Returns losses, residuals, norms and what is usable."""
        head = convexity(model)
        if head is None:
            raise TypeError(f"Not a linear head: {type(model).__name__}.")
        weights = in_single_precision(parameters).reshape(head.outputs, -1)
        flat = features.reshape(len(features), -1)
        found = linear_rows(head, weights, flat, flat.astype(np.float64), labels)
        return [*map(torch.from_numpy, (found.losses, found.residuals, found.norms, found.usable))]


@dataclass(frozen=True, slots=True)
class _Shards:
    """Gradients of shards that step together; a row is a shard's batch."""

    rows: int
    records_per_row: int

    def numbers(
        self, model: nn.Module, parameters: Floats, features: Float32s, labels: Labels
    ) -> list[torch.Tensor]:
        """Returns gradients and losses."""
        load_flat(model, parameters)
        clients = [
            Client(Records(own, marks), SeededRandom(0)) for own, marks in zip(features, labels, strict=True)
        ]
        batches = np.tile(np.arange(self.records_per_row), (len(clients), 1))
        with np.errstate(all="ignore"):
            gradients, losses = objective_for(model, clients).mean_gradients(
                np.tile(parameters, (len(clients), 1)), range(len(clients)), batches
            )
        return [torch.from_numpy(gradients), torch.from_numpy(losses)]


def _probes(training: SiloTraining, model: nn.Module, *, flat_records: bool) -> list[_Probe]:
    """Returns what ``training`` computes of many rows at once, in every shape; none if it assumes nothing."""
    match training:
        case QuantileClipped():
            return _probes(training.kind, model, flat_records=flat_records)
        case SingleStep() | NoisySteps():
            return _of_clipping(training, model, flat_records=flat_records)
        case TangentSteps():
            return [_Tangent(chunk_of(training))]
        case Sharded():
            together = min(_MOST_SHARDS, clients_at_once(len(flatten(model))))
            return [_Shards(together, training.local.batch_size)]
        case _ if ROWS_ALIKE in training.assumptions:
            raise TypeError(f"{type(training).__name__} must have a probe for what it assumes of rows")
        case _:
            return []


def _of_clipping(training: SingleStep | NoisySteps, model: nn.Module, *, flat_records: bool) -> list[_Probe]:
    if convexity(model) is not None and isinstance(training.style, Flat):
        return [_Linear(linear_chunk(training.expected))]
    if training.persons is None and is_dense(model, flat_records=flat_records):
        return [_Dense(dense_chunk(training.expected))]
    length = chunk_length(training.expected, longest_chunk(model))
    if training.persons is None:
        return [_Clipped(length)]
    # What is computed of a person's rows together is in float64, and never close to nothing.
    every = widths(training.persons.most_records)
    return [_Clipped(width * persons_of_a_chunk(length, width)) for width in every]


def _alike(probe: _Probe, model: nn.Module, parameters: Floats, feature_shape: tuple[int, ...]) -> bool:
    """Compares rows with themselves in other places, in other company and, if there may be fewer, in less."""
    rng, inner = np.random.default_rng(1), () if probe.records_per_row is None else (probe.records_per_row,)
    rows = rng.normal(size=(probe.rows, *inner, *feature_shape)).astype(np.float32)
    labels = rng.integers(0, 2, (probe.rows, *inner))

    def marks(order: Integers, others: Float32s) -> list[torch.Tensor]:
        found = probe.numbers(model, parameters, others, labels[order])
        return [_marks(numbers) for numbers in found]

    everywhere = np.arange(probe.rows)
    expected = marks(everywhere, rows)
    for shift in _SHIFTS:
        order = np.roll(everywhere, shift)
        found = marks(order, rows[order])
        if not all(torch.equal(one, other[order]) for one, other in zip(found, expected, strict=True)):
            return False
    for parity in (0, 1):
        kept = everywhere % 2 == parity
        company = rows.copy()
        company[~kept] = strange(company[~kept])
        found = marks(everywhere, company)
        if not all(torch.equal(one[kept], other[kept]) for one, other in zip(found, expected, strict=True)):
            return False
    if probe.records_per_row is None:
        return True
    alone = marks(everywhere[:1], rows[:1])
    return all(torch.equal(one, other[:1]) for one, other in zip(alone, expected, strict=True))


def _marks(numbers: torch.Tensor) -> torch.Tensor:
    """Returns the sum of the bit patterns of each row, ``(n,)``: a change of a last bit changes it."""
    flat = numbers.detach().flatten(1) if numbers.ndim > 1 else numbers.detach()[:, None]
    if flat.dtype.is_floating_point:
        flat = flat.contiguous().view({4: torch.int32, 8: torch.int64}[flat.element_size()])
    return flat.sum(dim=1, dtype=torch.int64).cpu()


def _tensors(values: Iterable[object]) -> list[torch.Tensor]:
    """Returns the tensors in dataclasses of tensors, however deep."""
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif is_dataclass(value):
            found += _tensors(getattr(value, field.name) for field in fields(value))
    return found


def _prepared(model: nn.Module, parameters: Floats, features: Float32s) -> torch.device:
    """Loads the parameters; a model that draws random numbers is measured as it is without them."""
    prepare(model, parameters)
    device = device_of(model)
    if draws_random_numbers(model, torch.zeros_like(torch.from_numpy(features[:1])).to(device)):
        model.eval()
    return device
