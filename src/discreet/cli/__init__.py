"""The ``discreet`` command."""

from __future__ import annotations

import sys

# What shells report for a process that Ctrl-C ended.
EXIT_INTERRUPTED = 130


def main() -> None:
    """Runs the command line; Ctrl-C ends it without a traceback, while it is still importing as well."""
    try:
        from discreet.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


__all__ = ["EXIT_INTERRUPTED", "main"]
