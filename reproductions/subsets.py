"""Files that configs can name, made from the data sets: smaller ones, and ones in another form."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from discreet.randomness import SeededRandom


def images(source: Path, folder: Path, every: int, train: int | None = None) -> Path:
    """Writes every ``every``-th image of both parts of ``source``, of those at most ``train`` to train on."""
    with np.load(source, allow_pickle=False) as arrays:
        kept = {name: arrays[name][::every] for name in ("x_train", "y_train", "x_test", "y_test")}
    kept |= {name: kept[name][:train] for name in ("x_train", "y_train")}
    path = folder / f"subset-{source.name}"
    np.savez(path, **kept)
    return path


def scattered_images(source: Path, folder: Path, every: int) -> Path:
    """Writes the normalised scattering features of `images`, a map that looks at no other image."""
    from discreet.models.transforms import PublicMap  # torch, which listing the reproductions does without

    scattering = PublicMap("scattering", 1.0)
    with np.load(images(source, folder, every), allow_pickle=False) as arrays:
        parts = {name: arrays[name] for name in ("x_train", "y_train", "x_test", "y_test")}
    for name in ("x_train", "x_test"):
        parts[name] = scattering.features(parts[name].astype(np.float32) / 255.0)
    path = folder / f"scattering-{source.name}"
    np.savez(path, **parts)
    return path


def cifar_features(source: Path, folder: Path, every: int) -> Path:
    """Writes quantised features as numbers, less each record's mean; every ``every``-th of both parts."""
    with np.load(source, allow_pickle=False) as arrays:
        scale = arrays["scale"]
        parts = {
            f"{kind}_{part}": arrays[f"{name}_{part}"][::every]
            for part in ("train", "test")
            for kind, name in (("x", "q"), ("y", "y"))
        }
    for part in ("train", "test"):
        features = parts[f"x_{part}"].astype(np.float32) * scale
        parts[f"x_{part}"] = features - features.mean(axis=1, keepdims=True)
    path = folder / "features.npz"
    np.savez(path, **parts)
    return path


def lines(source: Path, folder: Path, every: int) -> Path:
    """Unpacks a table, its header and every ``every``-th line of the rest."""
    path = folder / source.name.removesuffix(".gz")
    with gzip.open(source, "rt", encoding="utf-8") as packed, path.open("w", encoding="utf-8") as file:
        file.writelines(
            line for number, line in enumerate(packed) if number == 0 or number % every == 1 % every
        )
    return path


def held_out(source: Path, folder: Path, every: int) -> Path:
    """Puts both parts together and holds out a fifth by public coins, the same whoever deals the rest.

    ``every``-th of all records only; scattering features and images alike.
    """
    with np.load(source, allow_pickle=False) as arrays:
        whole = {kind: np.concatenate([arrays[f"{kind}_train"], arrays[f"{kind}_test"]]) for kind in "xy"}
    count = len(whole["y"])
    order = SeededRandom(0).derive("held out").permutation(count)
    parts = {"test": np.sort(order[: count // 5]), "train": np.sort(order[count // 5 :])}
    path = folder / f"held-out-{source.name}"
    parted: dict[str, Any] = {
        f"{kind}_{part}": whole[kind][rows[::every]] for part, rows in parts.items() for kind in "xy"
    }
    np.savez(path, **parted)
    return path
