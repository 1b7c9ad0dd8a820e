"""How good a model's answers are: pure functions of answers and labels, without torch.

Nothing here is private: every number is an exact function of the records that it was measured on.
"""

from discreet.quality.assess import assess, called, shares_of_labels
from discreet.quality.documents import AnyQuality, quality_from_json, quality_json
from discreet.quality.numbers import NumberGroup, NumberQuality, assess_numbers
from discreet.quality.quality import (
    Group,
    LabelQuality,
    Quality,
    Verdict,
)

__all__ = [
    "AnyQuality",
    "Group",
    "LabelQuality",
    "NumberGroup",
    "NumberQuality",
    "Quality",
    "Verdict",
    "assess",
    "assess_numbers",
    "called",
    "quality_from_json",
    "quality_json",
    "shares_of_labels",
]
