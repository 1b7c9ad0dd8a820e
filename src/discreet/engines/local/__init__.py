"""The local engine: every silo in one process, for research, rehearsal and the demo."""

from discreet.engines.local.comparison import Comparison
from discreet.engines.local.engine import LocalEngine
from discreet.engines.local.run import Opening, Prepared, RunResult, prepare, run

__all__ = ["Comparison", "LocalEngine", "Opening", "Prepared", "RunResult", "prepare", "run"]
