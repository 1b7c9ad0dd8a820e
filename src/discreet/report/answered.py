"""From the released sum of a run to its answers: post-processing of plan, ledger and state, and of nothing else."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.kinds.blocks import AskedBlock, Cells, Indicator, Products
from discreet.kinds.questions import (
    CountQuestion,
    MomentsQuestion,
    QuantilesQuestion,
    Question,
    RegressionQuestion,
    SurvivalQuestion,
    TableQuestion,
)
from discreet.kinds.variables import Contrast, Number
from discreet.plan import Plan
from discreet.plan.asked import asked_blocks
from discreet.rounds import RunRecord
from discreet.statistics import counts, independence, moments, quantiles, regression, survival, tables
from discreet.statistics.rows import Row

LEVEL = 0.95
# Answers are the same on machines whose last bits differ.
_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Curve:
    """A line with the ends of its intervals, for a chart.

    Attributes:
        label: whose it is.
        points: x, y, low and high.
    """

    label: str
    points: tuple[tuple[float, float, float, float], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one question was answered.

    Attributes:
        title: what the question is called.
        question: what it asks, in one line.
        about: what its intervals hold.
        rows: numbers with their intervals of 95 %.
        curves: for a chart; none where there is nothing to draw.
        axes: titles of the chart's axes.
    """

    title: str
    question: str
    about: str
    rows: tuple[Row, ...]
    curves: tuple[Curve, ...] = ()
    axes: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with its part of the sum.

    Attributes:
        question: what was asked.
        block: what each record added.
        sums: of the block, real units, shape ``(block.size,)``.
        variance: of the noise of each of them.
        randomness: for what is simulated; from public numbers, so that everybody gets the same.
    """

    question: Question
    block: Cells | Products
    sums: Floats
    variance: float
    randomness: np.random.Generator


THESE_RECORDS = "about these records; intervals hold the noise of privacy"
POPULATION = "about the population that the records were drawn from; intervals hold sampling and the noise of privacy"


def answers_of(run: RunRecord) -> tuple[Answer, ...]:
    """Returns the answers of a run that asked questions, in order; none before its sum is released.

    Raises:
        LedgerError: if the saved state is not the one that the ledger names.
    """
    completed = run.spending.completed
    blocks = asked_blocks(run.plan.config)
    if blocks is None or not completed:
        return ()
    sums = run.directory.load_state().arrays["parameters"]
    variance = noise_variance(run.plan, len(completed[-1].survivors))
    return answers(run.plan, blocks, sums, variance)


def noise_variance(plan: Plan, survivors: int) -> float:
    """Returns the variance of the noise of every coordinate of a sum, real units, its rounding included.

    Args:
        plan: what was carried out.
        survivors: silos in the sum; the ledger says how many.
    """
    share = plan.release.share
    # A dithered rounding has a variance of at most a quarter of a grid unit's square.
    rounding = 0.0 if plan.grid.noise_first else 0.25
    return survivors * (share.variance / share.num_silos + rounding) / plan.grid.scale**2


def answers(
    plan: Plan, blocks: tuple[AskedBlock, ...], sums: Floats, variance: float
) -> tuple[Answer, ...]:
    """Returns the answers that a sum of all blocks gives."""
    found, first = [], 0
    for number, (question, one) in enumerate(zip(plan.config.ask or (), blocks, strict=True)):
        own = sums[first : first + one.block.size] / one.factor
        first += one.block.size
        seed = np.random.default_rng([number, *bytes.fromhex(plan.digest())])
        asked = _Asked(question, one.block, own, variance / one.factor**2, seed)
        found.append(_answer(asked))
    return tuple(found)


def answers_csv(found: tuple[Answer, ...]) -> str:
    """Returns all numbers of all answers as CSV, one a line."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(("question", "what", "value", "low", "high", "remark"))
    for answer in found:
        writer.writerows((answer.title, *_written(row)) for row in answer.rows)
    return text.getvalue()


def _written(row: Row) -> tuple[str, ...]:
    numbers = ("" if value is None else f"{value:.{_DIGITS}g}" for value in (row.value, row.low, row.high))
    return (row.name, *numbers, row.remark)


def _answer(asked: _Asked) -> Answer:
    match asked.question, asked.block:
        case CountQuestion(), Cells():
            return _of(asked, THESE_RECORDS, counts.count(asked.sums, asked.variance, level=LEVEL).rows())
        case TableQuestion(), Cells() as block:
            return _table(asked, block)
        case MomentsQuestion() as question, Products() as block:
            return _moments(asked, question, block)
        case RegressionQuestion() as question, Products() as block:
            return _regression(asked, question, block)
        case QuantilesQuestion() as question, Cells() as block:
            return _quantiles(asked, question, block)
        case SurvivalQuestion() as question, Cells() as block:
            return _survival(asked, question, block)
        case _:
            raise TypeError(f"{type(asked.question).__name__} is not answered by a {type(asked.block).__name__}.")
