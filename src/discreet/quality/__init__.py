"""How good a model's answers are: pure functions of probabilities and labels, without torch.

Nothing here is private: every number is an exact function of the records that it was measured on.
"""

from discreet.quality.assess import assess
from discreet.quality.quality import (
    AgainstBaseRate,
    Bin,
    ClassQuality,
    Group,
    Quality,
    Verdict,
    quality_from_json,
    quality_json,
)

__all__ = [
    "AgainstBaseRate",
    "Bin",
    "ClassQuality",
    "Group",
    "Quality",
    "Verdict",
    "assess",
    "quality_from_json",
    "quality_json",
]
