"""A newcomer's path, timed: from clone to report in two commands, from a table to a private model in five.

    python bench/newcomer.py [--tutorial-only]

The first part clones this repository into a temporary folder and runs ``make demo`` there, which installs
everything anew. The second runs the commands of docs/tutorial/own-csv.md. Prints the seconds of each command;
exit code 1 if one fails. How long they may take is for the reader to say.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "docs" / "tutorial" / "own-csv.md"


def first_block(page: str, language: str) -> str:
    """Returns the first fenced block of a language in a page."""
    found = re.search(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)
    if found is None:
        raise SystemExit(f"{TUTORIAL.name} must have a block of {language}; it has none.")
    return found[1]


def timed(command: str, folder: Path, environment: dict[str, str]) -> float:
    """Runs one command and returns its seconds; ends the program if it fails."""
    began = time.monotonic()
    ended = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    taken = time.monotonic() - began
    print(f"{taken:8.1f} s  {command}", flush=True)
    if ended.returncode != 0:
        raise SystemExit(f"failed with exit code {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return taken


def clone_to_report(folder: Path) -> Path:
    """Clones and runs the demo; returns the folder of the installed commands."""
    taken = timed(f"git clone --quiet {ROOT} discreet", folder, dict(os.environ))
    taken += timed("make demo", folder / "discreet", dict(os.environ))
    report = folder / "discreet" / "runs" / "demo" / "report.html"
    if not report.is_file():
        raise SystemExit("make demo must leave a report; there is none.")
    print(f"{taken:8.1f} s  from clone to report, in two commands\n")
    return folder / "discreet" / ".venv" / "bin"


def table_to_model(folder: Path, commands: Path) -> None:
    """Runs the tutorial's program, which makes a table, and then its commands."""
    page = TUTORIAL.read_text(encoding="utf-8")
    subprocess.run([commands / "python", "-c", first_block(page, "python")], cwd=folder, check=True)
    environment = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    lines = first_block(page, "sh").strip().splitlines()
    taken = sum(timed(line, folder, environment) for line in lines)
    if not (folder / "runs" / "own" / "model.safetensors").is_file():
        raise SystemExit("the tutorial must leave a model; there is none.")
    print(f"{taken:8.1f} s  from a table to a private model, in {len(lines)} commands")


def main() -> None:
    """Runs both parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tutorial-only", action="store_true", help="use the environment that runs this")
    only = parser.parse_args().tutorial_only
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = Path(sys.executable).parent if only else clone_to_report(folder)
        table_to_model(folder, commands)


if __name__ == "__main__":
    main()
