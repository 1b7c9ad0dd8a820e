"""Kinds of training × sources of records × engines, as small worlds that the harness can walk through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.audit.crafted_files import ArrayFile, SiloFile, TableFile
from discreet.audit.crafted_records import LARGEST, SMALLEST
from discreet.audit.crafted_search import Loader
from discreet.audit.neighbours import Rounds
from discreet.config import Config, parse_config
from discreet.config.federation import federation_of
from discreet.data import Records
from discreet.engines.local import Prepared, prepare
from discreet.models import flatten
from discreet.plan import federation_facts, make_plan
from discreet.plan.public_model import made_model
from discreet.randomness import SeededRandom
from discreet.rounds import initial_state
from discreet.silo.records import load_records
from tests.contracts.neighbours import own_code

OWN = own_code.__name__
"""The module of models and federations that configs name."""

IMAGE = (8, 16)
CAPACITY = 260
CLIP: dict[str, Any] = {"clip_norm": 1.0}

KINDS: dict[str, dict[str, Any]] = {
    "single-step": {"local": {"kind": "single-step"}, "privacy": CLIP},
    "single-step, sampled": {
        "local": {"kind": "single-step"},
        "privacy": CLIP,
        "sampling": {"kind": "poisson", "probability": 0.5},
    },
    "quantile": {
        "local": {"kind": "single-step"},
        "privacy": {"clip_norm": {"quantile": 0.5, "initial": 1.0}},
    },
    "noisy-steps": {
        "local": {"kind": "noisy-steps", "learning_rate": 0.1, "steps": 1},
        "privacy": {"clip_norm": 1.0, "epsilon": 20.0},
    },
    "sharded": {
        "local": {"kind": "sharded", "learning_rate": 0.1, "groups": 40},
        "privacy": CLIP,
    },
    "stable-steps": {"local": {"kind": "stable-steps", "learning_rate": 0.01, "steps": 3}, "privacy": {}},
    "tangent-steps": {
        "local": {"kind": "tangent-steps", "learning_rate": 0.002, "steps": 2},
        "privacy": CLIP,
    },
    "clipped-update": {
        "local": {"kind": "clipped-update", "learning_rate": 0.1},
        "privacy": {"clip_norm": 1.0, "unit": "client"},
    },
}  # fmt: skip
FIXED_SIZE: dict[str, Any] = {
    "local": {"kind": "single-step"},
    "privacy": CLIP,
    "sampling": {"kind": "fixed-size", "fraction": 0.25},
}

LINEAR_ONLY = "stable-steps"


NUMBER: dict[str, Any] = {"label_range": [0.0, 1.0]}
"""Makes the label of the table a number."""


def config(kind: dict[str, Any], data: dict[str, Any], model: str) -> Config:
    """Returns a config of one round for three silos."""
    training = {"rounds": 1, "local": kind["local"]}
    training |= {"sampling": kind["sampling"]} if "sampling" in kind else {}
    return parse_config(
        {
            "data": {"record_capacity": CAPACITY, **data},
            "model": {"name": model},
            "training": training,
            "privacy": {"epsilon": 4.0, "delta": 1e-5, **kind["privacy"]},
            "aggregation": {"protocol": "bonawitz"},
        },
        source="test",
    )


def planned(config: Config, shape: tuple[int, ...], classes: int, bound: float | None) -> Rounds:
    """Plans from public facts alone, as the parties of a real federation do."""
    model, found = made_model(config, shape, classes)
    facts = federation_facts(
        own_code.SILOS,
        feature_shape=shape,
        num_classes=classes,
        feature_norm_bound=bound,
        model=found,
    )
    return Rounds(make_plan(config, facts), model, "a")


def start_of(rounds: Rounds) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The public model that the first round starts from."""
    return initial_state(rounds.plan, flatten(rounds.model)).announced()


# --- the same silos as a table and as arrays ----------------------------------------------------------------


def table(rows: int, *, sites: bool, seed: int = 1) -> TableFile:
    """Ages and habits, and who is sick; every fifth row is a copy of another. Or of three sites."""
    source = SeededRandom(seed)
    ages, coins = source.uniform(rows), source.integers_below(rows, 2)
    cells: list[tuple[str, ...]] = [
        (f"{60 * age:.3f}", ["no", "yes"][coin], str(coin)) for age, coin in zip(ages, coins, strict=True)
    ]
    cells[4::5] = cells[: len(cells[4::5])]
    if sites:
        cells = [(*row, own_code.SILOS[place % 3 if place < 9 else 0]) for place, row in enumerate(cells)]
    header = ("age", "smoker", "sick", *(("site",) if sites else ()))
    return TableFile(header, tuple(cells), "sick", ("age", "smoker"))


TABLE: dict[str, Any] = {
    "label": "sick",
    "ranges": {"age": [0.0, 60.0]},
    "categories": {"smoker": ["no", "yes"]},
}


def arrays(rows: int, *, sites: bool, seed: int = 1) -> ArrayFile:
    """Images of three classes; every fifth is a copy of another."""
    source = SeededRandom(seed)
    images = source.uniform(rows * 128).reshape(rows, *IMAGE).astype(np.float32)
    labels = source.integers_below(rows, 3)
    images[4::5], labels[4::5] = images[: len(images[4::5])], labels[: len(labels[4::5])]
    own: dict[str, Any] = {"x": images, "y": labels}
    if sites:
        own["silo"] = np.array([own_code.SILOS[place % 3 if place < 9 else 0] for place in range(rows)])
    return ArrayFile("x", "y", own, {"classes": np.array(["0", "1", "2"])})


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """The same table with typed columns, as a data warehouse would export it."""

    inner: TableFile

    @property
    def count(self) -> int:
        return self.inner.count

    def rows(self, places: Any) -> ParquetFile:
        return ParquetFile(self.inner.rows(places))

    def altered(self, place: int) -> Iterator[tuple[str, ParquetFile]]:
        for name, changed in self.inner.altered(place):
            if all(len(row) == len(self.inner.header) and _is_text(row) for row in changed.cells):
                yield name, ParquetFile(changed)

    def write(self, path: Path) -> str:
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        by_column = [[row[place] for row in self.inner.cells] for place in range(len(self.inner.header))]
        columns = dict(zip(self.inner.header, by_column, strict=True))
        kinds = {"age": _number, "smoker": lambda cell: cell or None, "sick": _whole}
        types = {"age": arrow.float64(), "smoker": arrow.string(), "sick": arrow.int64()}
        own = path.with_suffix(".parquet")
        parquet.write_table(
            arrow.table(
                {name: arrow.array([kinds[name](cell) for cell in columns[name]], types[name])
                 for name in kinds}
            ),
            own,
        )  # fmt: skip
        return f"parquet:{own}"


def _is_text(row: tuple[str, ...]) -> bool:
    return not any("\udc80" <= letter <= "\udcff" for cell in row for letter in cell)


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _whole(cell: str) -> int | None:
    try:
        return int(cell)
    except ValueError:
        return None


# --- the same arrays as a program holds them ----------------------------------------------------------------

HANDED_OVER: dict[str, dict[str, Any]] = {}


def _raises() -> Any:
    raise OSError("this image cannot be opened")


_FINE = np.ones(IMAGE, dtype=np.float32)
_ODD: dict[str, Any] = {
    "raises": _raises,
    "nothing": None,
    "a lone number": 7,
    "no label": (_FINE,),
    "an image of another shape": (np.ones((3, 3)), 0),
    "as many numbers in another shape": (_FINE.reshape(-1), 0),
    "bytes": (np.full(IMAGE, 51, dtype=np.uint8), 0),
    "lists": (np.ones(IMAGE).tolist(), 0),
    "float64 beyond float32": (np.full(IMAGE, 1e300), 0),
    "a complex image": (np.ones(IMAGE, dtype=complex), 0),
    "an image of objects": (np.full(IMAGE, None), 0),
    "an image of texts": (np.full(IMAGE, "x"), 0),
    "a label that is a text": (_FINE, "sick"),
    "a label of many digits": (_FINE, 10**400),
    "a fractional label": (_FINE, 0.5),
    "two labels": (_FINE, [0, 1]),
}


class Images:
    """A data set like torch's: read by place; a record that is a function is what it returns."""

    def __init__(self, records: list[Any]) -> None:
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, place: int) -> Any:
        record = self._records[place]
        return record() if callable(record) else record


@dataclass(frozen=True, slots=True)
class Held:
    """Records of three silos in memory, as arrays or as data sets, whose records may be anything."""

    records: tuple[Any, ...]
    silos: tuple[str, ...]
    as_arrays: bool

    @property
    def count(self) -> int:
        return len(self.records)

    def rows(self, places: Any) -> Held:
        chosen = places.tolist()
        return replace(
            self,
            records=tuple(self.records[place] for place in chosen),
            silos=tuple(self.silos[place] for place in chosen),
        )

    def altered(self, place: int) -> Iterator[tuple[str, Held]]:
        image, label = self.records[place]
        for value in (np.nan, -np.inf, LARGEST, SMALLEST):
            changed = image.copy()
            changed[0, 0] = value
            yield f"{value:g} in a feature", self._with(place, (changed, label))
            yield f"{value:g} in all features", self._with(place, (np.full_like(image, value), label))
        for wrong in (-1, 99, np.iinfo(np.int64).max):
            yield f"a label of {wrong}", self._with(place, (image, wrong))
        for name, odd in _ODD.items() if not self.as_arrays else ():
            yield name, self._with(place, odd)

    def _with(self, place: int, record: Any) -> Held:
        return replace(self, records=(*self.records[:place], record, *self.records[place + 1 :]))

    def write(self, path: Path) -> str:
        HANDED_OVER[str(path)] = {name: self._of(name) for name in own_code.SILOS}
        return str(path)

    def _of(self, silo: str) -> Any:
        own = [record for record, name in zip(self.records, self.silos, strict=True) if name == silo]
        if not self.as_arrays:
            return Images(own)
        images = np.array([image for image, _ in own], dtype=np.float32).reshape(len(own), *IMAGE)
        return images, np.array([label for _, label in own], dtype=np.int64)


def held(rows: int, *, as_arrays: bool) -> Held:
    """Returns the records of `arrays` as a program holds them."""
    own = arrays(rows, sites=True).own
    return Held(tuple(zip(own["x"], own["y"].tolist(), strict=True)), tuple(own["silo"].tolist()), as_arrays)


# --- worlds -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class World:
    """One cell of the matrix: what is planned, the silo's file, and how its records are read."""

    rounds: Rounds
    file: SiloFile
    read: Loader
    config: Config

    def prepared(self, source: str) -> Prepared:
        """Prepares the local engine from a file; this, too, must not depend on one row."""
        if source in HANDED_OVER:
            return prepare(self.config, by_silo=HANDED_OVER[source])
        data = self.config.data.model_copy(update={"source": source})
        return prepare(self.config.model_copy(update={"data": data}))


def world(kind: dict[str, Any], source: str, engine: str, *, rows: int = 24, **data: Any) -> World:
    """Makes the world of a kind, a source and an engine (local, real).

    Sources: csv, messy (with features for missing cells), parquet, npz, function; and in memory, for the
    local engine alone, arrays and dataset.
    """
    local = engine == "local"
    linear = kind["local"]["kind"] == LINEAR_ONLY
    if source in ("csv", "messy", "parquet"):
        partition = {"kind": "column", "column": "site"} if local else {"kind": "iid", "silos": 3}
        stated = TABLE | {"source": "csv:unset.csv", "partition": partition} | data
        stated |= {"missing": "indicator"} if source == "messy" else {}
        made = config(kind, stated, "logistic" if linear else f"{OWN}:smooth")
        classes = 1 if "label_range" in data else 2
        rounds = planned(made, (6,) if source == "messy" else (4,), classes, 1.0)
        file: SiloFile = table(rows, sites=local)
        file = ParquetFile(file) if source == "parquet" else file  # type: ignore[arg-type]
    elif source in ("arrays", "dataset"):
        stated = {"source": "memory", "feature_shape": IMAGE, "num_classes": 3, **data}
        stated |= {"feature_norm_bound": 1.0} if linear else {}
        made = config(kind, stated, "logistic" if linear else f"{OWN}:rectified")
        rounds = planned(made, (129,) if linear else IMAGE, 3, 1.0 if linear else None)
        file = held(rows, as_arrays=source == "arrays")
    else:
        stated = {"source": "npz:unset.npz", **data}
        if source == "function":
            stated = {"source": f"{OWN}:federation", **data}
        elif linear:
            stated |= {"feature_norm_bound": 1.0}
        made = config(kind, stated, "logistic" if linear else f"{OWN}:rectified")
        shape, bound = ((129,), 1.0) if linear and source == "npz" else (IMAGE, None)
        rounds = planned(made, shape, 3, bound)
        file = arrays(rows, sites=local or source == "function")
    return World(rounds, file, _reader(made, rounds, source, local=local), made)


def _reader(config: Config, rounds: Rounds, source: str, *, local: bool) -> Callable[[str], Records]:
    """Returns what reads the training records of the silo ``a`` from a written file."""

    def read(written: str) -> Records:
        if source == "function":
            own_code.PATH = Path(written.removeprefix("npz:"))
            written = f"{OWN}:federation"
        if written in HANDED_OVER:
            return federation_of(config.data, by_silo=HANDED_OVER[written]).silo("a").train
        if local:
            return federation_of(config.data.model_copy(update={"source": written})).silo("a").train
        return load_records(written, rounds.plan, "a")

    return read
