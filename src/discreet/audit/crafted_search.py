"""``discreet audit --crafted``: neighbours made by an adversary, through the user's own model and loader."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from discreet.arrays import Float32s, Floats
from discreet.audit.crafted_files import ArrayFile, SiloFile, TableFile, neighbours_of
from discreet.audit.crafted_records import BATCH_SIZES, EXTREMES, crafted_rows
from discreet.audit.findings import NeighbourFinding
from discreet.audit.neighbours import Comparison, Rounds, summary
from discreet.audit.rehearsal import initial_parameters
from discreet.config.data import DataConfig, features_named
from discreet.config.partition import ColumnPartition
from discreet.data import Records
from discreet.data.labels import extreme_labels, other_labels
from discreet.data.table_files import of_several
from discreet.engines.local import Prepared
from discreet.errors import ConfigurationError
from discreet.privacy.units import Unit
from discreet.randomness import SeededRandom
from discreet.rounds import initial_state
from discreet.silo.records import load_records

Loader = Callable[[str], Records]

# Rows of a user's file that the loader is tried with: every one of them is read again for every neighbour.
_MOST_ROWS = 40
_MOST_PLACES = 12
_WEIGHT_SCALES = (0.3, 3.0)
_MOVES_EVERY = 5
# What overflows or vanishes does so in batches of all sizes.
_EXTREMES_EVERY = 4


@dataclass(frozen=True, slots=True)
class CraftedSettings:
    """How hard the search looks.

    Attributes:
        trials: pairs of neighbours for each way to craft records.
        seed: of the search.
    """

    trials: int = 60
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.trials >= 1 and self.seed >= 0):
            raise ConfigurationError(
                f"'trials' must be at least 1 and 'seed' >= 0; got {self.trials} and {self.seed}."
            )


def crafted_findings(prepared: Prepared, settings: CraftedSettings) -> tuple[NeighbourFinding, ...]:
    """Searches for neighbours that move too far or can be told apart, by records and by the silo's file.

    Guarantee:
        A finding that is ``exceeded`` is a proof. None of them is a proof of nothing: see docs/audit.md.
    """
    source = SeededRandom(settings.seed).derive("crafted")
    plan = prepared.plan
    rounds = Rounds(plan, prepared.model, plan.facts.silos[0])
    start = initial_state(plan, initial_parameters(prepared)).announced()
    found = list(record_findings(rounds, start, trials=settings.trials, source=source.derive("records")))
    file = _own_file(prepared)
    if file is None:
        return tuple(found)

    def load(own: str) -> Records:
        return load_records(own, plan, rounds.silo)

    return (*found, *loader_findings(rounds, file, load, start))


def record_findings(
    rounds: Rounds, start: Floats, *, trials: int, source: SeededRandom
) -> Iterator[NeighbourFinding]:
    """Trains on crafted records and on one fewer of them, or on an empty silo for the client unit."""
    comparisons: dict[str, list[Comparison]] = {}
    facts = rounds.plan.facts
    for trial in range(trials):
        own = source.derive(trial)
        at = _moved(start, own.derive("weights"), trial)
        rounds.load(at)
        rows = dict(crafted_rows(rounds.model, facts.feature_shape, facts.feature_norm_bound, own))
        seed = int(own.words(1)[0]) >> 1
        for name in rows if trial % _EXTREMES_EVERY == 0 else rows.keys() - EXTREMES:
            one, other = _pair(rounds, name, rows, trial)
            found = rounds.compare(one, other, parameters=at, seed=seed)
            comparisons.setdefault(name, []).append(found)
    for name, tried in comparisons.items():
        yield summary("training on crafted records", name, iter(tried))


def _pair(rounds: Rounds, name: str, rows: Mapping[str, Float32s], trial: int) -> tuple[Records, Records]:
    """Returns copies of a crafted record with one unit at any place, and the same without that unit."""
    facts, plan = rounds.plan.facts, rounds.plan
    capacity = plan.capacities[facts.silos.index(rounds.silo)]
    sizes = [size for size in BATCH_SIZES if size <= capacity]
    count = sizes[trial % len(sizes)]
    features = np.repeat(rows[name], count, axis=0)
    known = extreme_labels(facts.num_classes)
    labels = np.full(count, known[trial % len(known)], dtype=np.int64)
    place = (0, count // 2, count - 1)[trial % 3]
    if trial // 2 % 2:
        # The unit is another record than all the others: not a copy of what it stands among.
        features[place] = list(rows.values())[trial // 4 % len(rows)][0]
        labels[place] = other_labels(labels[place], facts.num_classes)
    if plan.data.person is not None:
        return _persons(Records(features, labels), place, trial, plan.data.person.most_records)
    one = Records(features, labels)
    kept = np.delete(np.arange(count), place)
    return one, one.take(kept[:0] if plan.unit is Unit.CLIENT else kept)


def _persons(records: Records, place: int, trial: int, most: int) -> tuple[Records, Records]:
    """Deals records out to persons of one record, some or the most; returns them with and without one."""
    size = (1, (most + 1) // 2, most)[trial // 8 % 3]
    persons = np.arange(len(records), dtype=np.int64) // size
    one = replace(records, persons=persons)
    return one, one.take(persons != persons[place])


def _moved(start: Floats, source: SeededRandom, trial: int) -> Floats:
    """Returns the initial weights, or every fifth time weights far from them."""
    scale = _WEIGHT_SCALES[trial // _MOVES_EVERY % len(_WEIGHT_SCALES)] * (
        trial % _MOVES_EVERY == _MOVES_EVERY - 1
    )
    moved = start + scale * (source.uniform(len(start)) - 0.5)
    # The last coordinate may be a clipping norm, which stays what it is.
    moved[-1] = start[-1]
    return moved


def loader_findings(
    rounds: Rounds, file: SiloFile, load: Loader, start: Floats, *, most_places: int = _MOST_PLACES
) -> Iterator[NeighbourFinding]:
    """Reads a silo's file and its neighbours, and trains on both wherever the training records differ."""
    tried: dict[str, list[Comparison]] = {}
    with tempfile.TemporaryDirectory() as folder:
        base, own = _loaded(load, file.write(Path(folder) / "base")), Path(folder) / "neighbour"
        for name, neighbour in neighbours_of(file, most_places):
            other = _loaded(load, neighbour().write(own))
            found = _compared(rounds, base, other, start, len(tried))
            tried.setdefault(name, []).append(found)
    for name, comparisons in tried.items():
        yield summary("the silo's own file", name, iter(comparisons))


def _compared(
    rounds: Rounds, base: Records | str, other: Records | str, start: Floats, seed: int
) -> Comparison:
    """Compares what was read: a file that is refused for a row's sake tells its neighbours apart."""
    if isinstance(base, str) or isinstance(other, str):
        same = isinstance(base, str) and base == other
        words = [side if isinstance(side, str) else "is read" for side in (base, other)]
        return Comparison(0.0, () if same else ("; the neighbour ".join(words),))
    if rounds.plan.unit is Unit.CLIENT:
        # One client's rows are its own business; what protects it is the clip, whatever the rows are.
        return rounds.compare(other, other.take(np.arange(0)), parameters=start, seed=seed)
    return rounds.compare(base, other, parameters=start, seed=seed)


def _loaded(load: Loader, source: str) -> Records | str:
    """Returns the records, or how reading failed."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return load(source)
    except Exception as error:  # a search must see every way to fail
        return f"is refused with {type(error).__name__}"


def _own_file(prepared: Prepared) -> SiloFile | None:
    """Returns some rows of the config's file as the first silo would hold them; None if it is no file."""
    data = prepared.config.data
    source = data.source
    if not isinstance(source, str) or of_several(source):
        return None
    scheme, _, path = os.path.expandvars(source).partition(":")
    match scheme:
        case "csv":
            file: SiloFile = _table(Path(path), data, prepared.plan.facts.silos[0])
        case "npz":
            file = ArrayFile.read(Path(path))
        case _:
            return None
    return file.rows(np.arange(min(file.count, _MOST_ROWS)))


def _table(path: Path, data: DataConfig, silo: str) -> TableFile:
    """Returns the rows of one silo where a column says which those are, else all rows."""
    used = features_named(data)
    table = TableFile.read(path, label=data.labels[0] if data.labels else "", used=used)
    if not isinstance(data.partition, ColumnPartition):
        return table
    column = table.header.index(data.partition.column)
    return table.rows(np.array([place for place, row in enumerate(table.cells) if row[column] == silo]))
