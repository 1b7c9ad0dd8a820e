"""How much memory and time a large table takes to load, beside the size of its encoded features.

    python bench/tables.py                          # 5,000,000 rows as Parquet, then as CSV
    python bench/tables.py --rows 500000 --kind csv
    python bench/tables.py --capacity 100000        # a silo that uses no more of them

Each table has twelve columns: seven numbers, a date, three categories of four texts and a label; with a
constant, 21 features of four bytes a record. It is written into a temporary folder, some rows at a time, and
read by a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

NUMBERS = tuple(f"v{number}" for number in range(7))
KINDS = ("kind", "place", "stage")
TEXTS = ("a", "b", "c", "d")
BLOCK = 250_000


def block(rows: int, seed: int) -> dict[str, list[object]]:
    """Returns some rows, by column."""
    source = np.random.default_rng(seed)
    days = np.datetime64("2000-01-01") + source.integers(0, 7000, rows)
    return {
        **{name: source.normal(size=rows).round(4).tolist() for name in NUMBERS},
        "day": days.astype(str).tolist(),
        **{name: np.array(TEXTS)[source.integers(0, len(TEXTS), rows)].tolist() for name in KINDS},
        "sick": source.integers(0, 2, rows).tolist(),
    }


def write(path: Path, rows: int) -> None:
    """Writes a table of ``rows`` rows, by the ending of its name."""
    sizes = [min(BLOCK, rows - first) for first in range(0, rows, BLOCK)]
    if path.suffix == ".csv":
        with path.open("w") as file:
            file.write(",".join(block(0, 0)) + "\n")
            for seed, size in enumerate(sizes):
                file.writelines(
                    ",".join(map(str, row)) + "\n" for row in zip(*block(size, seed).values(), strict=True)
                )
        return
    import pyarrow
    from pyarrow import parquet

    first = pyarrow.table(block(1, 0))
    with parquet.ParquetWriter(path, first.schema) as writer:
        for seed, size in enumerate(sizes):
            writer.write_table(pyarrow.table(block(size, seed)))


def load(path: Path, rows: int, capacity: int | None) -> None:
    """Loads a table in this process, and prints what it took."""
    from discreet.config import parse_data
    from discreet.config.federation import federation_of

    data = parse_data(
        {
            "source": {"one": f"{path.suffix[1:]}:{path}"},
            "label": "sick",
            "ranges": {name: [-4, 4] for name in NUMBERS},
            "dates": {"day": {"from": "2000-01-01", "to": "2020-12-31"}},
            "categories": dict.fromkeys(KINDS, TEXTS),
            "record_capacity": capacity,
        }
    )
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    silo = federation_of(data).silos[0]
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    features = silo.train.features.nbytes + silo.test.features.nbytes
    found = {
        "file": path.suffix,
        "records": len(silo.train) + len(silo.test),
        "file_mb": path.stat().st_size >> 20,
        "features_mb": features >> 20,
        "start_mb": before >> 10,
        "peak_mb": peak >> 10,
        "growth_by_features": round((peak - before) * 1024 / features, 2),
        "seconds": round(seconds, 1),
        "rows_a_second": round(rows / seconds),
    }
    print(json.dumps(found))


def main() -> None:
    """Writes each kind of table and loads it in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--kind", choices=("parquet", "csv"), action="append")
    parser.add_argument("--capacity", type=int)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write is not None:
        write(options.write, options.rows)
        return
    if options.load is not None:
        load(options.load, options.rows, options.capacity)
        return
    # A process inherits the peak of the one that starts it, so this one stays small.
    command = [sys.executable, __file__, "--rows", str(options.rows)]
    command += [] if options.capacity is None else ["--capacity", str(options.capacity)]
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.kind or ("parquet", "csv"):
            path = Path(folder) / f"table.{kind}"
            for step in ("--write", "--load"):
                subprocess.run([*command, step, str(path)], check=True)


if __name__ == "__main__":
    main()
