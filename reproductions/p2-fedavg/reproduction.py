"""Optimal strategies for federated learning with local DP: its columns without privacy, plain FedAvg."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from discreet.config import Config, load_config
from discreet.data import Records
from discreet.engines.local import prepare
from local_dp import BATCHES, FEATURE_NORM, NETWORKS, scattered
from reproducing import Cell, Computed, Context, Deferred, Scale, changed

EPOCHS, RATE, MOMENTUM = 20, 0.3, 0.5
# Our notes have these cells of the columns, and no others.
PRINTED = (*((1, network) for network in NETWORKS), (20, "CNN+RL"), (20, "CNN+TS"))
FILES = {"MNIST": "mnist.npz"}
TRIED = {"CNN+RL": (50, 250), "CNN+TS": (20, 32, 50)}
DIGITS = {"linear": "logistic", "network": "mlp"}


@dataclass(frozen=True)
class FedAvg:
    """E epochs of SGD in batches of a fixed size, each round from the mean of all silos."""

    epochs: int
    batch: int

    def accuracy(self, config: Config, seed: int = 1) -> float:
        """Trains without clipping or noise; returns the per cent of test records that it gets right."""
        prepared = prepare(config)
        silos, test = prepared.federation.silos, prepared.federation.pooled_test()
        order = torch.Generator().manual_seed(seed)
        model = deepcopy(prepared.model)
        for _ in range(EPOCHS // self.epochs):
            trained = [self.silo(deepcopy(model), silo.train, order) for silo in silos]
            model.load_state_dict(
                {
                    key: torch.stack([one.state_dict()[key] for one in trained]).mean(0)
                    for key in model.state_dict()
                }
            )
        return right(model, test)

    def silo(self, model: nn.Module, records: Records, order: torch.Generator) -> nn.Module:
        """Trains a silo's copy of the model."""
        features, labels = tensors(records)
        optimiser = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
        for _ in range(self.epochs):
            for batch in torch.randperm(len(labels), generator=order).split(self.batch):
                optimiser.zero_grad()
                nn.functional.cross_entropy(model(features[batch]), labels[batch]).backward()
                optimiser.step()
        return model


def tensors(records: Records) -> tuple[torch.Tensor, torch.Tensor]:
    """Features and labels as torch has them."""
    return torch.from_numpy(np.asarray(records.features)), torch.from_numpy(np.asarray(records.labels)).long()


def right(model: nn.Module, records: Records) -> float:
    """Per cent of the records that the model gets right."""
    features, labels = tensors(records)
    with torch.no_grad():
        guesses = torch.cat([model(part).argmax(1) for part in features.split(1000)])
    return 100.0 * float((guesses == labels).double().mean())


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """Bundled digits at small scale; at full scale the cells of the paper that our notes have."""
    grid = context.folder.parent / "p2-grid"
    if context.scale is Scale.SMALL:
        config = load_config(grid / "digits.toml")
        for kind, model in DIGITS.items():
            for epochs in (1, EPOCHS):
                found = FedAvg(epochs, 45).accuracy(changed(config, {"model.name": model}))
                yield Computed(f"digits, ({epochs}, {EPOCHS // epochs}), {kind}", reproduced=found)
        return
    for data, file in FILES.items():
        for epochs, network in PRINTED:
            base = f"{data}, no privacy, ({epochs}, {EPOCHS // epochs}), {network}"
            for batch in (BATCHES[network], *TRIED.get(network, ())):
                name = base if batch == BATCHES[network] else f"{base}, batches of {batch}"
                yield context.from_file(name, file, partial(trained, name, context, epochs, network, batch))


def trained(  # noqa: PLR0917 - partially applied
    name: str, context: Context, epochs: int, network: str, batch: int, source: Path
) -> Computed:
    """One cell, under the hypotheses that its note names."""
    changes: dict[str, object] = {
        "data.source": f"npz:{scattered(source, context.cache) if 'SN' in network else source}",
        "model.name": NETWORKS[network],
    }
    if network == "SN+Lin":
        changes["data.feature_norm_bound"] = FEATURE_NORM
    config = changed(load_config(context.folder.parent / "p2-grid" / "silos.toml"), changes)
    inputs = "features normalised in groups" if "SN" in network else "images in [0, 1]"
    note = f"one seed; batches of {batch}, one start for all silos, {inputs}"
    return Computed(name, reproduced=FedAvg(epochs, batch).accuracy(config), note=note)
