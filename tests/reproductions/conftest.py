"""What reproductions share is importable, as it is for their scripts."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "reproductions"))
