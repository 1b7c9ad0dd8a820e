"""The command's entry: one line and an exit code for every deliberate error, never a traceback."""

from __future__ import annotations

import logging
import os
import sys
from typing import Annotated, Any

import typer

from discreet.cli.console import spell_out
from discreet.cli.failures import report
from discreet.cli.lazy import LazyCommands
from discreet.cli.log import LOGGER, log_to_stderr
from discreet.log_line import LogFormat
from discreet.own_code import place_in_own_code
from discreet.version import __version__


class Commands(LazyCommands):
    """The commands; code of the user that would end the program from within one is reported."""

    def invoke(self, ctx: Any) -> Any:
        """Runs the command. What it ends with itself is no ``SystemExit`` here, but becomes one outside."""
        try:
            return super().invoke(ctx)
        except SystemExit as error:
            if place_in_own_code(error) is None:
                raise
            raise typer.Exit(_reported(error)) from None


app = typer.Typer(
    name="discreet",
    cls=Commands,
    help="Differentially private federated learning with secure aggregation and guarantees that hold.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[  # noqa: ARG001 (its callback acts on it)
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log each step, and the trace of an error, to stderr.")
    ] = False,
    log_format: Annotated[
        LogFormat, typer.Option(help="Form of the log; auto is text on a terminal and JSON elsewhere.")
    ] = LogFormat.AUTO,
) -> None:
    """Differentially private federated learning with secure aggregation and guarantees that hold."""
    if verbose:
        log_to_stderr(log_format)


def main() -> None:
    """Runs the command line; exit code 2 for a bad request, 3 for a privacy refusal, 1 for a defect."""
    # Before numpy is loaded: silos are trained in parallel, so matrix products need no threads of their own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        spell_out(stream)
    try:
        app()
    except Exception as error:
        sys.exit(_reported(error))


def _reported(error: Exception | SystemExit) -> int:
    return report(error, verbose=LOGGER.isEnabledFor(logging.INFO))
