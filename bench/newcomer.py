"""A newcomer's path, timed: from clone to report in two commands, from messy tables to predictions in five.

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


def before_first_heading(page: str) -> str:
    """Returns the page's own path, which ends at its first heading; what follows explains it."""
    return page[: page.index("\n## ")]


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


def tables_to_predictions(folder: Path, commands: Path) -> None:
    """Runs the script that makes the tutorial's tables, and then its commands."""
    page = before_first_heading(TUTORIAL.read_text(encoding="utf-8"))
    (folder / "examples").symlink_to(ROOT / "examples")
    for name, text in re.findall(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", page, re.M | re.S):
        (folder / name).write_text(text, encoding="utf-8")
    environment = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    made, *lines = "".join(re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S)).splitlines()
    timed(made, folder, environment)
    taken = sum(timed(line, folder, environment) for line in lines)
    if not (folder / "scores.csv").is_file():
        raise SystemExit("the tutorial must leave predictions; there are none.")
    print(f"{taken:8.1f} s  from messy tables to predictions and an exported model, in {len(lines)} commands")


def main() -> None:
    """Runs both parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tutorial-only", action="store_true", help="use the environment that runs this")
    only = parser.parse_args().tutorial_only
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = Path(sys.executable).parent if only else clone_to_report(folder)
        tables_to_predictions(folder, commands)


if __name__ == "__main__":
    main()
