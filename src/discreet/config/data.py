"""The [data] and [model] tables: where the records are, what is publicly known of them, which model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.config.fields import Count, Positive, Section


class IidPartition(Section):
    """Splits one table into ``silos`` silos at random; simulation only."""

    kind: Literal["iid"]
    silos: Count


class DirichletPartition(Section):
    """Splits one table into ``silos`` silos with label proportions drawn from Dirichlet(alpha)."""

    kind: Literal["dirichlet"]
    silos: Count
    alpha: Positive


class ColumnPartition(Section):
    """One silo for every value of a column."""

    kind: Literal["column"]
    column: str


PartitionConfig = Annotated[IidPartition | DirichletPartition | ColumnPartition, Field(discriminator="kind")]


Transform = (
    Literal["scattering", "scattering-maps", "centred-pixels"] | Annotated[str, Field(pattern="^residual:.")]
)


class DataConfig(Section):
    """Where the records are, and what is publicly known of them; never computed from private records.

    Attributes:
        source: ``heart-disease``, ``digits``, ``npz:PATH``, ``csv:PATH`` or ``module:function``. A PATH may
            hold environment variables such as ``$DISCREET_DATA``; its folder is not part of the agreed plan.
        record_capacity: public upper bound on the training records of a silo: one number, or one for each
            silo by name. It is part of the plan, so it must not be counted from private data. With fixed-size
            sampling it is the exact number, which is then not hidden.
        test_fraction: probability that a record is held out for measurements.
        keep_test_set: hold out the source's own test records, where it has some; false puts them among the
            others, and holds out ``test_fraction`` of all.
        split_seed: public seed of the split and of random partitions.
        label: the column to predict (csv).
        ranges: numeric feature columns with their plausible range (csv).
        categories: categorical feature columns with their possible texts (csv).
        num_classes: number of classes.
        feature_norm_bound: L2 norm that every record is scaled to.
        partition: which record belongs to which silo; left out, the source's own silos.
        transform: a public feature map, applied to each image by itself. ``scattering``, ``centred-pixels``
            and ``residual:PATH`` (the last layer of a residual network with these weights) are for linear
            heads; ``scattering-maps`` is for networks such as ``cnn-group-norm``.
    """

    source: str
    record_capacity: Count | dict[str, Count] | None = None
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.25
    keep_test_set: bool = True
    split_seed: Annotated[int, Field(ge=0)] = 0
    label: str | None = None
    ranges: dict[str, tuple[float, float]] | None = None
    categories: dict[str, tuple[str, ...]] | None = None
    num_classes: Annotated[int, Field(ge=2)] | None = None
    feature_norm_bound: Positive | None = None
    partition: PartitionConfig | None = None
    transform: Transform | None = None


class ModelConfig(Section):
    """Which model: a bundled name or ``module:factory``; ``seed`` fixes its public initial weights."""

    name: str = "logistic"
    seed: Annotated[int, Field(ge=0)] = 0
