"""The [data] table: where the records are, and what is publicly known of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from discreet.config.columns import BinsConfig, DateRange, Label, Missing, Person
from discreet.config.partition import DirichletPartition, PartitionConfig
from discreet.config.pretrained import PretrainedConfig
from discreet.kinds.fields import Count, Section
from discreet.kinds.preparation import CentreConfig, PreparationConfig, ProjectConfig, StandardiseConfig

MOST_CLASSES = 1 << 16
"""Whoever reads a plan writes down a text for each class of a table."""

Transform = (
    Literal["scattering", "scattering-maps", "centred-pixels"]
    | Annotated[str, Field(pattern="^(residual|onnx):.")]
    | Annotated[str, Field(pattern=r"^(map|network):\w+(\.\w+)*:\w+$")]
)


def _text_or_texts(source: object) -> object:
    """Refuses a source that is neither one text nor one for each silo, in one line for both."""
    texts = list(source.values()) if isinstance(source, Mapping) else [source]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError('must be a text, or one for each silo as in { north = "csv:north.csv" }')
    return source


Source = Annotated[str | dict[str, str], BeforeValidator(_text_or_texts)]
Written = str | dict[str, str]


class DataConfig(Section):
    """Where the records are, and what is publicly known of them; never computed from private records.

    Attributes:
        source: ``heart-disease``, ``digits``, ``npz:PATH``, ``csv:PATH``, ``parquet:PATH`` or
            ``module:function``; or a table for each silo by name. The PATH of tables may hold ``*``, or
            end in ``/`` for a folder: each file is then the silo of its name. It may hold environment
            variables such as ``$DISCREET_DATA``; its folder is not part of the agreed plan.
        record_capacity: public upper bound on the training records of a silo: one number, or one for each
            silo by name ("*" is every other one). It is part of the plan, so it must not be counted from
            private data. Surplus records are left out. With fixed-size sampling it is the number of places
            from which records are drawn.
        test_fraction: probability that a record is held out for measurements; 0 holds none out, and then
            nothing is measured.
        id: column, or array of an npz file, that says whose record it is: records of equal id are held out
            together. Left out, what a record holds decides whether it is held out.
        person: whose a record is, for guarantees about persons.
        keep_test_set: hold out the source's own test records, where it has some; false puts them among the
            others, and holds out ``test_fraction`` of all.
        split_seed: public seed of the split and of random partitions.
        label: the column to predict, or a list of two to eight with two values each (csv).
        label_range: where the label is a number: its public range, as in ``[0, 60]``. The model is then a
            regression; there are no classes, and what lies outside is clipped (csv).
        ranges: numeric feature columns with their plausible range (csv). Here and below ``*`` in a name
            stands for any text, and a column that is named itself follows its own rule.
        bins: cuts numbers into bins with one indicator each, so that a linear head is an additive model: how
            many of equal width in each range, for all columns of ``ranges`` or by column; or, by column,
            increasing edges inside its range (csv).
        categories: categorical feature columns with their possible texts (csv).
        dates: feature columns of dates, with the first and last plausible day (csv).
        missing: what a missing cell becomes: ``neutral``, the middle of its range or no category; or
            ``indicator``, besides a feature of its own. For all feature columns, or by column (csv).
        drop: columns that are no features whatever their names; nobody is told that they are unused (csv).
        separator: the character between cells; left out, a comma. Here and in the next two, where files are
            written differently: by silo, as in ``{ north = ";" }`` (csv).
        encoding: of the text; left out, UTF-8. Encodings of one byte a character will do (csv).
        decimal: the decimal sign; left out, a point (csv).
        classes: the label's texts in order, such as ``["no", "yes"]``; left out, they are 0, 1, ... (csv).
            Several labels have the same two.
        num_classes: number of classes; left out, as many as there are ``classes``.
        feature_norm_bound: L2 norm that every record is scaled to, from 2^-40 to 2^40.
        asked: whether records are asked questions, and no model is trained on them: they keep their numbers
            and need no label. A config with ``[[ask]]`` sets it. ``held-out`` asks the records that a
            training by these very rules holds out, as it would read them; ``training``, of a preparation
            alone, those that it trains on.
        pixels: whether bytes of an npz file are pixels, which are divided by 255, and not numbers such as
            token ids; left out, they are taken for pixels, and whoever runs the training is told.
        feature_shape: shape of one record's features, where a program hands arrays over; no file's.
        partition: which record belongs to which silo; left out, the source's own silos.
        transform: a public feature map, applied to each image by itself. ``scattering``, ``centred-pixels``
            and ``residual:PATH`` (the last layer of a residual network with these weights) are for linear
            heads; ``scattering-maps`` is for networks such as ``cnn-group-norm``. ``map:module:function`` is
            a function of one's own from one record to a vector, for arrays in memory. ``onnx:PATH`` and
            ``network:module:factory`` are frozen networks with public weights, which ``pretrained`` states.
        pretrained: the public weights of a feature map: hash, source and licence.
        standardise: centres and scales numbers by what a noisy sum before the first round says of them.
        centre: centres whole records, of arrays too, by their noisy mean; in place of ``standardise``.
        project: centres them and projects them onto the directions that noisy moments show; likewise.
    """

    source: Source
    record_capacity: Count | dict[str, Count] | None = None
    test_fraction: Annotated[float, Field(ge=0, lt=1)] = 0.25
    keep_test_set: bool = True
    split_seed: Annotated[int, Field(ge=0)] = 0
    id: str | None = None
    person: Person | None = None
    label: Label | None = None
    label_range: tuple[float, float] | None = None
    ranges: dict[str, tuple[float, float]] | None = None
    bins: BinsConfig | None = None
    categories: dict[str, tuple[str, ...]] | None = None
    dates: dict[str, DateRange] | None = None
    missing: Missing | dict[str, Missing] | None = None
    drop: tuple[str, ...] | None = None
    separator: Written | None = None
    encoding: Written | None = None
    decimal: Written | None = None
    classes: Annotated[tuple[str, ...], Field(min_length=2)] | None = None
    num_classes: Annotated[int, Field(ge=2, le=MOST_CLASSES)] | None = None
    feature_norm_bound: Annotated[float, Field(ge=2.0**-40, le=2.0**40)] | None = None
    asked: Literal[True, "held-out", "training"] | None = None
    pixels: bool | None = None
    feature_shape: tuple[Annotated[int, Field(strict=True, ge=1)], ...] | None = None
    partition: PartitionConfig | None = None
    transform: Transform | None = None
    pretrained: PretrainedConfig | None = None
    standardise: StandardiseConfig | None = None
    centre: CentreConfig | None = None
    project: ProjectConfig | None = None

    @model_validator(mode="before")
    @classmethod
    def _no_drafts(cls, data: Any) -> Any:
        """Refuses what `discreet look` read from records, until somebody replaced it."""
        if isinstance(data, Mapping) and (drafts := _drafts(data)):
            raise ValueError(
                f"what was read from records must be replaced by public knowledge: {', '.join(drafts)}"
            )
        return data

    @model_validator(mode="after")
    def _persons_say_it_all(self) -> Self:
        """Refuses a second word on whose a record is, and partitions that would tear persons apart."""
        if self.person is None:
            return self
        twice = [name for name in ("id", "record_capacity") if getattr(self, name) is not None]
        if twice:
            raise ValueError(
                f"{' and '.join(twice)} must be left out where 'person' is given: persons are held out "
                "whole, and person.capacity bounds how many there are"
            )
        if isinstance(self.partition, DirichletPartition):
            raise ValueError(
                "a dirichlet partition must be without 'person': it deals records by their label"
            )
        return self

    @model_validator(mode="after")
    def _questions_need_columns_alone(self) -> Self:
        """Refuses, for records that are asked, what only training knows."""
        if self.asked == "held-out" and self.test_fraction == 0.0:
            raise ValueError("test_fraction must be above 0 where held-out records are asked; got 0")
        if self.asked == "held-out" and self.transform is not None:
            raise ValueError(
                "transform must be left out where held-out records are asked: a record's features may then "
                "differ in a last bit among other records, and a histogram makes a whole record of it; got "
                f"{self.transform!r}"
            )
        if self.asked is not True:
            return self
        given = [name for name in _OF_TRAINING if getattr(self, name) is not None]
        if given:
            raise ValueError(
                f"{', '.join(given)} must be left out where questions are asked: they name columns of "
                "'ranges', 'dates' and 'categories', and no model is trained"
            )
        if isinstance(self.source, str) and ":" in self.source and not self.source.startswith(_TABLES):
            raise ValueError(
                "source must be a table, csv: or parquet:, where questions are asked, for they name columns; "
                f"got {self.source!r}"
            )
        return self

    @model_validator(mode="after")
    def _a_number_has_no_classes(self) -> Self:
        """Refuses classes of a label that is a number."""
        if self.label_range is None:
            return self
        stated = [name for name in ("classes", "num_classes") if getattr(self, name) is not None]
        if stated:
            raise ValueError(f"{' and '.join(stated)} must be left out where label_range is given")
        if self.label is None or not self.label_range[0] < self.label_range[1]:
            raise ValueError(
                "label_range must be [low, high] with low < high, beside the label that it is of; got "
                f"{list(self.label_range)}"
            )
        return self

    @model_validator(mode="after")
    def _classes_differ(self) -> Self:
        """Refuses a text that would be two classes."""
        if self.classes is not None and len(set(self.classes)) < len(self.classes):
            twice = max(self.classes, key=self.classes.count)
            raise ValueError(f"classes must be different texts; {twice!r} is there more than once")
        return self

    @model_validator(mode="after")
    def _several_have_two_values(self) -> Self:
        """Refuses, for several labels, what is for one."""
        if not self.several:
            return self
        stated = [name for name in ("label_range", "num_classes") if getattr(self, name) is not None]
        if stated:
            raise ValueError(f"{' and '.join(stated)} must be left out where there are several labels")
        if self.classes is not None and len(self.classes) != 2:
            raise ValueError(
                f"classes must be two texts where there are several labels; got {len(self.classes)}"
            )
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns to predict."""
        if self.label is None:
            return ()
        return (self.label,) if isinstance(self.label, str) else self.label

    @property
    def source_text(self) -> str:
        """The source as a reader sees it."""
        if isinstance(self.source, str):
            return self.source
        return ", ".join(f"{silo} = {one}" for silo, one in self.source.items())

    @property
    def several(self) -> int:
        """How many labels a record has, if there are several; else 0."""
        return 0 if isinstance(self.label, str) else len(self.labels)

    def __repr__(self) -> str:
        where = self.source if isinstance(self.source, str) else ", ".join(self.source)
        label = "" if self.label is None else f"; label {self.label!r}"
        return f"DataConfig({where!r}{label}; {len(features_named(self))} columns named)"

    def __str__(self) -> str:
        return repr(self)

    @property
    def preparation(self) -> PreparationConfig | None:
        """How records are prepared by a release before the first round; None if they are not."""
        return self.standardise or self.centre or self.project

    def model_shape(self, feature_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of a record as the model takes it, of the shape as it is read."""
        return feature_shape if self.preparation is None else self.preparation.model_shape(feature_shape)

    @property
    def makes_own_records(self) -> bool:
        """Whether a function of the user's own, ``module:function``, makes the records."""
        sources = [self.source] if isinstance(self.source, str) else list(self.source.values())
        return any(":" in one and one.partition(":")[0] not in _SCHEMES for one in sources)

    @model_validator(mode="after")
    def _one_preparation(self) -> Self:
        """Refuses two preparations of one training."""
        given = [name for name in ("standardise", "centre", "project") if getattr(self, name) is not None]
        if given[1:]:
            raise ValueError(
                f"{' and '.join(given)} must not both be given: each asks records as they are read, and to "
                "ask those that another prepared would be a second release. A projection centres records "
                f"too; leave {given[0]!r} out, or {given[-1]!r}"
            )
        return self

    @property
    def unit_capacity(self) -> int | dict[str, int] | None:
        """The public bound on the training persons of a silo, or on its records where no person is given."""
        return self.record_capacity if self.person is None else self.person.capacity

    def with_unit_capacity(self, capacity: int | dict[str, int]) -> Self:
        """Returns the same with another public bound."""
        if self.person is None:
            return self.model_copy(update={"record_capacity": capacity})
        return self.model_copy(update={"person": self.person.model_copy(update={"capacity": capacity})})

    @model_validator(mode="after")
    def _weights_have_a_provenance(self) -> Self:
        """Refuses a frozen network without its provenance, and a provenance of nothing."""
        scheme, _, _ = (self.transform or "").partition(":")
        if self.pretrained is None:
            # Arrays in memory are refused below, whatever they state.
            if scheme in ("onnx", "network") and self.feature_shape is None:
                raise ValueError(
                    f"'pretrained' must state the public weights of {self.transform!r}: sha256, source and "
                    "licence; it is missing"
                )
            return self
        if scheme not in ("onnx", "network", "residual"):
            raise ValueError(
                "'pretrained' must be left out where no network makes features, transform = onnx:PATH, "
                f"network:module:factory or residual:PATH; got {self.transform!r}. Weights of the trained "
                "model are model.pretrained"
            )
        if (self.pretrained.file is None) == (scheme == "network"):
            what = "be given" if scheme == "network" else "be left out, for the transform names it"
            raise ValueError(f"'pretrained.file' must {what}; the transform is {self.transform!r}")
        return self

    @model_validator(mode="after")
    def _only_arrays_have_a_shape(self) -> Self:
        """Refuses a shape for what is no array in memory, and what only others have for arrays."""
        kind, _, _ = (self.transform or "").partition(":")
        if kind == "map" and self.feature_shape is None:
            raise ValueError(
                "a feature map of one's own must be for arrays that a program hands over; the source is "
                f"{self.source!r}. Let a source of one's own, module:function, make the features"
            )
        if kind in ("residual", "onnx", "network") and self.feature_shape is not None:
            raise ValueError(
                f"records of a feature_shape must be without a network's file; got {self.transform!r}. "
                "Write the arrays into an .npz file for a config (docs/how-to/fine-tune.md), or load the "
                "network in a function of one record, Arrays(features=...)"
            )
        if self.feature_shape is None:
            return self
        if self.source != _IN_MEMORY:
            raise ValueError(
                "feature_shape must be left out unless a program hands arrays over; the source is "
                f"{self.source!r}"
            )
        if self.num_classes is None or not self.feature_shape:
            raise ValueError("arrays must have a feature_shape of one number or more, and num_classes")
        others = [name for name in _NOT_OF_ARRAYS if getattr(self, name) is not None]
        if others:
            raise ValueError(f"records of a feature_shape must be without {', '.join(others)}")
        return self


DRAFT = "draft: "
"""What a value of the config begins with that was read from records."""

WRITTEN = ("separator", "encoding", "decimal")
"""The keys that say how a CSV file is written; of a silo's own file, its policy says it and no plan."""

_OF_TRAINING = (
    "label",
    "label_range",
    "classes",
    "num_classes",
    "bins",
    "feature_norm_bound",
    "feature_shape",
    "transform",
    "standardise",
    "centre",
    "project",
)
_IN_MEMORY = "memory"
_TABLES = ("csv:", "parquet:")
_SCHEMES = ("csv", "parquet", "npz")
_NOT_OF_ARRAYS = (
    "label", "label_range", "ranges", "bins", "categories", "dates", "missing", "drop", "classes",
    "partition", "standardise", *WRITTEN,
)  # fmt: skip


def features_named(data: DataConfig) -> tuple[str, ...]:
    """Returns the columns of a table that become features, by whatever rule."""
    return (*(data.ranges or {}), *(data.dates or {}), *(data.categories or {}))


def without_folder(source: str | dict[str, str]) -> str | dict[str, str]:
    """Returns a source of records without its folder, which differs from party to party."""
    if not isinstance(source, str):
        return {silo: str(without_folder(one)) for silo, one in source.items()}
    scheme, colon, path = source.partition(":")
    if not (colon and scheme in _SCHEMES):
        return source
    return f"{scheme}:{PurePath(path).name}{'/' if path.endswith('/') else ''}"


def _drafts(data: Mapping[str, Any], under: str = "") -> list[str]:
    """Returns the names of the keys whose values are drafts."""
    found = []
    for key, value in data.items():
        if isinstance(value, Mapping):
            found += _drafts(value, f"{under}{key}.")
        else:
            inside = value if isinstance(value, list | tuple) else [value]
            if any(isinstance(one, str) and one.startswith(DRAFT) for one in inside):
                found.append(f"{under}{key}")
    return found


def counted_unit(data: DataConfig) -> str:
    """Returns what a capacity counts: record, or person."""
    return "record" if data.person is None else "person"


def part_taken(data: DataConfig) -> str:
    """Returns the word, and a space, for the records that take part; nothing where all of them do."""
    return {None: "training ", "training": "training ", "held-out": "held-out ", True: ""}[data.asked]
