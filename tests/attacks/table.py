"""Every known attack on a guarantee against this version, one line each; exit code 1 if one works.

``make attack`` runs it; ``--quiet`` prints only what works.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table

from tests.attacks import (
    on_accounting,
    on_files,
    on_records,
    on_schedules,
    on_servers,
    on_silos,
    on_statements,
    on_sums,
)
from tests.attacks.outcome import Outcome

ATTACKS: tuple[Callable[[], Outcome], ...] = (
    *on_records.ATTACKS,
    *on_accounting.ATTACKS,
    *on_schedules.ATTACKS,
    *on_statements.ATTACKS,
    *on_silos.ATTACKS,
    *on_servers.ATTACKS,
    *on_sums.ATTACKS,
    *on_files.ATTACKS,
)


def main(arguments: list[str]) -> int:
    """Runs all attacks and prints the table."""
    # One thread: matrices are small. Overflows are what some of the attacks are about.
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    began, quiet = time.monotonic(), "--quiet" in arguments
    table = Table("attack", "what it got before", "what it gets now", "", show_edge=False, pad_edge=False)
    failed = 0
    for attack in ATTACKS:
        found = attack()
        failed += found.works
        if found.works or not quiet:
            mark = "WORKS" if found.works else "fails"
            style = "bold red" if found.works else ""
            table.add_row(found.attack, found.before, found.now, mark, style=style)
    console = Console(width=None if sys.stdout.isatty() else int(os.environ.get("COLUMNS", "150")))
    if table.rows:
        console.print(table)
    seconds = time.monotonic() - began
    if failed or not quiet:
        print(f"{failed} of {len(ATTACKS)} attacks work, in {seconds:.0f} s")  # noqa: T201 - a script
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
