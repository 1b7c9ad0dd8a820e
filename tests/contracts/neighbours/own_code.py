"""What a user may bring: networks with kinks and ties, and a source of records that is a function."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import numpy as np
import torch
from torch import nn

from discreet.data import Federation, Records, Silo

SILOS = ("a", "b", "c")


def rectified(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """Dense, ReLU, dense: the derivative jumps where the first layer's outputs are zero."""
    size = math.prod(feature_shape)
    return nn.Sequential(nn.Flatten(), nn.Linear(size, 24), nn.ReLU(), nn.Linear(24, num_classes))


def narrow(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """As few outputs as leave rows unaligned in memory, where records have an odd number of features."""
    size = math.prod(feature_shape)
    return nn.Sequential(nn.Flatten(), nn.Linear(size, 10), nn.ReLU(), nn.Linear(10, num_classes))


def smooth(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """No kinks, but cancellation."""
    size = math.prod(feature_shape)
    return nn.Sequential(nn.Flatten(), nn.Linear(size, 12), nn.Tanh(), nn.Linear(12, num_classes))


def normalised(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """Batch norm, which mixes the records of a step."""
    size = math.prod(feature_shape)
    layers = nn.Linear(size, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, num_classes)
    return nn.Sequential(nn.Flatten(), *layers)


class Distance(nn.Module):
    """Two classes by the squared distance to the first of two weights, where the gradient turns round."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        far = (self.weight[:1] - features.flatten(1)[:, :1]).square()
        return torch.cat([torch.zeros_like(far), far], dim=1)


def distance(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """Records are compared by their first number."""
    return Distance()


def pooled(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """A convolution whose outputs tie in max-pooling on flat images, and a ReLU."""
    rows, columns = feature_shape
    return nn.Sequential(
        nn.Unflatten(1, (1, rows)),
        nn.Conv2d(1, 4, 3),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(4 * ((rows - 2) // 2) * ((columns - 2) // 2), num_classes),
    )


# Where `federation` reads; a test sets it, as a user's own function would know its database.
PATH = Path("unset.npz")


def federation(*, test_fraction: float, split_seed: int) -> Federation:
    """A function source that follows the rules for one: each record is looked at by itself."""
    with np.load(PATH) as archive:
        features, labels = archive["x"].astype(np.float64), archive["y"]
        names = archive["silo"] if "silo" in archive.files else np.full(len(labels), "a")
    features = np.clip(np.nan_to_num(features, nan=0.0), -1e6, 1e6).astype(np.float32)
    usable = (labels >= 0) & (labels < 3)
    held_out = np.array(
        [_coin(row.tobytes() + bytes([int(label) % 251]), split_seed) < test_fraction
         for row, label in zip(features, labels, strict=True)],
        dtype=bool,
    )  # fmt: skip
    silos = []
    for name in SILOS:
        own = usable & (names == name)
        train, test = (
            Records(features[own & part], labels[own & part].astype(np.int64))
            for part in (~held_out, held_out)
        )
        silos.append(Silo(name, train, test))
    return Federation("own", tuple(silos), num_classes=3, feature_shape=features.shape[1:])


def _coin(content: bytes, seed: int) -> float:
    digest = hashlib.blake2b(content, digest_size=8, key=seed.to_bytes(8, "big")).digest()
    return int.from_bytes(digest, "big") / 2**64
