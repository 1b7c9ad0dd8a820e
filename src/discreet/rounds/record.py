"""A run on disk, read once: the plan, and the ledger that was kept under it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.errors import LedgerError
from discreet.plan import Plan, guarantees_after, load_plan
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import Entry, Line, Opened, Resumed, Spending, read_ledger, spending
from discreet.rounds.directory import RunDirectory
from discreet.rounds.judging import Evaluated, best, evaluated_from
from discreet.rounds.origin import Origin, origin_of


@dataclass(frozen=True, slots=True, repr=False)
class RunRecord:
    """Plan and ledger of one run, each whole by its own hashes, and the ledger kept for this plan.

    Attributes:
        directory: where the files are.
        plan: the plan.
        lines: the ledger; the first line opened it for ``plan``.
    """

    directory: RunDirectory
    plan: Plan
    lines: tuple[Line, ...]

    def __repr__(self) -> str:
        return f"RunRecord({str(self.directory.path)!r}: {len(self.lines)} lines under {self.plan!r})"

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The ledger's entries."""
        return tuple(line.entry for line in self.lines)

    @property
    def spending(self) -> Spending:
        """What the ledger says was spent."""
        return spending(self.entries)

    @property
    def head(self) -> str:
        """Digest of the last ledger line."""
        return self.lines[-1].digest()

    @property
    def seeded(self) -> bool:
        """Whether the ledger says that the noise came from a seed, which lets anyone who has it remove it."""
        opened = self.lines[0].entry
        return isinstance(opened, Opened) and opened.randomness == "seeded"

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """One for each adversary, over all that was released and every attempt besides."""
        return guarantees_after(self.plan, self.spending)

    @property
    def released_after(self) -> int | None:
        """The completed release after which the model was the released one; None before the first.

        Raises:
            LedgerError: if the state that says which one was best cannot be read.
        """
        completed = self.spending.completed
        if not completed:
            return None
        if self.plan.keeps_best and (found := best(self.plan, self._evaluated)) is not None:
            asked = (one.release for one in completed if self.plan.order.evaluates(one.release))
            return next(release for release in asked if self.plan.order.round_of(release) == found.after)
        return completed[-1].release

    @property
    def _evaluated(self) -> tuple[Evaluated, ...]:
        return evaluated_from(self.directory.load_state().arrays)

    @property
    def origin(self) -> Origin:
        """What the released model says of itself."""
        asked = self._evaluated if self.plan.keeps_best and self.spending.completed else ()
        return origin_of(self.plan, self.spending, asked, seeded=self.seeded)


def read_record(path: Path) -> RunRecord:
    """Reads plan and ledger of the run in ``path``.

    Raises:
        ConfigurationError: if the plan is missing or altered, or a file is a link or a device.
        LedgerError: if the ledger is missing, altered, or belongs to another plan.
    """
    directory = RunDirectory(path)
    directory.require_plain_files()
    plan = load_plan(directory.plan)
    lines = read_ledger(directory.ledger)
    _require_ledger_of(plan, lines)
    return RunRecord(directory, plan, lines)


def begun_record(directory: RunDirectory) -> RunRecord | None:
    """Reads the run in a directory; None if no training was begun there, for its ledger has no line.

    Raises:
        DiscreetError: as `read_record`.
    """
    directory.require_plain_files()
    begun = directory.ledger.exists() and read_ledger(directory.ledger)
    return read_record(directory.path) if begun else None


def _require_ledger_of(plan: Plan, lines: tuple[Line, ...]) -> None:
    """Refuses a ledger that was opened, or ever resumed, for another plan."""
    opened = lines[0].entry if lines else None
    if not isinstance(opened, Opened):
        first = "no line" if opened is None else type(opened).__name__
        raise LedgerError(f"the ledger must begin with the plan that it belongs to; it begins with {first}.")
    for line in lines:
        entry = line.entry
        if isinstance(entry, Opened | Resumed) and entry.plan_digest != plan.digest():
            raise LedgerError(
                f"the ledger must belong to the plan beside it, {plan.digest()[:12]}…; "
                f"its line {line.sequence + 1} names {entry.plan_digest[:12]}…."
            )
