"""Makes the attacks and the worlds of the neighbour contract importable under ``--import-mode=importlib``."""

from __future__ import annotations

import sys
from pathlib import Path

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / "contracts" / "neighbours")]
