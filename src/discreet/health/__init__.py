"""Health for owners and operators: status read from files, and metrics at a local address."""

from __future__ import annotations

from discreet.health.endpoint import Address, Endpoint
from discreet.health.run_metrics import run_metrics
from discreet.health.run_status import RunState, RunStatus, read_run_status
from discreet.health.silo_status import SiloStatus, read_silo_status
from discreet.health.silo_watch import SiloWatch

__all__ = [
    "Address",
    "Endpoint",
    "RunState",
    "RunStatus",
    "SiloStatus",
    "SiloWatch",
    "read_run_status",
    "read_silo_status",
    "run_metrics",
]
