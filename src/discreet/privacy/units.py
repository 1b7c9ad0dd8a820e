"""Whom a guarantee protects, and what "neighbouring" means."""

from __future__ import annotations

from enum import Enum


class Unit(Enum):
    """What one neighbouring step changes."""

    RECORD = "record"
    PERSON = "person"
    CLIENT = "client"


class NeighboringRelation(Enum):
    """Which pairs of data sets must look alike.

    ``ADD_REMOVE``: one unit is present or absent. ``REPLACE_ONE``: one unit is exchanged for another.
    ``REPLACE_SPECIAL``: one unit is exchanged for one that contributes zero. That it is there, and the noise
    that it adds, are the same on both sides.
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"
    REPLACE_SPECIAL = "replace-special"


class Status(Enum):
    """How well a statement is founded; theory.md uses the same three words."""

    PROVEN = "PROVEN"
    CHECKED = "CHECKED"
    CONDITIONAL = "CONDITIONAL"
