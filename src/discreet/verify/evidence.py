"""What everything else is checked against: plan and ledger, each whole by its own hashes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import ConfigurationError, LedgerError
from discreet.plan import Plan, load_plan
from discreet.privacy.ledger import Entry, Line, Opened, Resumed, Spending, read_ledger, spending
from discreet.rounds import RunDirectory
from discreet.verify.failure import VerificationFailure


@dataclass(frozen=True, slots=True)
class Evidence:
    """Plan and ledger of one run, read and found whole.

    Attributes:
        directory: where the files are.
        plan: the plan, whole by its own digest.
        lines: the ledger, whole by its chain.
        own_code: whether a model that is not bundled may be imported: a plan names whatever it likes.
    """

    directory: RunDirectory
    plan: Plan
    lines: tuple[Line, ...]
    own_code: bool = False

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
        """Whether the ledger says that the noise came from a seed."""
        opened = self.entries[0]
        return isinstance(opened, Opened) and opened.randomness == "seeded"


def gather(path: Path, *, own_code: bool = False) -> Evidence:
    """Reads plan and ledger and checks that they are whole and belong together.

    Raises:
        VerificationFailure: naming the first thing that is wrong.
    """
    directory = RunDirectory(path)
    try:
        plan = load_plan(directory.plan)
        lines = read_ledger(directory.ledger)
        spent = spending(line.entry for line in lines)
    except (ConfigurationError, LedgerError) as error:
        raise VerificationFailure(str(error)) from None
    text = directory.plan.read_text(encoding="utf-8")
    if json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n" != text:
        raise VerificationFailure("plan.json must be as it was written; spaces or keys were altered.")
    if not directory.ledger.read_bytes().endswith(b"\n"):
        raise VerificationFailure("the last line of ledger.jsonl must be whole; it is torn or altered.")
    _require_plan(lines, plan)
    _require_terms(plan, spent)
    return Evidence(directory, plan, lines, own_code)


def _require_plan(lines: tuple[Line, ...], plan: Plan) -> None:
    """Checks that the ledger was opened, and every time resumed, for this plan."""
    if not lines or not isinstance(lines[0].entry, Opened):
        raise VerificationFailure("ledger.jsonl must begin with the plan that it belongs to; it does not.")
    for line in lines:
        entry = line.entry
        if isinstance(entry, Opened | Resumed) and entry.plan_digest != plan.digest():
            raise VerificationFailure(
                f"line {line.sequence + 1} of the ledger must belong to plan.json; it names another plan."
            )


def _require_terms(plan: Plan, spent: Spending) -> None:
    """Checks that what was released is what the plan allows: rounds, silos, survivors."""
    if spent.charged > plan.rounds:
        raise VerificationFailure(
            f"the ledger must charge at most {plan.rounds} releases; it charges {spent.charged}."
        )
    for release in spent.completed:
        known = set(release.survivors) <= set(plan.facts.silos)
        if not known or len(set(release.survivors)) < plan.thresholds.min_survivors:
            raise VerificationFailure(
                f"release {release.release} must have at least {plan.thresholds.min_survivors} survivors, "
                f"all of them silos of the plan; the ledger names {', '.join(release.survivors)}."
            )
