"""The interactive page of ``discreet plan --html``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from discreet.errors import ConfigurationError
from discreet.plan.over_records import Planned
from discreet.plan.sweep import Axis, SweepRow
from discreet.report.exploration import Exploration, explore, from_sweep
from discreet.report.explorer import render


def write_neighbourhood(planned: Planned, path: Path) -> None:
    """Writes a page of plans around this one."""
    _write(explore(planned.config, planned.plan), path)


def write_sweep(planned: Planned, axes: Iterable[Axis], rows: Iterable[SweepRow], path: Path) -> None:
    """Writes a page of a sweep whose axes the user chose."""
    _write(from_sweep(planned.plan, axes, rows), path)


def _write(exploration: Exploration, path: Path) -> None:
    try:
        path.write_text(render(exploration), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"--html must be a file that can be written; {path}: {error.strerror}."
        ) from None
    typer.echo(f"explorer: {path}", err=True)
