"""How long commands take: plan, a silo's keys, a training, the same on a cold page cache, a rehearsal.

    python bench/start.py
    python bench/start.py --flower-python PY    # adds `discreet up`; PY has discreet[flower]

Medians of several runs. "Cold" asks the system to drop every file of this Python's libraries from its page
cache first, which it does only while no other process has them mapped: close what else runs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from rows import Row, keep

REPEATS = 5
HEART = Path(__file__).parents[1] / "examples" / "heart.toml"


def seconds(*arguments: str, python: str = sys.executable) -> float:
    """How long the command runs."""
    start = time.perf_counter()
    subprocess.run([python, "-m", "discreet", *arguments], check=True, capture_output=True)
    return time.perf_counter() - start


def drop_libraries() -> None:
    """Drops the libraries' files from the page cache, as far as nobody maps them."""
    for root in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), sysconfig.get_path("stdlib")}:
        for path in Path(root).rglob("*"):
            if path.is_file():
                file = os.open(path, os.O_RDONLY)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(file)


def heart_of(rounds: int, folder: Path) -> Path:
    """Writes the example with so many rounds into ``folder``."""
    before, section, after = HEART.read_text(encoding="utf-8").partition("[training]\n")
    config = folder / f"heart{rounds}.toml"
    config.write_text(f"{before}{section}rounds = {rounds}\n{after}", encoding="utf-8")
    return config


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--flower-python", help="a Python that has discreet[flower]")
    flower = parser.parse_args().flower_python
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        training = ("run", str(HEART), "--quiet", "--overwrite", "--out", str(folder / "run"))
        times: dict[tuple[str, float | None], list[float]] = {
            ("`discreet plan examples/heart.toml`", 1.0): [
                seconds("plan", str(HEART)) for _ in range(REPEATS)
            ],
            ("`discreet silo keygen`", 0.3): [
                seconds("silo", "keygen", str(folder / f"key{number}")) for number in range(REPEATS)
            ],
            ("`discreet run examples/heart.toml`", None): [seconds(*training) for _ in range(REPEATS)],
        }
        cold = []
        for _ in range(3):
            drop_libraries()
            cold.append(seconds(*training))
        times["the same on a cold page cache", 6.0] = cold
        for rounds, goal in ((8, 90.0), (20, None)) if flower else ():
            config = heart_of(rounds, folder)
            rehearsal = seconds("up", str(config), "--out", str(folder / f"up{rounds}"), python=flower)
            times[f"`discreet up examples/heart.toml`, {rounds} rounds", goal] = [rehearsal]
    for (what, goal), taken in times.items():
        print(f"{what:<42} {statistics.median(taken):6.2f} s")
        keep(Row(what, statistics.median(taken), "s", goal))


if __name__ == "__main__":
    main()
