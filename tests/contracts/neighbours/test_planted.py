"""Faults of the kind that broke a guarantee once, planted again: the harness must report each of them.

Each is planted at a seam of the program (a function's name, a kind's method, the loader), not in its present
arithmetic, so that a test stays meaningful when that changes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from discreet.audit import neighbours
from discreet.audit.crafted_search import loader_findings, record_findings
from discreet.audit.findings import NeighbourFinding
from discreet.data import Records
from discreet.errors import DataError, PrivacyViolation
from discreet.kinds import TangentSteps
from discreet.kinds.weighted import Weighted
from discreet.learning import CountedUpdate, LocalUpdate
from discreet.models import load_flat
from discreet.randomness import SeededRandom
from discreet.rounds import train_silo
from tests.contracts.neighbours.test_neighbours import told_apart
from tests.contracts.neighbours.worlds import (
    HANDED_OVER,
    IMAGE,
    KINDS,
    OWN,
    World,
    config,
    planned,
    start_of,
    world,
)

TRIALS = 20


def on_records(kind: str, model: str = f"{OWN}:rectified") -> list[NeighbourFinding]:
    rounds = planned(config(KINDS[kind], {"source": "npz:unset.npz"}, model), IMAGE, 3, None)
    return list(record_findings(rounds, start_of(rounds), trials=TRIALS, source=SeededRandom(2)))


def in_file(source: str, read: Callable[[World, str], Records], *, rows: int = 20) -> list[NeighbourFinding]:
    tried = world(KINDS["single-step"], source, "real", rows=rows)
    return list(
        loader_findings(
            tried.rounds,
            tried.file,
            lambda written: read(tried, written),
            start_of(tried.rounds),
            most_places=4,
        )
    )


def clipped_by_hand(model: torch.nn.Sequential, features: torch.Tensor, labels: torch.Tensor) -> Any:
    """Clips every record's gradient of dense, ReLU, dense to norm 1, all records in one batch."""
    first, last = cast(torch.nn.Linear, model[1]), cast(torch.nn.Linear, model[3])
    with torch.no_grad():
        flat = features.reshape(len(features), -1)
        hidden = first(flat)
        active = torch.relu(hidden)
        upward = torch.softmax(last(active), dim=1) - torch.nn.functional.one_hot(labels, 3)
        below = (upward @ last.weight) * (hidden > 0)
        parts = [below[:, :, None] * flat[:, None], below, upward[:, :, None] * active[:, None], upward]
        rows = torch.cat([part.flatten(1) for part in parts], dim=1).double()
        rows[~rows.isfinite().all(dim=1)] = 0.0
        return (rows / rows.norm(dim=1, keepdim=True).clamp(min=1.0)).sum(dim=0).numpy()


def test_a_batch_as_long_as_the_data_are_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix product takes another kernel for another number of rows, and rows change their last bits."""

    def update(_: Any, model: Any, parameters: Any, records: Records, randomness: Any) -> CountedUpdate:
        load_flat(model, parameters)
        features, labels = torch.from_numpy(records.features), torch.from_numpy(records.labels)
        return CountedUpdate(LocalUpdate(-clipped_by_hand(model, features, labels), 0.0, len(records)), 0)

    monkeypatch.setattr("discreet.learning.arithmetic.single_step_update", update)
    found = on_records("single-step")
    assert max(finding.largest for finding in found) > 1.2


def test_a_last_chunk_of_another_length_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a record's tangent change their last bits with the company that they are computed in."""

    def update(kind: TangentSteps, model: Any, parameters: Any, records: Records, _: Any) -> LocalUpdate:
        load_flat(model, parameters)
        features, labels = torch.from_numpy(records.features), torch.from_numpy(records.labels)
        step = clipped_by_hand(model, features, labels) * kind.l2_sensitivity()
        return LocalUpdate(-step, 0.0, len(records))

    monkeypatch.setattr("discreet.learning.arithmetic.tangent_update", update)
    assert max(finding.largest for finding in on_records("tangent-steps")) > 1.2


def test_a_weight_of_two_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of classes that are not divided by the largest."""
    monkeypatch.setattr(Weighted, "__post_init__", lambda _: None)
    monkeypatch.setattr("discreet.kinds.stable_steps.weighted", Weighted)
    kind = KINDS["stable-steps"]
    stated = kind | {"local": kind["local"] | {"class_weights": [2, 1, 1]}}
    rounds = planned(config(stated, {"source": "npz:unset.npz"}, "logistic"), (129,), 3, 1.0)
    found = record_findings(rounds, start_of(rounds), trials=TRIALS, source=SeededRandom(2))
    assert max(finding.largest for finding in found) > 1.5


def planted_update(monkeypatch: pytest.MonkeyPatch, before: Callable[[Records], None]) -> None:
    """Lets a check of the data run before all training."""
    honest = train_silo

    def update(*arguments: Any, records: Records, **named: Any) -> Any:
        before(records)
        return honest(*arguments, records=records, **named)

    monkeypatch.setattr(neighbours, "train_silo", update)


def test_a_round_that_stops_at_a_large_record_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def finite_squares(records: Records) -> None:
        with np.errstate(over="ignore"):
            if not np.isfinite(records.features**2).all():
                raise PrivacyViolation("planted")

    planted_update(monkeypatch, finite_squares)
    assert "fails with PrivacyViolation; the neighbour sends" in told_apart(on_records("single-step"))


def test_a_round_that_refuses_one_record_too_many_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def few(records: Records) -> None:
        if len(records) > 10:
            raise DataError("planted")

    planted_update(monkeypatch, few)
    assert "fails with DataError; the neighbour sends" in told_apart(on_records("single-step"))


def test_a_silo_that_needs_a_record_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def some(records: Records) -> None:
        if not len(records):
            raise DataError("planted")

    planted_update(monkeypatch, some)
    assert "sends; the neighbour fails with DataError" in told_apart(on_records("single-step"))


def rows_of(written: str) -> tuple[Any, Any]:
    with np.load(Path(written.removeprefix("npz:"))) as archive:
        return np.clip(np.nan_to_num(archive["x"]), -1e6, 1e6).astype(np.float32), archive["y"]


def test_a_held_out_coin_by_row_number_is_found() -> None:
    def read(_: World, written: str) -> Records:
        features, labels = rows_of(written)
        train = (SeededRandom(0).uniform(len(labels)) >= 0.25) & (labels >= 0) & (labels < 3)
        return Records(features[train], labels[train])

    found = {finding.crafted: finding for finding in in_file("npz", read)}
    assert "more than one training record differs" in told_apart([found["a row less"]])


def test_a_silo_that_is_refused_without_records_is_found() -> None:
    def read(_: World, written: str) -> Records:
        features, labels = rows_of(written)
        if not len(labels):
            raise DataError("planted")
        keep = (labels >= 0) & (labels < 3)
        return Records(features[keep], labels[keep])

    found = {finding.crafted: finding for finding in in_file("npz", read, rows=1)}
    assert "is refused with DataError" in told_apart([found["a row less"]])


def test_a_scale_that_the_loader_takes_from_the_data_is_found() -> None:
    """The largest value of the column, or its mean, moves every record."""

    def read(_: World, written: str) -> Records:
        features, labels = rows_of(written)
        keep = (labels >= 0) & (labels < 3)
        scaled = features[keep] / np.abs(features[keep]).max()
        return Records(scaled.astype(np.float32), labels[keep])

    assert "more than one training record differs" in told_apart(in_file("npz", read))


def test_a_table_that_is_refused_for_a_cell_is_found() -> None:
    def read(tried: World, written: str) -> Records:
        if b"neither" in Path(written.removeprefix("csv:")).read_bytes():
            raise DataError("planted")
        return Records(np.zeros((1, 4), np.float32), np.zeros(1, np.int64))

    found = in_file("csv", read)
    assert told_apart(found).count("is read; the neighbour is refused with DataError") == 1


def test_a_data_set_that_is_made_one_array_is_found() -> None:
    """One odd record gives the whole array another type, or makes it none: it decides about all others."""

    def read(written: str) -> Records:
        images = HANDED_OVER[written]["a"]
        features = np.array([images[place][0] for place in range(len(images))])
        labels = np.array([images[place][1] for place in range(len(images))])
        return Records(features.astype(np.float32), labels.astype(np.int64))

    tried = world(KINDS["single-step"], "dataset", "local")
    found = loader_findings(tried.rounds, tried.file, read, start_of(tried.rounds), most_places=1)
    told = {finding.crafted: finding.exceeded for finding in found}
    assert told["raises"]
    assert told["an image of another shape"]
    assert told["a label that is a text"]
    assert not told["a row less"]
