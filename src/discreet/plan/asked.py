"""From a config's questions to blocks of a sum: which columns there are, and where features hold them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from discreet.config import Config
from discreet.config.data import DataConfig
from discreet.config.federation import public_facts, table_shape
from discreet.data import PublicFacts, table_columns
from discreet.data.bins import Bins
from discreet.data.bundled import SCHEMAS
from discreet.data.columns import Categories, Column, Contrast, Days, Numeric, feature_names
from discreet.errors import ConfigurationError
from discreet.kinds import Asked
from discreet.kinds import variables as known
from discreet.kinds.blocks import MOST_CELLS, AskedBlock, Block, Cells, FirstMoments, SecondMoments, factors
from discreet.kinds.model_facts import answers_facts
from discreet.kinds.variables import Variable
from discreet.mechanisms import NoiseFamily
from discreet.plan.facts import FederationFacts, federation_facts

_MOST_NUMBERS = 4 * MOST_CELLS


def asked_blocks(config: Config) -> tuple[AskedBlock, ...] | None:
    """Returns the blocks of a config's questions, in order; None if it asks none.

    Raises:
        ConfigurationError: if a question names no column that it can be about, or there are too many numbers.
    """
    if config.ask is None:
        return None
    columns = variables(config.data)
    blocks = []
    for number, question in enumerate(config.ask, start=1):
        try:
            blocks.append(question.block(columns))
        except ConfigurationError as error:
            raise ConfigurationError(f"question {number} of 'ask' ({question.kind}): {error}") from None
    own = [block for block in blocks if isinstance(block, FirstMoments | SecondMoments)]
    if own and config.data.asked != "training":
        raise ConfigurationError(
            "'ask' must ask moments of columns; those of whole records are for a preparation ('data.centre', "
            "'data.project')."
        )
    # Second moments of records have a limit of their own.
    total = sum(block.size for block in blocks if not isinstance(block, SecondMoments))
    if not total <= _MOST_NUMBERS:
        raise ConfigurationError(
            f"all questions together must have at most {_MOST_NUMBERS:,} numbers; got {total:,}. Ask less at "
            "a time."
        )
    weights = tuple(question.weight for question in config.ask)
    if config.privacy.mechanism == NoiseFamily.DISCRETE_LAPLACE.value:
        _require_counts(config, blocks, weights)
        return tuple(AskedBlock(block, 1.0) for block in blocks)
    shares = factors(weights)
    return tuple(AskedBlock(block, factor) for block, factor in zip(blocks, shares, strict=True))


def _require_counts(config: Config, blocks: Sequence[Block], weights: Sequence[float]) -> None:
    """Refuses discrete Laplace noise where a unit would add anything but a 1 to one cell of each question.

    Raises:
        ConfigurationError: naming the question, or the key.
    """
    for number, block in enumerate(blocks, start=1):
        if not isinstance(block, Cells):
            raise ConfigurationError(
                "'privacy.mechanism' must be a Gaussian law where a question adds up products of numbers; "
                f"question {number} does, and got discrete-laplace."
            )
    if config.privacy.unit != "record" or len(set(weights)) > 1:
        raise ConfigurationError(
            "'privacy.mechanism' discrete-laplace must be with the record unit and questions of one weight, "
            "whose counts are integers; got unit "
            f"{config.privacy.unit} and weights {', '.join(f'{weight:g}' for weight in weights)}."
        )


def require_shape(data: DataConfig, feature_shape: tuple[int, ...], num_classes: int) -> None:
    """Refuses a plan whose records would have other features or classes than its questions are about.

    What a record holds must never decide whether it has a cell.

    Raises:
        ConfigurationError: with both.
    """
    if data.asked is None:
        return
    source = data.source
    schema = SCHEMAS.get(source) if isinstance(source, str) else None
    if schema is None:
        found = table_shape(data)
    else:
        found = len(feature_names(schema.columns)) + (data.asked is not True), len(schema.classes)
    if found is not None and ((found[0],), found[1]) != (feature_shape, num_classes):
        raise ConfigurationError(
            f"'facts' must be those of the columns that are asked, {found[0]} features and {found[1]} "
            f"classes; got {feature_shape} and {num_classes}."
        )


def asked_facts(config: Config, facts: FederationFacts) -> FederationFacts:
    """Returns the public facts of questions that a training asks: its own, with the numbers of the answer.

    Args:
        config: of the questions, as `evaluation_config` or `preparation_config` returns it.
        facts: of the training.

    Raises:
        ConfigurationError: if a question is about no column that there is.
    """
    return federation_facts(
        facts.silos,
        feature_shape=facts.feature_shape,
        num_classes=facts.num_classes,
        feature_norm_bound=facts.feature_norm_bound,
        model=answers_facts(Asked(asked_blocks(config) or ()).dimension),
        map_answers=facts.map_answers,
    )


def variables(data: DataConfig) -> dict[str, Variable]:
    """Returns the columns that questions can be about, by name, in the order of features.

    Raises:
        ConfigurationError: if the rules of columns make no sense.
    """
    source = data.source
    schema = SCHEMAS.get(source) if isinstance(source, str) else None
    facts = public_facts(data)
    if schema is not None and facts != PublicFacts(asked=data.asked is True):
        raise ConfigurationError(
            f"'data' must say nothing of columns and label where the source is {source!r}, which knows its "
            "own."
        )
    columns = table_columns(facts) if schema is None else schema.columns
    found: dict[str, Variable] = {}
    place = 0
    for column in columns:
        if (variable := _variable(column, place, data)) is not None:
            found[column.column] = variable
        place += len(column.names)
    if schema is not None and isinstance(schema.label, str) and schema.label:
        found[schema.label] = known.Label(schema.label, schema.classes)
    elif isinstance(data.label, str) and data.label_range is None:
        found[data.label] = known.Label(data.label, facts.class_texts())
    elif data.asked in ("held-out", "training") and data.num_classes is not None:
        # Records of arrays: their features have no names, and their labels are numbers.
        found["label"] = known.Label("label", tuple(map(str, range(data.num_classes))))
    return found


def _variable(column: Column, place: int, data: DataConfig) -> Variable | None:
    """Returns what can be asked of a column; None of a number that is scaled for a model."""
    match column:
        case Numeric() | Days():
            if data.asked not in (True, "training"):
                return None
            missing = place + 1 if len(column.names) > 1 else None
            days = isinstance(column, Days)
            return known.Number(column.column, column.low, column.high, place, missing, days=days)
        case Categories():
            return known.Choice(column.column, column.values, place, column.baseline)
        case Contrast():
            return known.Contrast(column.column, (column.negative, column.positive), place)
        case Bins():
            ends = (column.low, *column.cuts, column.high)
            texts = tuple(f"{low:.12g} to {high:.12g}" for low, high in pairwise(ends))
            return known.Choice(column.column, texts, place)
