"""The local engine: every silo in one process, for research, rehearsal and the demo.

The names are imported when they are first used, so that worker processes can be started before torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.engines.local.comparison import Comparison
    from discreet.engines.local.engine import LocalEngine
    from discreet.engines.local.job import Opening, Prepared, RunResult, prepare, run

_HOME_OF = {
    "Comparison": "comparison",
    "LocalEngine": "engine",
    "Opening": "job",
    "Prepared": "job",
    "RunResult": "job",
    "prepare": "job",
    "run": "job",
}

__all__ = ["Comparison", "LocalEngine", "Opening", "Prepared", "RunResult", "prepare", "run"]


def __getattr__(name: str) -> Any:
    """Imports a public name from its home."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
