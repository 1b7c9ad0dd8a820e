"""What held-out records were asked between rounds, and answered: post-processing of the saved state."""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.plan import Plan
from discreet.plan.held_out import measure_text
from discreet.quality.intervals import Interval
from discreet.report.answered import HELD_OUT, Answer, answers
from discreet.report.plots import Curve, Plot
from discreet.rounds import RunRecord
from discreet.rounds.judging import (
    Evaluated,
    HeldOut,
    best,
    evaluated_from,
    held_out,
    noise_variance,
    said_of_released,
)
from discreet.statistics.rows import interval_row


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
    saved = run.directory.state_after(completed[-1])
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
    chosen, over = best(run.plan, asked), _over_rounds(run.plan, asked)
    if chosen is None:
        return over, found[-1].answer
    own = next(one for one in found if one.after == chosen.after)
    return _with_choice(
        over, said_of_released(run.plan, asked), chosen.after, measure_text(run.plan)
    ), own.answer


def _with_choice(over: Answer, said: HeldOut | None, after: int, measure: str) -> Answer:
    """Returns an answer that says which model is released, and how good it is by intervals that hold that."""
    measures = {} if said is None else _measures(said)
    rows = (
        interval_row(f"released model, of round {after}: {name}", one)
        for name, one in measures.items()
        if one
    )
    about = (
        f"{over.about}. Released is the model after round {after}, whose {measure} was the best: of several "
        "noisy numbers the best is somewhat too good, so that intervals of the released model are wider"
    )
    return replace(over, rows=(*rows, *over.rows), about=about)


def _measures(said: HeldOut) -> dict[str, Interval | None]:
    return {**said.shares, "AUC": said.auc}


def _over_rounds(plan: Plan, found: tuple[Evaluated, ...]) -> Answer:
    """Returns the measures over the rounds, as one answer with a curve of each that is known."""
    over: dict[str, list[tuple[int, Interval]]] = {}
    for one in found:
        for name, measure in _measures(held_out(plan, one)).items():
            over.setdefault(name, []).extend([] if measure is None else [(one.after, measure)])
    rows = [
        interval_row(f"{name} after round {after}", one) for name, own in over.items() for after, one in own
    ]
    drawn = tuple(
        Curve(name, tuple((float(after), *one) for after, one in own)) for name, own in over.items() if own
    )
    return Answer(
        title="How good the model became on held-out records",
        question="",
        about=HELD_OUT,
        rows=tuple(rows),
        plots=(Plot("", ("round", "share"), drawn),) if drawn else (),
    )


def _answer(asked: Plan, one: Evaluated) -> Answer:
    (answer,) = answers(asked, asked.answers.blocks, one.sums, noise_variance(asked, one.survivors))
    title = f"How good is the model after round {one.after}, on held-out records?"
    return replace(answer, title=title, question=title)
