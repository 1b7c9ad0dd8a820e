"""MLflow: one run of an experiment, at whatever tracking server MLflow itself is set up for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Self

from discreet.errors import ConfigurationError
from discreet.tracking.tracker import optional


class MLflow:
    """Records a run of ``experiment``; a `Tracker`. ``MLFLOW_TRACKING_URI`` says where, as always.

    MLflow's own reports to its makers are switched off, unless the environment says otherwise.

    Args:
        experiment: made if it does not exist.
        run_name: shown for the run.

    Raises:
        ConfigurationError: if the ``mlflow`` package is not installed, or has no place to record in.
    """

    def __init__(self, experiment: str, run_name: str) -> None:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        self._mlflow = optional("mlflow", option="--mlflow", extra="mlflow")
        try:
            self._mlflow.set_experiment(experiment)
            self._mlflow.start_run(run_name=run_name)
        except self._mlflow.exceptions.MlflowException as error:
            told = str(error).strip().splitlines()[0]
            raise ConfigurationError(
                f"--mlflow must have a place to record in; MLflow says: {told} "
                "Set MLFLOW_TRACKING_URI to a server, or to sqlite:///FILE."
            ) from None

    def record(self, release: int, values: Mapping[str, float]) -> None:
        """Records one metric a value."""
        self._mlflow.log_metrics(dict(values), step=release)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._mlflow.end_run("FINISHED" if kind is None else "FAILED")
