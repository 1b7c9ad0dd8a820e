"""Makes `own_nets` importable by its name, as a user's module is, also in worker processes."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
