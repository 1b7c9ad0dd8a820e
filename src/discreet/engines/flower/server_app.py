"""The ServerApp: run-config in, the server's job, and nothing else.

Run-config: ``folder`` (on the server: plan.json, allow-list.json), ``patience`` (seconds that a stage waits
for its slowest silo), ``rehearsal`` (Flower's simulation only: a folder of policies whose silos are rehearsed
in this process; empty for real silos).
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from discreet.engines.flower.client_app import REHEARSAL_KEY
from discreet.engines.flower.grid_wire import GridWire
from discreet.engines.flower.rehearsal import rehearsed
from discreet.engines.flower.service import ServerFolder, serve_training
from discreet.engines.flower.stopping import StoppedByOperator
from discreet.errors import ConfigurationError

_DEFAULT_PATIENCE_SECONDS = 120.0


def main(grid: Grid, context: Context) -> None:
    """Carries out the plan in the folder that the run-config names; a wanted end is no failure."""
    config = context.run_config
    if not config.get("folder"):
        raise ConfigurationError(
            "the run-config must name the server's folder; give -c 'folder=\"/path/to/server\"'."
        )
    folder = ServerFolder(Path(str(config["folder"])))
    patience = float(config.get("patience", _DEFAULT_PATIENCE_SECONDS))
    rehearsal = str(config.get(REHEARSAL_KEY, ""))
    # Flower would show a stop by the operator as a crash; the log and outcome.json have said what it is.
    with suppress(StoppedByOperator), rehearsed(Path(rehearsal) if rehearsal else None):
        serve_training(GridWire(grid), folder, patience_seconds=patience)


app = ServerApp()
app.main()(main)
