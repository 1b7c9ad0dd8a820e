"""How much of a reproduction is computed."""

from enum import Enum


class Scale(Enum):
    """How much to compute: ``SMALL`` in minutes, in every change; ``FULL`` as in the paper, by hand."""

    SMALL = "small"
    FULL = "full"
