"""How records are prepared before a training, by one noisy sum: the tables of a config."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from discreet.kinds.fields import Section, within

MOST_BINS = 64
"""Into how many bins of equal width a range is cut at most."""

_LEAST_SHARE, _MOST_SHARE = 0.001, 0.9
# With less the release says nothing but noise; with more the training does.
Share = Annotated[
    float,
    Field(ge=_LEAST_SHARE, le=_MOST_SHARE),
    within(_LEAST_SHARE, _MOST_SHARE, f"from {_LEAST_SHARE} to {_MOST_SHARE}, such as 0.1"),
]


class PreparationConfig(Section):
    """What one release before the first round asks training records for, and what it gets of the budget.

    Guarantee:
        The release is composed with the training: both together satisfy ``privacy.epsilon``. What it leads to
        is a public map of one record, so that every bound of the training holds under any map, also under one
        that a server made up (docs/theory/questions.md).

    Attributes:
        share: of the budget, as the part μ² · share of the Gaussian privacy that ε and δ leave; from 0.001 to
            0.9.
    """

    key: ClassVar[str]
    """What the key is called in its table."""

    table: ClassVar[str] = "data"
    """The table of a config that it is in."""

    sources: ClassVar[tuple[str, ...]]
    """What a silo's own source begins with: records of these end with a constant, and others need not."""

    share: Share = 0.1

    @property
    def path(self) -> str:
        """The key that states it, as messages name it."""
        return f"'{self.table}.{self.key}'"

    def model_shape(self, feature_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of a record as the model takes it, of the shape as it is read."""
        return feature_shape


class CentreConfig(PreparationConfig):
    """Whole records are centred by their noisy mean, and scaled to their bound again.

    Attributes:
        kind: ``private``, from a noisy sum over the training records.
    """

    key: ClassVar[str] = "centre"
    sources: ClassVar[tuple[str, ...]] = ("csv:", "parquet:", "npz:")

    kind: Literal["private"]


class ProjectConfig(PreparationConfig):
    """Records are centred and projected onto the directions of most variance that noisy moments show.

    Attributes:
        kind: ``private-pca``, from a noisy sum over the training records.
        components: how many directions; a record then has so many features, and the constant.
    """

    key: ClassVar[str] = "project"
    sources: ClassVar[tuple[str, ...]] = ("csv:", "parquet:", "npz:")

    kind: Literal["private-pca"]
    components: Annotated[int, Field(strict=True, ge=1, examples=[32])]

    def model_shape(self, feature_shape: tuple[int, ...]) -> tuple[int, ...]:  # noqa: ARG002
        """Returns a feature for each direction, and the constant."""
        return (self.components + 1,)


class StandardiseConfig(PreparationConfig):
    """Numbers are centred and scaled by what noisy histograms say of them.

    Attributes:
        kind: ``private``, from a noisy sum over the training records.
        floor: the least scale, where the public range has a half-width of 1.
    """

    key: ClassVar[str] = "standardise"
    sources: ClassVar[tuple[str, ...]] = ("csv:", "parquet:")

    kind: Literal["private"]
    floor: Annotated[float, Field(gt=0, le=1)] = 0.02


class ClassWeightsConfig(PreparationConfig):
    """Classes weigh inversely to how frequent they are, by noisy counts: what is rarest weighs 1.

    The counts lead to no map of records, but to the public weights of the rounds.

    Attributes:
        kind: ``private``, from one noisy count for each class.
        most: how many times as much as another a class may weigh at most; above 1, at which all weigh alike.
    """

    key: ClassVar[str] = "class_weights"
    table: ClassVar[str] = "training.local"

    kind: Literal["private"]
    share: Share = 0.05
    most: Annotated[float, Field(gt=1, le=1000)] = 20.0
