"""Attacks by records: rows that change others' rows, rows that move others, rows that stop a round."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from discreet.audit.crafted_records import crafted_rows
from discreet.audit.crafted_search import Loader, loader_findings
from discreet.audit.findings import NeighbourFinding
from discreet.audit.neighbours import Comparison, Rounds, summary
from discreet.data import Records
from discreet.randomness import SeededRandom
from discreet.silo.records import load_records
from tests.attacks.outcome import Outcome
from tests.contracts.neighbours.worlds import KINDS, OWN, config, planned, start_of, world

SMALL = range(1, 25)
CHUNKS = (64, 65, 80, 128, 129, 144)


def copies(kind: str, model: str, shape: tuple[int, ...], way: str, sizes: Sequence[int]) -> NeighbourFinding:
    """Trains on n and n − 1 copies of a record crafted in one way, the worst of all n."""
    rounds = planned(config(KINDS[kind], {"source": "npz:unset.npz"}, model), shape, 10, None)
    start, tried = start_of(rounds), []
    for seed in range(3):
        rounds.load(start)
        rows = dict(crafted_rows(rounds.model, shape, None, SeededRandom(seed)))
        for count in sizes:
            one = Records(np.repeat(rows[way], count, axis=0), np.zeros(count, np.int64))
            tried.append(rounds.compare(one, one.take(np.arange(count - 1)), parameters=start, seed=seed))
    return summary("training", way, iter(tried))


def _moves(attack: str, before: str, found: NeighbourFinding) -> Outcome:
    now = f"moves by {found.largest:.4g} of the claim"
    return Outcome(attack, before, "; ".join((now, *found.differences)), found.exceeded)


def cancellation_in_a_bundled_network() -> Outcome:
    """Records of size 1e10 that no unit of the first layer sees but by rounding; bundled ``mlp``."""
    found = copies("single-step", "mlp", (28, 28), "cancellation in the first layer", SMALL)
    return _moves(
        "1: one record of n, single-step, features cancel", "moved 21.9 for 1.009; ε ≥ 4.27 for 1", found
    )


def kink_within_the_pixels() -> Outcome:
    """Pixels in [0, 1] and a ReLU network: every pre-activation is zero up to rounding."""
    found = copies(
        "single-step",
        f"{OWN}:rectified",
        (28, 28),
        "kink of the first layer",
        SMALL,
    )
    return _moves("1: one record of n, single-step, at a ReLU's kink", "moved 11.96 for 1.001", found)


def kink_of_tangents() -> Outcome:
    """The same for the tangents of a network, also around the ends of chunks."""
    found = copies(
        "tangent-steps",
        f"{OWN}:rectified",
        (28, 28),
        "kink of the first layer",
        (*SMALL, *CHUNKS),
    )
    return _moves(
        "1: one record of n, tangent-steps, at a kink", "7.07 times the claim; 6.2 times at 80", found
    )


def linear_heads() -> Outcome:
    """A linear head whose weights cancel on the records but for rounding, as a server may choose them."""
    return _moves(
        "1: a linear head that cancels, first row withdraws", "12.0 times the claim", _shifted_head()
    )


def places_in_a_narrow_network() -> Outcome:
    """A network of odd widths, in whose kernels rows lie unaligned."""
    found = [
        shifted(kind, f"{OWN}:narrow", (65,), "kink of the first layer")
        for kind in ("single-step", "tangent-steps")
    ]
    worst = max(found, key=lambda one: one.largest)
    return _moves("1: 65 features, 10 units, first row withdraws", "112.9 times the claim", worst)


def _shifted_head() -> NeighbourFinding:
    rng = np.random.default_rng(7)
    row = rng.random(65, dtype=np.float32)
    weights = rng.normal(size=(10, 65))
    weights -= np.outer(weights @ row, row) / (row @ row)
    return shifted("single-step", "logistic", (65,), row, (2.0**30 * weights).ravel())


def shifted(
    kind: str,
    model: str,
    shape: tuple[int, ...],
    way: str | np.ndarray,
    parameters: np.ndarray | None = None,
) -> NeighbourFinding:
    """Withdraws the first record: crafted ones, in some places of every few, all move up by one place.

    Args:
        kind: of local training.
        model: its name.
        shape: of a record.
        way: how records are crafted, or a record.
        parameters: the public model of the round; None takes the first one.
    """
    data = {"source": "npz:unset.npz", "record_capacity": 300}
    rounds = planned(config(KINDS[kind], data, model), shape, 10, None)
    start = start_of(rounds) if parameters is None else parameters
    rounds.load(start)
    crafted = way
    if isinstance(way, str):
        crafted = dict(crafted_rows(rounds.model, shape, None, SeededRandom(1)))[way][0]
    tried = []
    # Every place of few, and of many those where a block of four rows may begin.
    for period, step in ((2, 1), (4, 1), (16, 1), (64, 4)):
        for offset in range(0, period, step):
            features, labels = np.zeros((257, *shape), np.float32), np.zeros(257, np.int64)
            features[offset::period], labels[offset::period] = crafted, 1
            one = Records(features, labels)
            tried.append(rounds.compare(one, one.take(np.arange(1, 257)), parameters=start, seed=1))
    return summary("training", "moved up by one place", iter(tried))


# --- the first row of a table withdraws ---------------------------------------------------------------------


def withdrawn(labels: Sequence[int], read: Callable[[Rounds, Path], Records] | None = None) -> Comparison:
    """Removes the first of 300 rows whose features are equal, and trains on both tables."""
    data = {"label": "y", "ranges": {"x": [0, 1]}, "record_capacity": 400, "source": "csv:unset.csv"}
    made = config(KINDS["single-step"], {**data, "partition": {"kind": "iid", "silos": 3}}, "logistic")
    rounds = planned(made, (2,), 2, 1.0)
    with tempfile.TemporaryDirectory() as folder:
        tables = []
        for rows in (labels, labels[1:]):
            path = Path(folder) / "own.csv"
            with path.open("w", newline="") as file:
                csv.writer(file).writerows([("x", "y"), *((0.9, label) for label in rows)])
            tables.append(
                load_records(f"csv:{path}", rounds.plan, "a") if read is None else read(rounds, path)
            )
    return rounds.compare(*tables, parameters=start_of(rounds), seed=1)


def by_row_number(count: int) -> np.ndarray:
    """The public coins of an earlier version: one for each row number."""
    return SeededRandom(0).derive("test rows", "a").uniform(count) < 0.25


def labels_against_row_numbers() -> list[int]:
    """Labels that follow the coins which every row would get one place further up."""
    coin = by_row_number(300)
    return [0, *(int(not coin[row] and coin[row - 1]) for row in range(1, 300))]


def _split(attack: str, before: str, labels: Sequence[int]) -> Outcome:
    found = withdrawn(labels)
    now = f"moves by {found.moved:.4g} of the claim"
    return Outcome(
        attack, before, "; ".join((now, *found.differences)), found.moved > 1 or bool(found.differences)
    )


def adversarial_labels() -> Outcome:
    """Labels chosen against the coins of row numbers."""
    return _split(
        "2: the first row withdraws, labels chosen", "moved 49.0 for 0.504", labels_against_row_numbers()
    )


def random_labels() -> Outcome:
    """No adversary at all."""
    labels = np.random.default_rng(0).integers(0, 2, 300).tolist()
    return _split("2: the first row withdraws, random labels", "moved 9.00 for 0.504", labels)


# --- one record decides what a silo does --------------------------------------------------------------------


def refusals(source: str, *, rows: int = 12, read: Loader | None = None) -> list[NeighbourFinding]:
    """Spoils rows of a silo's own file in every way, and takes the only row away."""
    tried = world(KINDS["single-step"], source, "real")
    load = tried.read if read is None else read
    # A public coin may hold an only record out; not every one of several.
    files = [tried.file.rows(np.arange(first, first + rows)) for first in range(0, 2 * rows, rows)]
    if rows == 1:
        files = [tried.file.rows(np.array([place])) for place in range(4)]
    start = start_of(tried.rounds)
    return [
        found for file in files for found in loader_findings(tried.rounds, file, load, start, most_places=3)
    ]


def _decides(attack: str, before: str, findings: list[NeighbourFinding]) -> Outcome:
    failed = [found for found in findings if found.exceeded]
    now = f"{len(findings)} ways tried; " + (
        "no difference" if not failed else f"{failed[0].crafted}: {'; '.join(failed[0].differences)}"
    )
    return Outcome(attack, before, now, bool(failed))


def a_record_that_stops_a_round() -> Outcome:
    """Finite features as large as float32, in a batch of ordinary ones."""
    rounds = planned(config(KINDS["single-step"], {"source": "npz:unset.npz"}, "mlp"), (28, 28), 10, None)
    images = SeededRandom(1).uniform(10 * 784).reshape(10, 28, 28).astype(np.float32)
    more = Records(np.concatenate([images, np.full((1, 28, 28), 3e38, np.float32)]), np.zeros(11, np.int64))
    found = rounds.compare(more, more.take(np.arange(10)), parameters=start_of(rounds), seed=1)
    return _decides(
        "6: one record of 3e38",
        "round stops: 0 against 1 for δ = 1e-5",
        [summary("training", "3e38", iter([found]))],
    )


def an_only_record() -> Outcome:
    """A silo of one record against an empty one."""
    return _decides("6: a silo's only record", "joins or refuses", refusals("npz", rows=1))


def a_cell_of_a_table() -> Outcome:
    """Cells, labels and row lengths that no rule expects."""
    return _decides("6: one cell of a table", "silo refuses", refusals("csv"))


def a_value_of_an_array() -> Outcome:
    """NaN, infinity and labels that are none."""
    return _decides("6: one value of an array", "silo refuses", refusals("npz"))


ATTACKS = (
    cancellation_in_a_bundled_network,
    kink_within_the_pixels,
    kink_of_tangents,
    linear_heads,
    places_in_a_narrow_network,
    adversarial_labels,
    random_labels,
    a_record_that_stops_a_round,
    an_only_record,
    a_cell_of_a_table,
    a_value_of_an_array,
)
