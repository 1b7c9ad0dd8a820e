"""Commands that are imported when they are called, so that quick ones do not wait for the slow ones."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

# One summary a command, in the order of the help; a test compares them with the commands' own.
SUMMARIES = {
    "run": "Train as CONFIG says and write plan, ledger, metrics, model and report.",
    "ask": "Ask all silos the questions of CONFIG and answer them from one secure sum.",
    "plan": "Work out the plan that CONFIG asks for: noise, ring, bytes, and every adversary's guarantee.",
    "account": "Account for a mechanism in one line, or calibrate its noise.",
    "report": "Write report.html and report.json from the files of a run.",
    "predict": "Predict the class, or number, of every row of a file; a label is not needed.",
    "evaluate": "Say how good a model is on the labelled rows of a file; nothing leaves this machine.",
    "export": "Write a model, preprocessing included, in forms that load without this package; and its card.",
    "verify": "Work out every number of a run again from plan and ledger; exit code 2 with the "
    "first that is wrong.",
    "audit": "Attack the guarantees of TARGET in seeded rehearsals; exit code 1 if one of "
    "them does not hold.",
    "reproduce": "Run reproductions; exit code 1 if a number misses what was expected, else 0.",
    "init": "Ask seven questions (or take the options) and write a config that `discreet plan` accepts.",
    "look": "Look at your own tables and draft the config's data section; nothing is sent or written.",
    "doctor": "Look at versions, processor, memory, clock and disk; exit code 1 if something must be mended.",
    "up": "Run CONFIG over SuperLink, SuperNodes and silos on this machine, with TLS and "
    "node authentication.",
    "new": "Write a consortium project: app, config, policies, data adapters, a key script and a README.",
    "check": "Say what would leave this silo under PLAN and what it would cost; sends nothing.",
    "silo": "The data owner's side: serve a silo, see how it stands, make its key, approve a plan.",
    "consortium": "The consortium's side: plan without data, enrol silos, make certificates, watch, stop "
    "and seal a run.",
}


class LazyCommands(TyperGroup):
    """A group that shows all commands at once and imports the one that is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (the group's contract)
        """Returns every name, in the order of the help."""
        return list(SUMMARIES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 (the group's contract)
        """Returns a stand-in with name and summary, for help and completion of names."""
        summary = SUMMARIES.get(cmd_name)
        return None if summary is None else TyperCommand(cmd_name, help=summary, short_help=summary)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Imports the command that is called."""
        if args and args[0] in SUMMARIES:
            return args[0], load(args[0]), args[1:]
        return super().resolve_command(ctx, args)


def load(name: str) -> Any:
    """Returns the real command ``name``: the object of that name in ``discreet.cli.<name>``."""
    with quick_imports():
        found = getattr(importlib.import_module(f"discreet.cli.{name}"), name)
    if isinstance(found, typer.Typer):
        return get_command(found)
    single = typer.Typer(rich_markup_mode="rich", context_settings={"help_option_names": ["-h", "--help"]})
    single.command(name=name)(found)
    return get_command(single)


@contextmanager
def quick_imports() -> Iterator[None]:
    """Never looks for garbage among the hundreds of thousands of objects that the imports inside make."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
