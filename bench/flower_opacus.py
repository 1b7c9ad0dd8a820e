"""The peer of ``bench/federation.py``: the same training with Flower's simulation engine and Opacus.

Usage: ``PYTHON bench/flower_opacus.py SETTINGS.json`` in an environment with flwr[simulation] and opacus.
Prints JSON: seconds until the first round began, and the seconds of every round. Local DP-SGD with Opacus's
per-record gradients and Poisson batches; Flower averages plain float weights: no secure aggregation, no
integers, no ledger. A silo keeps its records, and nothing is measured, as on our side.
"""

from __future__ import annotations

import functools
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

client_app = ClientApp()


def network() -> nn.Module:
    """P1's network: 26,010 weights."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, 3), nn.Tanh(), nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, 2), nn.Tanh(), nn.MaxPool2d(2, 1),
        nn.Flatten(), nn.Linear(512, 32), nn.Tanh(), nn.Linear(32, 10),
    )  # fmt: skip


@functools.cache
def records(path: str, silo: int, count: int) -> TensorDataset:
    """One silo's images; kept by the process that loaded them."""
    with np.load(path) as arrays:
        rows = slice(silo * count, (silo + 1) * count)
        images = torch.from_numpy(arrays["x_train"][rows].astype(np.float32) / 255.0)
        return TensorDataset(images[:, None], torch.from_numpy(arrays["y_train"][rows].astype(np.int64)))


@client_app.train()  # type: ignore[untyped-decorator]
def train(message: Message, context: Context) -> Message:
    """One silo's local DP-SGD."""
    warnings.simplefilter("ignore")
    settings = dict(message.content["config"])
    model = network()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    data = records(settings["path"], int(context.node_config["partition-id"]), settings["records"])
    optimiser = torch.optim.SGD(model.parameters(), lr=settings["learning_rate"])
    loader = DataLoader(data, batch_size=settings["batch"])
    private, optimiser, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=optimiser,
        data_loader=loader,
        noise_multiplier=settings["noise_multiplier"],
        max_grad_norm=settings["clip_norm"],
    )
    for step, (images, labels) in enumerate(loader):
        if step == settings["steps"]:
            break
        optimiser.zero_grad()
        nn.functional.cross_entropy(private(images), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    content = RecordDict(
        {
            "arrays": ArrayRecord(private._module.state_dict()),
            "metrics": MetricRecord({"num-examples": len(data)}),
        }
    )
    return Message(content=content, reply_to=message)


class TimedAverage(FedAvg):  # type: ignore[misc]
    """Federated averaging that notes when each round begins and ends."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.began: list[float] = []
        self.ended: list[float] = []

    def configure_train(self, *arguments: Any, **keywords: Any) -> Any:
        """Begins a round."""
        self.began.append(time.monotonic())
        return super().configure_train(*arguments, **keywords)

    def aggregate_train(self, *arguments: Any, **keywords: Any) -> Any:
        """Ends a round."""
        found = super().aggregate_train(*arguments, **keywords)
        self.ended.append(time.monotonic())
        return found


def main() -> None:
    started = time.monotonic()
    settings: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
    strategy = TimedAverage(fraction_evaluate=0.0, min_available_nodes=settings["silos"])
    server_app = ServerApp()

    @server_app.main()  # type: ignore[untyped-decorator]
    def serve(grid: Grid, context: Context) -> None:  # noqa: ARG001 - Flower's signature
        strategy.start(
            grid=grid,
            initial_arrays=ArrayRecord(network().state_dict()),
            num_rounds=settings["rounds"],
            train_config=ConfigRecord(settings["training"]),
        )

    # by name, so that Ray's processes import the module and keep their records between rounds
    from flower_opacus import client_app as shared_app

    run_simulation(
        server_app=server_app,
        client_app=shared_app,
        num_supernodes=settings["silos"],
        backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0.0}},
    )
    seconds = [end - begin for begin, end in zip(strategy.began, strategy.ended, strict=True)]
    print(json.dumps({"start": strategy.began[0] - started, "rounds": seconds}))


if __name__ == "__main__":
    main()
