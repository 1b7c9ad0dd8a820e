"""Data source and network for configs: every speaking role of Shakespeare is a client."""

from __future__ import annotations

import csv
import gzip
import os
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.data import Federation, Records, Silo
from discreet.randomness import SeededRandom

FILE = "shakespeare_roles.csv.gz"
# A public alphabet, not the characters that occur; 0 stands for every other character.
ALPHABET = "\n !\"&'(),-.:;?[]" + "abcdefghijklmnopqrstuvwxyz" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CLASSES = len(ALPHABET) + 1
_LEAST_SAMPLES = 64


def roles(clients: int, window: int, samples: int, *, test_fraction: float, split_seed: int) -> Federation:
    """Returns the ``clients`` first roles, in an order drawn by ``split_seed``, with enough to say.

    Args:
        clients: how many roles take part; each holds at least 64 windows.
        window: characters that are seen before the one to be guessed.
        samples: windows that a role holds at most, drawn from its text.
        test_fraction: share of a role's windows that is held out.
        split_seed: public seed of both draws.
    """
    randomness = SeededRandom(split_seed)
    texts = {name: text for name, text in speeches().items() if len(text) >= window + _LEAST_SAMPLES}
    names = sorted(texts)
    chosen = [names[place] for place in randomness.derive("roles").permutation(len(names))[:clients]]
    held_out = round(test_fraction * samples)
    silos = []
    for name in chosen:
        records = windows(texts[name], window, samples + held_out, randomness.derive("windows", name))
        cut = len(records) * samples // (samples + held_out)
        silos.append(
            Silo(name, train=records.take(np.arange(cut)), test=records.take(np.arange(cut, len(records))))
        )
    return Federation("speaking roles", tuple(silos), num_classes=CLASSES, feature_shape=(window,))


def speeches() -> dict[str, npt.NDArray[np.int64]]:
    """Returns all that each role says in its play, as numbers of characters."""
    code = {ord(character): number + 1 for number, character in enumerate(ALPHABET)}
    spoken: dict[str, list[str]] = {}
    with gzip.open(Path(os.environ["DISCREET_DATA"]) / FILE, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            spoken.setdefault(f"{row['play_id']}: {row['role']}", []).append(row["text"])
    return {
        role: np.array([code.get(ord(character), 0) for character in "\n".join(texts)], dtype=np.int64)
        for role, texts in spoken.items()
    }


def windows(text: npt.NDArray[np.int64], length: int, count: int, randomness: SeededRandom) -> Records:
    """Returns up to ``count`` windows of a text and the character after each, drawn without replacement."""
    starts = randomness.permutation(len(text) - length)[:count]
    places = starts[:, None] + np.arange(length)
    return Records(text[places].astype(np.float32), text[starts + length])


def small_lstm(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:  # noqa: ARG001
    """The paper's network with one layer of 32 units in place of two of 256: about 8,000 weights."""
    return SmallLstm(num_classes)


class SmallLstm(nn.Module):
    """An embedding of 8, one LSTM layer of 32."""

    def __init__(self, num_characters: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_characters, 8)
        self.lstm = nn.LSTM(8, 32, batch_first=True)
        self.head = nn.Linear(32, num_characters)

    def forward(self, windows: torch.Tensor) -> torch.Tensor:
        """Returns logits of the next character; ``windows`` has shape ``(n, length)``."""
        states, _ = self.lstm(self.embedding(windows.long()))
        logits: torch.Tensor = self.head(states[:, -1])
        return logits


few = partial(roles, 100, 20, 50)
most = partial(roles, 975, 20, 50)
paper = partial(roles, 975, 80, 500)
