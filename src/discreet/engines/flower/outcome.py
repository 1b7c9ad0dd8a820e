"""How the server's work ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from discreet.documents import read_json
from discreet.engines.flower.stopping import StoppedByOperator
from discreet.engines.local import RunResult
from discreet.errors import ConfigurationError, DiscreetError
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.wire import to_json
from discreet.rounds import RunDirectory, finished, read_record
from discreet.rounds.directory import write_durably


def finished_run(directory: RunDirectory) -> RunResult:
    """Reads the server's files back as the result of a finished training; nothing was measured on records.

    Raises:
        ConfigurationError: if the training is not finished, or there is none.
        LedgerError: if the ledger's chain is broken.
    """
    run = read_record(directory.path)
    plan, spent = run.plan, run.spending
    if not (finished(plan, directory, spent) and directory.model.exists()):
        raise ConfigurationError(
            f"the training in {directory.path} must be finished; {len(spent.completed)} of {plan.releases} "
            "rounds are completed. Run the server again to go on."
        )
    return RunResult(plan, spent, metrics={}, comparison=None, seeded=run.seeded, directory=directory)


def write_outcome(
    path: Path, *, guarantee: Guarantee | None = None, error: DiscreetError | None = None
) -> None:
    """Writes the outcome durably: a guarantee if the training was completed, else the error.

    The status is ``completed``; ``aborted``, if the operator wanted an end; or ``stopped``.
    """
    stopped = "aborted" if isinstance(error, StoppedByOperator) else "stopped"
    document = {
        "status": "completed" if error is None else stopped,
        "guarantee": None if guarantee is None else to_json(guarantee),
        "error": None if error is None else str(error),
        "exit_code": 0 if error is None else error.exit_code,
    }
    write_durably(path, json.dumps(document, indent=1).encode())


def read_outcome(path: Path) -> dict[str, Any] | None:
    """Returns the outcome that `write_outcome` wrote; None if there is none.

    Raises:
        ConfigurationError: if something else stands there.
    """
    try:
        read = read_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        read = None
    if not isinstance(read, dict) or read.get("status") not in ("completed", "aborted", "stopped"):
        raise ConfigurationError(
            f"{path.name} must be what the server writes, with a status; got another text. Remove the file."
        )
    return read
