"""How one table is split into silos: ``data.partition``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.kinds.fields import Count, Positive, Section


class IidPartition(Section):
    """Splits one table into ``silos`` silos at random; simulation only.

    Attributes:
        silos: how many.
    """

    kind: Literal["iid"]
    silos: Count


class DirichletPartition(Section):
    """Splits one table into ``silos`` silos with label proportions drawn from Dirichlet(alpha).

    Attributes:
        silos: how many.
        alpha: concentration: the smaller, the more the proportions differ.
    """

    kind: Literal["dirichlet"]
    silos: Count
    alpha: Positive


class ColumnPartition(Section):
    """One silo for every value of a column, or for each of ``names``.

    Attributes:
        column: says which silo holds a record.
        names: the public list of silos. One without records is empty, and a record of another silo is left
            out. Without it the names are taken from the column, and are public.
    """

    kind: Literal["column"]
    column: str
    names: Annotated[tuple[str, ...], Field(min_length=1)] | None = None


PartitionConfig = Annotated[IidPartition | DirichletPartition | ColumnPartition, Field(discriminator="kind")]
