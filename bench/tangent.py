"""What a round of tangent-steps costs a record, against a plain SGD step, and how large records' spreads are.

    python bench/tangent.py --data-dir DIR

P1's network on Fashion-MNIST, one thread, processor time, in turns; the median of ratios. The Frobenius norm
is what clipping would have to bound if softmax's blindness to a common shift of the logits were not used.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.func import functional_call, jacrev, vmap

from discreet.data.records import Records
from discreet.kinds import Softmax, TangentSteps
from discreet.learning import local_update
from discreet.learning.clipping.clipped_sum import prepare
from discreet.learning.tangent_model import linearise
from discreet.models import build_model, flatten
from discreet.randomness import SeededRandom
from rows import Row, keep

RECORDS, CHUNK, CLIP_NORM = 1024, 64, 16.0
MODELS = ("cnn-tanh", "cnn-tanh-standardised")


def images(folder: Path) -> Records:
    with np.load(folder / "fashion_mnist.npz") as arrays:
        features = arrays["x_train"][:RECORDS].astype(np.float32) / 255.0
        return Records(features, arrays["y_train"][:RECORDS].astype(np.int64))


def milliseconds(works: Sequence[Callable[[], object]], repetitions: int = 9) -> list[list[float]]:
    """Processor time of one record, of each work in each repetition; the works take turns."""
    for work in works:
        work()
    times: list[list[float]] = [[] for _ in works]
    for _ in range(repetitions):
        for work, taken in zip(works, times, strict=True):
            start = time.process_time()
            work()
            taken.append(1e3 * (time.process_time() - start) / RECORDS)
    return times


def plain_epoch(name: str, records: Records) -> Callable[[], None]:
    """SGD steps on batches of 512, in the layout that is fastest."""
    model = build_model(name, (28, 28), 10, seed=0)
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    features, labels = torch.from_numpy(records.features), torch.from_numpy(records.labels)
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)

    def work() -> None:
        for first in range(0, RECORDS, 512):
            part = slice(first, first + 512)
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(features[part]), labels[part]).backward()  # type: ignore[no-untyped-call]
            optimiser.step()

    return work


def tangent_round(name: str, records: Records, steps: int) -> Callable[[], object]:
    model = build_model(name, (28, 28), 10, seed=0)
    kind = TangentSteps(Softmax(10), CLIP_NORM, 1e-5, steps, RECORDS)
    return lambda: local_update(kind, model, flatten(model), records, SeededRandom(0))


def frobenius_norm(name: str, features: torch.Tensor) -> float:
    """Mean of the Jacobian's Frobenius norm."""
    model = build_model(name, (28, 28), 10, seed=0)
    weights = {key: value.detach() for key, value in model.named_parameters()}

    def logits(values: dict[str, torch.Tensor], one: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = functional_call(model, values, (one[None],))[0]
        return found

    parts = vmap(jacrev(logits), in_dims=(None, 0))(weights, features)
    squared = torch.stack([part.flatten(1).square().sum(dim=1) for part in parts.values()]).sum(dim=0)
    return float(squared.sqrt().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    records = images(parser.parse_args().data_dir)
    torch.set_num_threads(1)
    for name in MODELS:
        model = build_model(name, (28, 28), 10, seed=0)
        prepare(model, flatten(model))
        features = torch.from_numpy(records.features[:CHUNK])
        spread = float(linearise(model, features).spread().mean())
        print(f"{name}: spread {spread:.2f}, Frobenius norm {frobenius_norm(name, features):.2f}")
        steps = (16, 128)
        plain, *rounds = milliseconds(
            [plain_epoch(name, records), *(tangent_round(name, records, number) for number in steps)]
        )
        print(f"  plain SGD {np.median(plain):.3f} ms a record")
        for number, taken in zip(steps, rounds, strict=True):
            ratio = float(np.median(np.divide(taken, plain)))
            print(f"  tangent-steps, {number} steps: {np.median(taken):.3f} ms a record, {ratio:.1f} times")
            what = f"round of tangent-steps over plain SGD, `{name}`, {number} steps"
            keep(Row(what, ratio, "×", 6.0))


if __name__ == "__main__":
    main()
