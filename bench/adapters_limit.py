"""What adapters and a head alone come to on medical abstracts without privacy: more is not to be had with it.

    DISCREET_DATA=... python bench/adapters_limit.py --model MODEL --cache FOLDER --seeds 3

The records, splits and layers of `adapters.py`, with all silos' records in one place. AdamW on batches of 32
trains a head, or a head and adapters. How many passes is chosen, as there, on a part of the first seed's
training records.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import minilm
from adapters import LAYERS, RANK, Abstracts, Part, abstracts, arguments, part, shown
from discreet.models.adapters import FineTuning
from discreet.models.public_weights import PublicWeights

BATCH = 32
PASSES = {"head alone": 40, "head and adapters": 8}
HEAD_RATE, ADAPTER_RATE = 0.01, 0.002


def network(found: Abstracts, way: str, seed: int) -> nn.Module:
    """Returns the network as it begins, with what a way trains set to be trained."""
    torch.manual_seed(seed)
    made = minilm.make((minilm.ROWS, minilm.WIDTH + 1), 5)
    adapted = tuple(LAYERS) if way == "head and adapters" else ()
    FineTuning(("head",), adapted, RANK, PublicWeights(str(found.weights), None)).apply(made)
    return made


def accuracies(found: Abstracts, of: Part, way: str) -> list[float]:
    """Trains once, and returns the accuracy in percent on the scored records after each pass."""
    tuned = network(found, way, of.seed)
    inputs, labels = torch.from_numpy(found.rows), torch.from_numpy(found.labels)
    if way == "head alone":
        with torch.no_grad():
            inputs = torch.cat([tuned.get_submodule("encoder")(some) for some in torch.split(inputs, 256)])
        tuned = tuned.get_submodule("head")
    moved: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    for name, parameter in tuned.named_parameters():
        if parameter.requires_grad:
            moved["up" in name].append(parameter)
    rates = [{"params": moved[False], "lr": HEAD_RATE}, {"params": moved[True], "lr": ADAPTER_RATE}]
    optimizer = torch.optim.AdamW(rates)
    reached = []
    for number in range(PASSES[way]):
        mixed = np.random.default_rng([of.seed, number]).permutation(of.train)
        for batch in np.array_split(mixed, len(mixed) // BATCH):
            optimizer.zero_grad()
            cross_entropy(tuned(inputs[batch]), labels[batch]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.no_grad():
            right = tuned(inputs[of.scored]).argmax(dim=1) == labels[of.scored]
        reached.append(100 * float(right.double().mean()))
    return reached


def main() -> None:
    """Prints the accuracy of both ways, and their difference."""
    stated = arguments(__doc__, seeds=3).parse_args()
    torch.set_num_threads(1)
    found = abstracts(Path(os.environ.get("DISCREET_DATA", "")), stated.model, stated.cache)
    parts = [part(len(found.labels), seed) for seed in range(1, 1 + stated.seeds)]
    means = {}
    for way in PASSES:
        passes = int(np.argmax(accuracies(found, parts[0].inner, way)))
        means[way] = [accuracies(found, of, way)[passes] for of in parts]
        print(f"without privacy, {way}, {passes + 1} passes: {shown(means[way])}", flush=True)
    head, both = means.values()
    print(f"difference {shown([a - b for a, b in zip(both, head, strict=True)])}")


if __name__ == "__main__":
    main()
