"""What a report says, as values: everything is worked out before a single tag is written."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.plan.assumptions import NO_CHOSEN_END
from discreet.plan.order import count_of
from discreet.privacy.guarantee import Guarantee
from discreet.quality import AnyQuality
from discreet.report.answered import Answer
from discreet.report.shapes import Shown


@dataclass(frozen=True, slots=True)
class Measured:
    """A model measured on held-out records; never covered by a guarantee.

    Attributes:
        accuracy: share of records classified correctly, over all silos together; None of a regression.
        loss: mean loss, or None if it was not measured.
        auc: area under the ROC curve for two classes, else None.
        by_silo: name and accuracy, or mean absolute error, of each silo that holds test records.
        base_rate: accuracy of a model that always names the commonest class, or None if it was not measured.
        mae: mean absolute error of a regression, in the label's unit; else None.
        constant_mae: that of always naming the median of the labels.
    """

    accuracy: float | None
    loss: float | None
    auc: float | None
    by_silo: tuple[tuple[str, float], ...]
    base_rate: float | None = None
    mae: float | None = None
    constant_mae: float | None = None


@dataclass(frozen=True, slots=True)
class CompletedRound:
    """A round whose sum was released.

    Attributes:
        release: its number, from 1, among rounds, evaluations and preparation.
        survivors: silos whose contribution and noise are in the sum.
        epsilon_spent: ε of so many rounds as were released by then against the budget adversary, at the
            plan's δ; proven of a training that was to have so many (`Plan.spent`).
        bytes_per_silo: largest number of bytes that one silo sent; None if the metrics line is missing.
        training_loss: mean loss of the training records before the round, exact: not private, covered by no
            guarantee; simulations only.
        seconds: wall time, or None.
        measured: the model after the round; None if evaluation was off.
        clip_norm: the clipping norm of the round if it follows a quantile, else None.
        asked: silos that a timetable asks in this round; None if all are.
        tick: when, by the timetable.
        held_out: whether held-out records were asked, in place of a round.
        prepared: whether training records were asked what they are prepared by, before the first round.
        round: the round that it is or follows, where not all releases are rounds; None: the release.
    """

    release: int
    survivors: tuple[str, ...]
    epsilon_spent: float
    bytes_per_silo: int | None
    training_loss: float | None
    seconds: float | None
    measured: Measured | None
    clip_norm: float | None = None
    asked: tuple[str, ...] | None = None
    tick: int | None = None
    held_out: bool = False
    prepared: bool = False
    round: int | None = None

    @property
    def name(self) -> str:
        """What it is called in a table of rounds."""
        if self.prepared:
            return "preparation"
        number = self.release if self.round is None else self.round
        return f"evaluation after round {number}" if self.held_out else str(number)


@dataclass(frozen=True, slots=True)
class LostRound:
    """A release that was interrupted and stays charged, because its sum may have been seen.

    Attributes:
        release: its number.
        reason: of the interruption.
        name: what it is called in a sentence, where not all releases are rounds; empty: by its number.
    """

    release: int
    reason: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class AbortedRound:
    """An attempt that stopped before anything was unmasked; it costs nothing against who sees sums only.

    ``name`` is as of `LostRound`.
    """

    release: int
    code: str
    name: str = ""


RoundOutcome = CompletedRound | LostRound | AbortedRound


@dataclass(frozen=True, slots=True)
class AttackPoint:
    """No attack with this false-positive rate finds a unit more often than ``max_true_positive_rate``."""

    false_positive_rate: float
    max_true_positive_rate: float


@dataclass(frozen=True, slots=True)
class AttackBound:
    """What the best imaginable membership attack could reach against the budget adversary.

    Attributes:
        curve: for plotting, by rising false-positive rate.
        table: at the false-positive rates that people quote.
        max_advantage: bound on true-positive minus false-positive rate at any threshold.
    """

    curve: tuple[AttackPoint, ...]
    table: tuple[AttackPoint, ...]
    max_advantage: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Models trained without privacy, to show what privacy costs and what joining brings."""

    pooled: Measured
    alone: tuple[tuple[str, Measured], ...]


@dataclass(frozen=True, slots=True)
class SiloBudget:
    """What a training costs one silo by its own policy; pairs are (ε, δ).

    Attributes:
        silo: its name.
        training: the whole plan, under the owner's own assumption about colluders.
        added: what this training adds where trainings are added up; nothing before its first release.
        elsewhere: spent in all other trainings, as the silo states.
        limit_of_a_training: what the policy allows in one training.
        limit: what the policy allows in all trainings together.
        together: where trainings compose by a filter, everything with the whole of this training: ε at the
            whole δ.
        share: of the filter's budget that is used by then; above 1, it is exceeded.
    """

    silo: str
    training: Guarantee
    added: tuple[float, float]
    elsewhere: tuple[float, float]
    limit_of_a_training: tuple[float, float]
    limit: tuple[float, float]
    together: tuple[float, float] | None = None
    share: float | None = None

    @property
    def used(self) -> tuple[float, float]:
        """Spent in all trainings: ε and δ add up (basic composition), or as the owner's filter says."""
        if self.together is not None:
            return self.together
        return self.elsewhere[0] + self.added[0], self.elsewhere[1] + self.added[1]

    @property
    def left(self) -> tuple[float, float] | None:
        """What the policy still allows; negative where more was spent. None under a filter: see `share`."""
        if self.together is not None:
            return None
        return self.limit[0] - self.used[0], self.limit[1] - self.used[1]

    @property
    def is_kept(self) -> bool:
        """Whether both limits are kept."""
        epsilon, delta = self.limit_of_a_training
        within = self.training.epsilon <= epsilon and self.training.delta <= delta
        left = self.left
        return within and (min(left) >= 0 if left is not None else self.share is not None and self.share <= 1)


@dataclass(frozen=True, slots=True)
class Fact:
    """One line about how the training was done: a label, a value, and what it means."""

    label: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the records: its name, what it is used as, and the public rule that it is read by."""

    name: str
    kind: str
    rule: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that was refused, or a claim that is deliberately not made, with the reason."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that this run rests on."""

    role: str
    bibtex: str


@dataclass(frozen=True, slots=True)
class ReportInput:
    """Everything that a report shows.

    Attributes:
        title: name of the training.
        seeded: True for a simulation whose noise anyone with the seed can remove.
        silos: names of the silos.
        planned_rounds: rounds in the plan.
        budget: the guarantee for the whole plan against the strongest adversary that it was made for.
        spent: the same adversary, for the rounds charged so far; CONDITIONAL before the last planned one, or
            the whole budget where results may end the training.
        guarantees: one for each adversary, for the whole plan.
        persons: number of records and what the plan leaves to somebody with so many at one silo.
        units: public bound on how many units take part, for the judgement of δ.
        silo_budgets: one for each silo whose owner handed its policy over for the report.
        attack: what that ε and δ leave to an attacker; None if nothing finite is promised.
        outcomes: what became of each attempt at a round, in order.
        final: the released model, measured; None if evaluation was off or no round was completed.
        comparison: None if it was switched off.
        start: the public weights that a linear head began at, measured; None where it began at zero, if
            evaluation was off, or before the training was finished.
        facts: how it was done.
        refusals: what was refused and what is not claimed.
        citations: sources of exactly what was used.
        plan_digest: SHA-256 that every party compared.
        ledger_head: SHA-256 of the last ledger line.
        signer: public key, in hexadecimal, of who signs the run; empty if nobody does.
        versions: names and versions of the software that wrote the report.
        attribution: who made the data, under which licence; empty if unknown.
        finished: date (UTC) of the last round; empty before.
        about: what the parties stated for the file.
        columns: of a table, with their public rules.
        quality: of the released model, in detail; None if nothing was measured.
        answers: of a run that asked questions, none before its sum is released; None for a training.
        shapes: what a linear model over a table says, column by column; None for another, or without rounds.
        held_out: how good the model became on held-out records under the guarantee, and how good it was when
            it was last asked; none where it was not.
        evaluations: how many are planned between the rounds.
        lost_evaluations: how many of them were lost; they stay charged.
        kept: the round after which the released model was, where the best one is kept.
        preparations: how many releases are planned before the first round.
        most_contributions: with a schedule, whose rounds are sums of some silos: in how many of those that
            are charged one silo may be. None without.
    """

    title: str
    seeded: bool
    silos: tuple[str, ...]
    planned_rounds: int
    budget: Guarantee
    spent: Guarantee
    guarantees: tuple[Guarantee, ...]
    persons: tuple[tuple[int, Guarantee], ...]
    units: int
    silo_budgets: tuple[SiloBudget, ...]
    attack: AttackBound | None
    outcomes: tuple[RoundOutcome, ...]
    final: Measured | None
    comparison: Comparison | None
    facts: tuple[Fact, ...]
    refusals: tuple[Refusal, ...]
    citations: tuple[Citation, ...]
    plan_digest: str
    ledger_head: str
    signer: str
    versions: tuple[tuple[str, str], ...]
    attribution: str = ""
    finished: str = ""
    about: tuple[Fact, ...] = ()
    columns: tuple[Column, ...] = ()
    quality: AnyQuality | None = None
    answers: tuple[Answer, ...] | None = None
    shapes: Shown | None = None
    held_out: tuple[Answer, ...] = ()
    evaluations: int = 0
    lost_evaluations: int = 0
    kept: int | None = None
    preparations: int = 0
    most_contributions: int | None = None
    start: Measured | None = None

    @property
    def counts_whole(self) -> bool:
        """Whether all that is planned counts though less is charged, since results may end the training."""
        total = self.preparations + self.planned_rounds + self.evaluations
        return 0 < self.charged_rounds < total and NO_CHOSEN_END not in self.spent.assumptions

    @property
    def planned(self) -> str:
        """Says how many releases are planned."""
        total = self.preparations + self.planned_rounds + self.evaluations
        if total == self.planned_rounds:
            return f"{self.planned_rounds} planned {self._rounds}"
        parts = [
            *(["a preparation"] if self.preparations else []),
            count_of(self.planned_rounds, "round"),
            *([count_of(self.evaluations, "evaluation")] if self.evaluations else []),
        ]
        return f"{total} planned releases ({', '.join(parts)})"

    @property
    def completed(self) -> tuple[CompletedRound, ...]:
        """The rounds that were released."""
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, CompletedRound))

    @property
    def _rounds(self) -> str:
        if self.most_contributions is not None:
            return "sums"
        return "releases" if self.preparations or self.evaluations else "rounds"

    @property
    def charged(self) -> str:
        """Says what counts against the budget."""
        text = f"{self.charged_rounds} {self._rounds} charged"
        most = self.most_contributions
        return text if most is None else f"{text}; no silo is in more than {most} of them"

    @property
    def charged_rounds(self) -> int:
        """Rounds that count against the budget."""
        return sum(not isinstance(outcome, AbortedRound) for outcome in self.outcomes)
