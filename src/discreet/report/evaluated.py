"""What held-out records were asked between rounds, and answered: post-processing of the saved state."""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.errors import LedgerError
from discreet.kinds import Asked
from discreet.plan import Plan
from discreet.report.answered import HELD_OUT, Answer, answers
from discreet.report.plots import Curve, Plot
from discreet.rounds import RunRecord
from discreet.rounds.judging import (
    Evaluated,
    HeldOut,
    best,
    evaluated_from,
    noise_variance,
    said_of_released,
)
from discreet.statistics import Row
from discreet.statistics.rows import interval_row

_DRAWN = ("accuracy", "AUC")


@dataclass(frozen=True, slots=True)
class RoundEvaluation:
    """How good the model was after one round, on held-out records, under the run's guarantee.

    Attributes:
        after: the round.
        answer: every measure with its interval of 95 %.
    """

    after: int
    answer: Answer


def evaluations_of(run: RunRecord) -> tuple[RoundEvaluation, ...]:
    """Returns what the evaluations of a training answered, in order; none where it is not evaluated.

    Raises:
        LedgerError: if the saved state is not the one that the ledger names.
    """
    completed = run.spending.completed
    if run.plan.evaluation is None or not completed:
        return ()
    saved = run.directory.load_state()
    if saved.digest != completed[-1].led_to:
        raise LedgerError("state.safetensors must be the state that the ledger names; it was altered.")
    asked = run.plan.evaluation
    return tuple(RoundEvaluation(one.after, _answer(asked, one)) for one in evaluated_from(saved.arrays))


def released_and_others(run: RunRecord) -> tuple[Answer, ...]:
    """Returns how good the model became over the rounds, and how good the released one is; () if not asked.

    Raises:
        LedgerError: if the saved state is not the one that the ledger names.
    """
    found = evaluations_of(run)
    if not found:
        return ()
    asked = evaluated_from(run.directory.load_state().arrays)
    chosen, over = best(run.plan, asked), _over_rounds(found)
    if chosen is None:
        return over, found[-1].answer
    own = next(one for one in found if one.after == chosen.after)
    return _with_choice(over, said_of_released(run.plan, asked), chosen.after), own.answer


def _with_choice(over: Answer, said: HeldOut | None, after: int) -> Answer:
    """Returns an answer that says which model is released, and how good it is by intervals that hold that."""
    measures = () if said is None else (("accuracy", said.accuracy), ("AUC", said.auc))
    rows = (interval_row(f"released model, of round {after}: {name}", one) for name, one in measures if one)
    about = (
        f"{over.about}. Released is the model after round {after}, whose accuracy was the best: of several "
        "noisy numbers the best is somewhat too good, so that intervals of the released model are wider"
    )
    return replace(over, rows=(*rows, *over.rows), about=about)


def _over_rounds(found: tuple[RoundEvaluation, ...]) -> Answer:
    """Returns accuracy and AUC over the rounds, as one answer with a curve of each that is known."""
    named = [(name, one.after, row) for name in _DRAWN for one in found if (row := _row(one.answer, name))]
    curves = (Curve(name, _points(name, found)) for name in _DRAWN)
    drawn = tuple(curve for curve in curves if curve.points)
    rows = (row._replace(name=f"{name} after round {after}") for name, after, row in named)
    return Answer(
        title="How good the model became on held-out records",
        question="",
        about=HELD_OUT,
        rows=tuple(rows),
        plots=(Plot("", ("round", "share"), drawn),) if drawn else (),
    )


def _answer(asked: Plan, one: Evaluated) -> Answer:
    training = asked.silo_training(asked.facts.silos[0])
    if not isinstance(training, Asked):
        raise TypeError("an evaluation must be one histogram")
    (answer,) = answers(asked, training.blocks, one.sums, noise_variance(asked, one.survivors))
    title = f"How good is the model after round {one.after}, on held-out records?"
    return replace(answer, title=title, question=title)


def _row(answer: Answer, name: str) -> Row | None:
    return next((row for row in answer.rows if row.name == name), None)


def _points(name: str, found: tuple[RoundEvaluation, ...]) -> tuple[tuple[float, float, float, float], ...]:
    rows = [(one.after, _row(one.answer, name)) for one in found]
    return tuple(
        (float(after), row.value, row.low, row.high)
        for after, row in rows
        if row is not None and row.value is not None and row.low is not None and row.high is not None
    )
