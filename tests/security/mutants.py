"""Plants faults one by one in the lines that stop attacks, and says which tests see each.

    python -m tests.security.mutants [WORD]

``make mutants`` runs it; with a word, only the mutants whose name holds it. Each is planted in a copy of the
tree, never in the tree itself. The exit code is 1 if the tests miss one, and 2 if a text to replace is not
there exactly once: then the list has fallen behind the code.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.security.faults import MUTANTS
from tests.security.faults.mutant import Mutant

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 900


def faulty(mutant: Mutant, text: str) -> str:
    """Returns a file's text with the fault in it.

    Raises:
        SystemExit: if the old text does not stand in it exactly once.
    """
    if text.count(mutant.old) != 1:
        times = text.count(mutant.old)
        print(f"{mutant.name}: {mutant.old!r} must stand once in {mutant.file}; it stands {times} times")  # noqa: T201
        raise SystemExit(2)
    return text.replace(mutant.old, mutant.new)


def seen_by(mutant: Mutant, copy: Path) -> str | None:
    """Plants a fault in a copy of the tree and takes it out again; returns what fails first, in time."""
    path = copy / mutant.file
    sound = path.read_text()
    path.write_text(faulty(mutant, sound))
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-x", "-p", "no:cacheprovider", *mutant.tests]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None  # slow is not wrong: no test has failed
    finally:
        path.write_text(sound)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode not in (0, 1) and not failed:
        raise SystemExit(f"{mutant.name}: the tests could not run: {done.stdout[-500:]}{done.stderr[-500:]}")
    return failed[0].split(" - ")[0].split("::", 1)[-1] if failed else None


def main() -> int:
    """Plants every fault in turn and prints a line for each."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [mutant for mutant in MUTANTS if word in mutant.name]
    if not chosen:
        raise SystemExit(f"a word must be part of a mutant's name; {word!r} is part of none")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        ignored = shutil.ignore_patterns(".git", ".venv*", "runs", "build", "dist", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, copy, ignore=ignored)
        for mutant in chosen:
            faulty(mutant, (copy / mutant.file).read_text())
        for mutant in chosen:
            began = time.monotonic()
            test = seen_by(mutant, copy)
            missed += test is None
            print(f"{mutant.name:50} {time.monotonic() - began:4.0f} s  {test or 'MISSED'}", flush=True)  # noqa: T201
    print(f"{missed} of {len(chosen)} mutants missed")  # noqa: T201 - a script
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
