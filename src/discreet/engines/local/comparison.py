"""The federation's gain: the same model without privacy, pooled and alone. Never private, never released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from discreet.arrays import Floats
from discreet.data import Federation, Records
from discreet.engines.local.measure import measure
from discreet.learning.losses import number_losses, record_losses
from discreet.learning.torch_state import on_device_of
from discreet.models import flatten, load_flat

_STEPS = 200
_L2 = 1e-3


@dataclass(frozen=True, slots=True)
class Comparison:
    """Measurements on all held-out records of models that nobody may publish.

    Attributes:
        pooled: one model on every silo's training records together, no noise.
        alone: for each silo, a model on its own training records only, no noise.
    """

    pooled: dict[str, float]
    alone: dict[str, dict[str, float]]

    def to_json(self) -> dict[str, Any]:
        """Returns the comparison as plain JSON, with its warning."""
        return {"note": "not private, not released", "pooled": self.pooled, "alone": self.alone}


def compare(model: nn.Module, federation: Federation, initial: Floats) -> Comparison | None:
    """Trains without privacy, pooled and in each silo alone, from the weights that the training began at.

    A silo without records stays at these weights. Where no record is held out nothing can be compared.

    Args:
        model: the architecture; scratch space, which has the released weights after a training.
        federation: the records.
        initial: weights before the first round, shape ``(d,)``.
    """
    if not any(len(silo.test) for silo in federation.silos):
        return None
    return Comparison(
        pooled=_fit_and_measure(model, federation, federation.pooled_train(), initial),
        alone={
            silo.name: _fit_and_measure(model, federation, silo.train, initial) for silo in federation.silos
        },
    )


def _fit_and_measure(
    model: nn.Module, federation: Federation, records: Records, initial: Floats
) -> dict[str, float]:
    load_flat(model, initial)
    if len(records):
        _fit(model, records, record_losses if federation.outcome is None else number_losses)
    return measure(model, federation, flatten(model))


def _fit(
    model: nn.Module, records: Records, losses: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> None:
    """Minimises the mean of ``losses`` plus a little L2 by full-batch L-BFGS."""
    features, labels = on_device_of(model, records)
    optimiser = torch.optim.LBFGS(model.parameters(), max_iter=_STEPS, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        penalty = sum(
            (weight.square().sum() for weight in model.parameters()), torch.zeros((), device=features.device)
        )
        loss = losses(model(features), labels).mean() + 0.5 * _L2 * penalty
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimiser.step(closure)  # type: ignore[no-untyped-call]
