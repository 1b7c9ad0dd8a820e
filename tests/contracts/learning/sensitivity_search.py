"""Adversarial search for the pair of neighbouring silos whose updates are farthest apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import nn

from discreet.data.records import Records
from discreet.kinds import OneRelease
from discreet.learning import local_update
from discreet.privacy.units import Unit
from tests.contracts.learning.coupled_randomness import Coupled


@dataclass(frozen=True)
class Case:
    """What an adversary may choose: records inside the feature ball, labels, and the public weights."""

    model: nn.Module
    feature_shape: tuple[int, ...]
    num_classes: int
    num_parameters: int
    feature_norm: float
    num_records: int


@dataclass(frozen=True)
class Pair:
    """A silo and its neighbour: the same records without the last one."""

    features: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    seed: int


def distance(kind: OneRelease, case: Case, pair: Pair) -> float:
    """Measures how far the two updates are apart under equal coins."""
    with_unit = Records(pair.features.astype(np.float32), pair.labels)
    fewer = slice(0, 0) if kind.unit is Unit.CLIENT else slice(0, -1)
    without = Records(with_unit.features[fewer], with_unit.labels[fewer])
    updates = [
        local_update(kind, case.model, pair.weights, records, Coupled(pair.seed)).vector
        for records in (with_unit, without)
    ]
    return float(np.linalg.norm(updates[0] - updates[1]))


def largest_distance(
    kind: OneRelease, case: Case, *, starts: int, moves: int, seed: int, beyond: float = math.inf
) -> tuple[float, Pair]:
    """Hill-climbs from random starts; returns the largest distance found and where.

    Args:
        kind: what is trained.
        case: what the adversary may choose.
        starts: number of random starts.
        moves: number of moves from each.
        seed: of the search.
        beyond: the first distance beyond it is returned, for those who ask only whether there is one.
    """
    rng = np.random.default_rng(seed)
    best, where = -1.0, _random_pair(case, rng)
    for _ in range(starts):
        pair = _random_pair(case, rng)
        reached = distance(kind, case, pair)
        for _ in range(moves):
            if reached > beyond:
                return reached, pair
            candidate = _perturbed(pair, case, rng)
            value = distance(kind, case, candidate)
            if value >= reached:
                pair, reached = candidate, value
        if reached > best:
            best, where = reached, pair
        if best > beyond:
            break
    return best, where


def _into_ball(features: npt.NDArray[np.float64], radius: float) -> npt.NDArray[np.float64]:
    flat = features.reshape(len(features), -1)
    norms = np.linalg.norm(flat, axis=1, keepdims=True)
    return (flat * np.minimum(1.0, radius / np.maximum(norms, 1e-12))).reshape(features.shape)


def _random_pair(case: Case, rng: np.random.Generator) -> Pair:
    features = rng.normal(size=(case.num_records, *case.feature_shape)) * 3.0
    return Pair(
        _into_ball(features, case.feature_norm),
        rng.integers(0, case.num_classes, case.num_records),
        rng.normal(size=case.num_parameters) * rng.choice([0.1, 1.0, 10.0, 100.0]),
        int(rng.integers(0, 1 << 30)),
    )


def _perturbed(pair: Pair, case: Case, rng: np.random.Generator) -> Pair:
    scale = rng.choice([0.03, 0.3, 2.0])
    features = pair.features + scale * rng.normal(size=pair.features.shape) * rng.binomial(1, 0.5)
    labels = pair.labels.copy()
    if rng.random() < 0.3:
        labels[rng.integers(len(labels))] = rng.integers(0, case.num_classes)
    weights = pair.weights * rng.choice([1.0, 1.0, 0.7, 1.5])
    weights = weights + scale * rng.normal(size=weights.shape) * rng.binomial(1, 0.5)
    seed = pair.seed if rng.random() < 0.7 else int(rng.integers(0, 1 << 30))
    return Pair(_into_ball(features, case.feature_norm), labels, weights, seed)
