"""From the released sum of a run to its answers: post-processing of plan, ledger and state alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

import numpy as np

from discreet.arrays import Floats
from discreet.kinds.blocks import AskedBlock, Block, Cells, Indicator, Products
from discreet.kinds.effects import HazardsQuestion, LogisticQuestion
from discreet.kinds.question import happened_at
from discreet.kinds.questions import (
    CountQuestion,
    EvaluationQuestion,
    MomentsQuestion,
    QuantilesQuestion,
    Question,
    RegressionQuestion,
    SurvivalQuestion,
    TableQuestion,
)
from discreet.kinds.variables import Contrast, Number, Variable
from discreet.plan import Plan
from discreet.quality.intervals import UNKNOWN, Interval
from discreet.report.effects import compared_with, covariates_of, effects_of
from discreet.report.forest import Forest
from discreet.report.plots import Curve, Grid, Plot
from discreet.report.scored import Scored
from discreet.rounds import RunRecord
from discreet.rounds.judging import LEVEL, noise_variance
from discreet.statistics import (
    Axis,
    Column,
    Components,
    Moments,
    Row,
    Table,
    components,
    count,
    independence,
    logrank,
    quantiles,
    read_moments,
    regression,
    summary,
    survival,
    table,
)
from discreet.statistics import Curve as SurvivalCurve
from discreet.statistics.evaluation import COMMONER, COMMONEST
from discreet.statistics.independence import DRAWS

_MAIN = frozenset(
    ("Cramér's V", "units", "accuracy", COMMONER, COMMONEST, "sensitivity", "specificity", "precision", "AUC")
)
_MAIN_WORDS = re.compile(
    "^(p-value|released model, )|: median survival$|: (hazard|odds) ratio( of the hazard)?$"
)
_COUNTS = re.compile("(^|: )(count|units|total)$|: at risk at ")
# Tables have thousands of cells; whoever verifies a run simulates them too.
_MOST_SIMULATED = 1 << 22


@dataclass(frozen=True, slots=True)
class Answer:
    """What one question was answered.

    Attributes:
        title: what the question is called.
        question: what it asks, in one line.
        about: what its intervals hold.
        rows: numbers with their intervals of 95 %.
        plots: charts; none where there is nothing to draw.
        grid: counts of two columns; of a table they are among the rows as well.
        forest: ratios, which are among the rows as well.
    """

    title: str
    question: str
    about: str
    rows: tuple[Row, ...]
    plots: tuple[Plot, ...] = ()
    grid: Grid | None = None
    forest: Forest | None = None

    @property
    def main(self) -> tuple[Row, ...]:
        """The rows that come first, and that neither a chart nor a grid shows: tests, medians, measures."""
        return tuple(row for row in self.rows if row.name in _MAIN or _MAIN_WORDS.search(row.name))


def whole(found: Interval) -> str:
    """Writes a count and its interval for people.

    Example:
        >>> whole(Interval(1021.4, 993.0, 1049.8))
        '1,021 (993 to 1,050)'
    """
    return f"{found.value:,.0f} ({found.low:,.0f} to {found.high:,.0f})"


def number_text(value: float | None) -> str:
    """Writes a number of an answer for people; a dash for none.

    Example:
        >>> number_text(0.123456), number_text(12345.6), number_text(None)
        ('0.1235', '12,346', '–')
    """
    return UNKNOWN if value is None else f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


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
    block: Block
    sums: Floats
    variance: float
    randomness: np.random.Generator


THESE_RECORDS = (
    "about these records; intervals hold the noise of privacy. What noise makes negative is shown as 0, "
    "after margins are added up"
)
_DRAWN = "were drawn from; intervals hold sampling and the noise of privacy"
POPULATION = f"about the population that the records {_DRAWN}"
IN_BINS = (
    f"{POPULATION}. Inside a bin of time events and ends of observation are taken to be spread evenly: wide "
    "bins move a curve by more than its intervals say"
)
OF_HAZARDS = (
    f"{POPULATION}. Somebody whose observation ends inside a bin of time is counted at risk for half of it"
)
HELD_OUT = (
    f"about the population that the held-out records {_DRAWN}. Records of one bin of scores are not told "
    "apart: they count one half in the AUC"
)


def answers_of(run: RunRecord) -> tuple[Answer, ...]:
    """Returns the answers of a run that asked questions, in order; none before its sum is released.

    Raises:
        LedgerError: if the saved state is not the one that the ledger names.
    """
    completed = run.spending.completed
    if not (run.plan.questions and completed):
        return ()
    saved = run.directory.state_after(completed[-1])
    sums = saved.arrays["parameters"]
    variance = noise_variance(run.plan, len(completed[-1].survivors))
    return answers(run.plan, run.plan.answers.blocks, sums, variance)


def answers(plan: Plan, blocks: tuple[AskedBlock, ...], sums: Floats, variance: float) -> tuple[Answer, ...]:
    """Returns the answers that a sum of all blocks gives."""
    found, first = [], 0
    for number, (question, one) in enumerate(zip(plan.questions, blocks, strict=True)):
        own = sums[first : first + one.block.size] / one.factor
        first += one.block.size
        seed = np.random.default_rng([number, *bytes.fromhex(plan.digest())])
        asked = _Asked(question, one.block, own, variance / one.factor**2, seed)
        found.append(_for_persons(_answer(asked), plan))
    return tuple(found)


def _for_persons(answer: Answer, plan: Plan) -> Answer:
    """Says what a count counts where persons are asked, who may have several records.

    Where all records are to count the same, one adds 1/`most_records`: counts are made records again.
    """
    person = plan.data.person
    if person is None or person.most_records == 1:
        return answer
    if person.average_over == "persons":
        each = "A person counts as much as 1 in all, shared evenly by their records"
        return _counting(answer, "persons", 1.0, each)
    each = f"Counts are of records, of the first {person.most_records} of a person"
    return _counting(answer, "records", float(person.most_records), each)


def _counting(answer: Answer, what: str, each: float, told: str) -> Answer:
    """Returns an answer whose counts are ``each`` times as large, with a remark on what they count."""

    def counted(row: Row) -> Row:
        if not _COUNTS.search(row.name):
            return row
        value, low, high = (None if number is None else each * number for number in row[1:4])
        return Row(row.name, value, low, high, "; ".join(filter(None, (what, row.remark))))

    grid = answer.grid
    if grid is not None:
        rows = tuple((text, tuple(_times(cell, each) for cell in cells)) for text, cells in grid.rows)
        grid = replace(grid, corner=f"{grid.corner} ({what})", rows=rows)
    return replace(answer, about=f"{answer.about}. {told}", rows=tuple(map(counted, answer.rows)), grid=grid)


def _times(found: Interval, each: float) -> Interval:
    return Interval(*(each * number for number in found))


def _answer(asked: _Asked) -> Answer:
    match asked.question, asked.block:
        case CountQuestion(), Cells():
            found = _of(asked, THESE_RECORDS, count(asked.sums, asked.variance, level=LEVEL).rows())
        case TableQuestion(), Cells() as block:
            found = _table(asked, block)
        case MomentsQuestion() as question, Products() as block:
            found = _moments(asked, question, block)
        case RegressionQuestion() as question, Products() as block:
            found = _regression(asked, question, block)
        case QuantilesQuestion() as question, Cells() as block:
            found = _quantiles(asked, question, block)
        case SurvivalQuestion() as question, Cells() as block:
            found = _survival(asked, question, block)
        case (HazardsQuestion() | LogisticQuestion()) as question, Cells() as block:
            found = _ratios(asked, question, block)
        case EvaluationQuestion() as question, Cells() as block:
            found = _evaluation(asked, question, block)
        case _:
            raise TypeError(
                f"{type(asked.question).__name__} is not answered by {type(asked.block).__name__}."
            )
    return found


def _of(
    asked: _Asked,
    about: str,
    rows: tuple[Row, ...],
    plots: tuple[Plot, ...] = (),
) -> Answer:
    return Answer(asked.question.heading, asked.question.describe(), about, rows, plots)


def _table(asked: _Asked, block: Cells) -> Answer:
    axes = [Axis(axis.name, axis.texts) for axis in block.axes]
    found = table(asked.sums, asked.variance, axes, level=LEVEL)
    answer = _of(asked, THESE_RECORDS, found.rows())
    if len(axes) == 2:
        rows = (*_independence(asked, block), *answer.rows)
        return replace(answer, rows=rows, grid=_grid(found))
    (axis, *others) = block.axes
    if others or not axis.edges:
        return answer
    bins = zip(found.cells, pairwise(axis.edges), strict=False)
    points = tuple((x, *cell.count) for cell, ends in bins for x in ends)
    return replace(answer, plots=(Plot("", (axis.name, "count"), (Curve("count", points),)),))


def _independence(asked: _Asked, block: Cells) -> tuple[Row, ...]:
    """Tests whether two columns go together, among units whose texts are known."""
    known = asked.sums.reshape(block.shape)[:-1, :-1]
    shape = (known.shape[0], known.shape[1])
    if min(shape) < 2:
        return ()
    draws = _draws(known.size)
    found = independence(known.ravel(), asked.variance, shape, rng=asked.randomness, draws=draws)
    return found.rows()


def _draws(cells: int) -> int:
    """Returns how often a hypothesis is simulated: less often where a table is so large that it matters."""
    return min(DRAWS, max(99, _MOST_SIMULATED // cells))


def _grid(found: Table) -> Grid:
    down, across = found.axes
    sums, below = found.margins
    width = len(across.labels)
    rows = [
        (text, (*(cell.count for cell in found.cells[place * width : (place + 1) * width]), total.count))
        for place, (text, total) in enumerate(zip(down.labels, sums, strict=True))
    ]
    rows.append(("all", (*(cell.count for cell in below), found.total)))
    return Grid(f"{down.name}, {across.name}", (*across.labels, "all"), tuple(rows))


def _columns(block: Products) -> list[Column]:
    found = []
    for term in block.terms:
        match term:
            case Number(name=name, low=low, high=high):
                found.append(Column.ranged(name, low, high))
            case Contrast(name=name, texts=(_, positive)):
                # From -1 and 1 to 0 and 1: a coefficient is then what the text adds.
                found.append(Column.ranged(f"{name} = {positive}", 0.0, 1.0))
            case Indicator():
                found.append(Column.indicator(term.name))
    return found


def _read(asked: _Asked, block: Products) -> Moments:
    return read_moments(asked.sums, asked.variance, _columns(block), squared_radius=block.squared_norm)


def _with_days(rows: tuple[Row, ...], variable: Variable, start: str) -> tuple[Row, ...]:
    """Writes out which days the numbers of a date's rows are."""
    if not (isinstance(variable, Number) and variable.days):
        return rows
    return tuple(
        row._replace(remark=f"{_day(row.value)} ({_day(row.low)} to {_day(row.high)})")
        if row.value is not None and row.name.startswith(start)
        else row
        for row in rows
    )


def _day(number: float | None) -> str:
    return "–" if number is None else date.fromordinal(max(1, round(number))).isoformat()


def _moments(asked: _Asked, question: MomentsQuestion, block: Products) -> Answer:
    read = _read(asked, block)
    rows = summary(read, level=LEVEL).rows()
    for term in block.terms:
        if isinstance(term, Number):
            rows = _with_days(rows, term, f"{term.name}: mean")
    if question.components:
        found = components(read, rng=asked.randomness, level=LEVEL)
        kept = found.components[: question.components]
        rows = (*rows, *Components(found.names, kept).rows())
    return _of(asked, POPULATION, rows)


def _regression(asked: _Asked, question: RegressionQuestion, block: Products) -> Answer:
    read = _read(asked, block)
    names = [column.name for column in read.columns]
    found = regression(read, question.outcome, names[:-1], level=LEVEL)
    return _of(asked, POPULATION, found.rows())


def _quantiles(asked: _Asked, question: QuantilesQuestion, block: Cells) -> Answer:
    edges = block.axes[0].edges
    # The last cell is of missing numbers.
    found = quantiles(asked.sums[:-1], asked.variance, edges, question.at, level=LEVEL)
    return _of(asked, POPULATION, _with_days(found.rows(), block.axes[0].variable, "quantile"))


def _survival(asked: _Asked, question: SurvivalQuestion, block: Cells) -> Answer:
    *by, time, event = block.axes
    happened = happened_at(event, question.happened)
    # What is in no group, at no time, or of no known end is left out.
    known = asked.sums.reshape(block.shape)[..., :-1, [happened, 1 - happened]]
    groups = by[0].texts[:-1] if by else ("all",)
    known = known[:-1] if by else known[None]
    # Behind the end of the range nobody is followed: what happens there happens to somebody censored.
    known[:, -1] = np.stack([np.zeros(len(groups)), known[:, -1].sum(axis=1)], axis=1)
    cells = known.ravel()
    found = survival(cells, asked.variance, time.edges, groups, level=LEVEL)
    rows = found.rows()
    if len(groups) > 1:
        draws = _draws(len(groups) ** 2 * len(time.edges))
        test = logrank(cells, asked.variance, time.edges, groups, rng=asked.randomness, draws=draws)
        rows = (*test.rows(), *rows)
    curves = tuple(Curve(curve.group, _told(time.edges[0], curve)) for curve in found.curves)
    return _of(asked, IN_BINS, rows, (Plot("", (time.name, f"share without {question.event}"), curves),))


def _ratios(asked: _Asked, question: HazardsQuestion | LogisticQuestion, block: Cells) -> Answer:
    found = effects_of(question, block, asked.sums, asked.variance, level=LEVEL)
    about = (
        f"{OF_HAZARDS if isinstance(question, HazardsQuestion) else POPULATION}. A ratio compares with "
        f"{compared_with(covariates_of(question, block))}, the other columns held fixed"
    )
    drawn = Forest(found.what, tuple((one.name, one.ratio) for one in found.effects))
    return replace(_of(asked, about, found.rows()), forest=drawn)


def _told(start: float, curve: SurvivalCurve) -> tuple[tuple[float, float, float, float], ...]:
    """Returns the points of a curve as far as it can be told, from 1 at the start."""
    points = [(start, 1.0, 1.0, 1.0)]
    for time, share in zip(curve.times, curve.survival, strict=True):
        if share is None:
            break
        points.append((time, *share))
    return tuple(points)


def _evaluation(asked: _Asked, question: EvaluationQuestion, block: Cells) -> Answer:
    found = Scored(question, block, asked.sums, asked.variance)
    return replace(_of(asked, HELD_OUT, found.rows(), found.plots()), grid=found.grid())
