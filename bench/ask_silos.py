"""What a query costs over four silo processes, each with a file and a socket of its own.

    python bench/ask_silos.py --rows 10000 --queries 5

The silos are `discreet silo serve`; in place of Flower, requests go straight to their sockets, all at once.
Measured is the whole of a query: proposal, review by four owners' policies, reading of four files, keys, the
sum and the answer; and of it the sum alone, from the invitation on.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from discreet.config import parse_config
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.engines.flower.engine import FlowerEngine
from discreet.randomness import SecureRandom
from discreet.rounds import RoundOrder
from discreet.silo.connection import ask

SILOS = ("east", "north", "south", "west")
PATIENCE = 60.0


class Sockets:
    """Carries requests to silos on this machine; a `Wire` that waits for no poll."""

    def __init__(self, paths: Mapping[int, Path]) -> None:
        self._paths = dict(paths)
        self._pool = ThreadPoolExecutor(len(paths))
        self._open: dict[str, Future[bytes]] = {}
        self._count = 0

    def nodes(self) -> tuple[int, ...]:
        """Returns all silos."""
        return tuple(self._paths)

    def post(self, requests: Mapping[int, bytes], *, label: str, lifetime_seconds: float) -> dict[str, int]:
        """Sends each request from a thread of its own."""
        del label
        posted = {}
        for node, body in requests.items():
            self._count += 1
            posted[str(self._count)] = node
            self._open[str(self._count)] = self._pool.submit(
                ask, self._paths[node], body, timeout_seconds=lifetime_seconds
            )
        return posted

    def collect(self, posted: Mapping[str, int]) -> dict[str, bytes | None]:
        """Waits for all replies."""
        return {message: self._open.pop(message).result() for message in posted}


def write_tables(folder: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    for silo in SILOS:
        ages, stages = rng.integers(30, 95, rows), rng.integers(0, 3, rows)
        days, died = rng.integers(0, 1825, rows), rng.integers(0, 2, rows)
        lines = [f"{age},{'I' * (stage + 1)},{day},{'yes' if end else 'no'}"
                 for age, stage, day, end in zip(ages, stages, days, died, strict=True)]  # fmt: skip
        (folder / f"{silo}.csv").write_text("\n".join(["age,stage,days,died", *lines]) + "\n")


def config_of(folder: Path, rows: int) -> dict[str, object]:
    return {
        "data": {
            "source": f"csv:{folder}/",
            "record_capacity": rows,
            "ranges": {"age": [30, 95], "days": [0, 1825]},
            "categories": {"stage": ["I", "II", "III"], "died": ["no", "yes"]},
        },
        "ask": [
            {"kind": "count"},
            {"kind": "table", "of": ["stage", "died"]},
            {"kind": "moments", "of": ["age"]},
            {"kind": "quantiles", "of": "age"},
            {"kind": "survival", "time": "days", "event": "died", "by": "stage"},
        ],
        "privacy": {"epsilon": 1.0, "delta": 1e-5},
        "aggregation": {"min_survivors": 3, "max_colluding": 1},
    }


def own_policy(path: Path, table: Path) -> None:
    """Lets a silo read its own file alone, and answer many queries."""
    found = []
    for line in path.read_text().splitlines():
        key = line.partition(" = ")[0]
        new = {"source": f'"csv:{table}"'}.get(key)
        if key.startswith("max_epsilon"):
            new = "1000.0"
        if key.startswith("max_delta"):
            new = "0.1"
        found.append(line if new is None else f"{key} = {new}")
    path.write_text("\n".join(found) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=5)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="ask-") as made:
        tables, path = Path(made) / "tables", Path(made) / "c"
        tables.mkdir()
        write_tables(tables, given.rows)
        rehearse(parse_config(config_of(tables, given.rows)), path)
        folder = ConsortiumFolder(path)
        paths = {number: Path(made) / f"{name}.sock" for number, name in enumerate(SILOS, start=1)}
        processes = []
        for name, place in zip(SILOS, paths.values(), strict=True):
            own_policy(folder.policy(name), tables / f"{name}.csv")
            command = [sys.executable, "-m", "discreet", "silo", "serve", str(folder.policy(name))]
            processes.append(subprocess.Popen([*command, "--socket", str(place)], stderr=subprocess.DEVNULL))
        try:
            while not all(place.exists() for place in paths.values()):
                time.sleep(0.05)
            numbers = [os.getpid(), *(process.pid for process in processes)]
            measure(folder, Sockets(paths), given.queries, numbers)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


def processor_seconds(processes: list[int]) -> float:
    """Returns the processor time of some processes so far (proc(5), utime and stime)."""
    fields = [Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split() for number in processes]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")


def measure(folder: ConsortiumFolder, wire: Sockets, queries: int, processes: list[int]) -> None:
    proposal = folder.server.proposal()
    whole, sums, used = [], [], processor_seconds(processes)
    for number in range(1, queries + 1):
        begun = time.perf_counter()
        engine = FlowerEngine(
            proposal, wire, SecureRandom(), patience_seconds=PATIENCE, announce=lambda _: None
        )
        engine.open()
        ready = time.perf_counter()
        outcome = engine.sum_round(RoundOrder(1, number, np.zeros(proposal.plan.facts.dimension)))
        whole.append(time.perf_counter() - begun)
        sums.append(time.perf_counter() - ready)
        print(f"query {number}: {whole[-1]:.2f} s, the sum {sums[-1]:.2f} s, {len(outcome.survivors)} silos")
    middle, of_it = statistics.median(whole), statistics.median(sums)
    used = (processor_seconds(processes) - used) / queries
    print(
        f"median of {queries}: {middle:.2f} s, the sum {of_it:.2f} s; processor time of a query, server and "
        f"four silos together: {used:.2f} s"
    )


if __name__ == "__main__":
    main()
