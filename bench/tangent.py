"""What a round of tangent-steps costs a record, against a plain SGD step, and how large records' spreads are.

    python bench/tangent.py --data-dir DIR

P1's network on Fashion-MNIST, one thread, processor time. The Frobenius norm is what clipping would have to
bound if softmax's blindness to a common shift of the logits were not used.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

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


def milliseconds(work: Callable[[], object], repetitions: int = 5) -> float:
    """Median processor time of one record."""
    work()
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e3 * float(np.median(times)) / RECORDS


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
    """Mean of the Jacobian's Frobenius norm, from Σ_{k,l}‖J_k - J_l‖² = 2K‖J‖² - 2‖Σ_k J_k‖²."""
    model = build_model(name, (28, 28), 10, seed=0)
    prepare(model, flatten(model))
    tangent = linearise(model, features)
    classes = tangent.logits.shape[1]
    squared = []
    for row in range(len(features)):
        common = tangent.of(slice(row, row + 1)).weighted_sum(torch.ones(1, classes, dtype=torch.float64))
        distances = sum(rows.of(slice(row, row + 1)).distances_squared().sum() for rows in tangent.rows)
        squared.append((float(distances) / 2.0 + float(common @ common)) / classes)
    return float(np.sqrt(squared).mean())


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
        plain = milliseconds(plain_epoch(name, records))
        print(f"  plain SGD {plain:.3f} ms a record")
        for steps in (16, 128):
            taken = milliseconds(tangent_round(name, records, steps))
            print(f"  tangent-steps, {steps} steps: {taken:.3f} ms a record, {taken / plain:.1f} times")
            keep(
                Row(
                    f"round of tangent-steps over plain SGD, `{name}`, {steps} steps", taken / plain, "×", 6.0
                )
            )


if __name__ == "__main__":
    main()
