"""Metrics of a running training, sent to an experiment tracker: only what may leave."""

from discreet.tracking.mlflow import MLflow
from discreet.tracking.public import public_values
from discreet.tracking.tensorboard import TensorBoard
from discreet.tracking.tracker import Tracker

__all__ = ["MLflow", "TensorBoard", "Tracker", "public_values"]
