"""One Opacus step next to one plain step, for ``bench/training.py --peer-python``; needs torch and opacus.

Usage: ``PYTHON bench/opacus_step.py ROUNDS THREADS wall|cpu``; prints JSON of (milliseconds, ratio to plain).
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable

import torch
from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping
from opacus.optimizers import DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from torch import nn

BATCH, CLIP_NORM, RATE = 512, 1.0, 1e-3


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, 3), nn.Tanh(), nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, 2), nn.Tanh(), nn.MaxPool2d(2, 1),
        nn.Flatten(), nn.Linear(512, 32), nn.Tanh(), nn.Linear(32, 10),
    )  # fmt: skip


def steps() -> dict[str, Callable[[], None]]:
    features, labels = torch.rand(BATCH, 1, 28, 28), torch.randint(0, 10, (BATCH,))
    plain = network()
    optimiser = torch.optim.SGD(plain.parameters(), lr=RATE)

    def plain_step() -> None:
        optimiser.zero_grad()
        nn.functional.cross_entropy(plain(features), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    hooked = GradSampleModule(network())

    def hooks_step() -> None:
        hooked.zero_grad()
        nn.functional.cross_entropy(hooked(features), labels).backward()  # type: ignore[no-untyped-call]
        squared = [p.grad_sample.flatten(1).square().sum(1) for p in hooked.parameters()]
        norms = torch.stack(squared).sum(0).sqrt()
        factors = (CLIP_NORM / (norms + 1e-6)).clamp(max=1.0)
        with torch.no_grad():
            for p in hooked.parameters():
                p.sub_(torch.einsum("n,n...->...", factors, p.grad_sample), alpha=RATE / BATCH)
                p.grad_sample = None

    ghost = GradSampleModuleFastGradientClipping(network(), max_grad_norm=CLIP_NORM, use_ghost_clipping=True)
    ghost_optimiser = torch.optim.SGD(ghost.parameters(), lr=RATE)

    noiseless = DPOptimizerFastGradientClipping(
        ghost_optimiser, noise_multiplier=0.0, max_grad_norm=CLIP_NORM, expected_batch_size=BATCH
    )
    loss_of = DPLossFastGradientClipping(
        ghost, noiseless, nn.CrossEntropyLoss(reduction="mean"), loss_reduction="mean"
    )

    def ghost_step() -> None:
        noiseless.zero_grad()
        loss_of(ghost(features), labels).backward()
        noiseless.step()

    return {"plain SGD": plain_step, "Opacus hooks": hooks_step, "Opacus ghost": ghost_step}


def main() -> None:
    warnings.simplefilter("ignore")
    rounds, threads = int(sys.argv[1]), int(sys.argv[2])
    clock = time.process_time if sys.argv[3] == "cpu" else time.perf_counter
    torch.set_num_threads(threads)
    rows = steps()
    times: dict[str, list[float]] = {name: [] for name in rows}
    for step in rows.values():
        step()
    for _ in range(rounds):
        for name, step in rows.items():
            start = clock()
            step()
            times[name].append(clock() - start)
    base = times["plain SGD"]
    ratios = {
        n: sorted(a / b for a, b in zip(row, base, strict=True))[rounds // 2] for n, row in times.items()
    }
    print(json.dumps({n: (sorted(row)[rounds // 2] * 1e3, ratios[n]) for n, row in times.items()}))


if __name__ == "__main__":
    main()
