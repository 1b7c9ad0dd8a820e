"""Plants faults one by one in the lines that stop attacks, and says which tests see each.

    python -m tests.security.mutants [WORD]

``make mutants`` runs it; with a word, only the mutants whose name holds it. Each is planted in a copy of the
tree, never in the tree itself. Its tests run once without a fault before: red ones see nothing. The exit code
is 1 if the tests miss one, or fail without it, and 2 if a text to replace is not there exactly once: then the
list has fallen behind the code.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
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


def require_sound(tests: tuple[str, ...], copy: Path) -> None:
    """Runs tests on the tree as it is, where they must pass: what is red anyway sees no fault.

    Raises:
        SystemExit: if they do not, or not in time.
    """
    try:
        done = _run(tests, copy)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"{' '.join(tests)} must end in {LIMIT_SECONDS} s without a fault") from None
    if done.returncode != 0:
        first = [*_failures(done), *done.stdout.splitlines()[-1:], done.stderr[-500:]][0]
        raise SystemExit(f"{' '.join(tests)} must pass without a fault: {first}")


def seen_by(mutant: Mutant, copy: Path) -> str | None:
    """Plants a fault in a copy of the tree and takes it out again; returns what fails first, in time."""
    path = copy / mutant.file
    sound = path.read_text()
    path.write_text(faulty(mutant, sound))
    try:
        done = _run(mutant.tests, copy)
    except subprocess.TimeoutExpired:
        return None  # slow is not wrong: no test has failed
    finally:
        path.write_text(sound)
    failed = _failures(done)
    if done.returncode not in (0, 1) and not failed:
        raise SystemExit(f"{mutant.name}: the tests could not run: {done.stdout[-500:]}{done.stderr[-500:]}")
    return failed[0].split(" - ")[0].split("::", 1)[-1] if failed else None


def _run(tests: tuple[str, ...], copy: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-q", "-x", "-p", "no:cacheprovider", *tests],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def _failures(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]


def missed_in(copy: Path, mutants: Sequence[Mutant]) -> int:
    """Plants each fault in turn, prints a line for it, and returns how many the tests miss.

    Raises:
        SystemExit: as `require_sound`.
    """
    missed, sound = 0, set[tuple[str, ...]]()
    for mutant in mutants:
        if mutant.tests not in sound:
            require_sound(mutant.tests, copy)
            sound.add(mutant.tests)
        began = time.monotonic()
        test = seen_by(mutant, copy)
        missed += test is None
        print(f"{mutant.name:50} {time.monotonic() - began:4.0f} s  {test or 'MISSED'}", flush=True)  # noqa: T201
    return missed


def main() -> int:
    """Plants every fault in turn and prints a line for each."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [mutant for mutant in MUTANTS if word in mutant.name]
    if not chosen:
        raise SystemExit(f"a word must be part of a mutant's name; {word!r} is part of none")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        ignored = shutil.ignore_patterns(".git", ".venv*", "runs", "build", "dist", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, copy, ignore=ignored)
        for mutant in chosen:
            faulty(mutant, (copy / mutant.file).read_text())
        missed = missed_in(copy, chosen)
    print(f"{missed} of {len(chosen)} mutants missed")  # noqa: T201 - a script
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
