"""How a silo stands, read from its state folder alone, whether or not a process serves it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from discreet.documents import shown
from discreet.engines.flower.occupancy import occupied
from discreet.errors import ConfigurationError
from discreet.log_line import Value, iso_time, read_lines
from discreet.privacy.ledger import read_ledger
from discreet.privacy.notation import pair_text
from discreet.silo.policy import Policy, load_policy
from discreet.silo.policy.document import BudgetTable
from discreet.silo.spending import Odometer, TrainingSpent, odometer
from discreet.silo.state import SiloState

_MOST_PROPOSALS = 10
_TAIL_BYTES = 1 << 16
_LONGEST_LINE = 2000
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class SiloStatus:
    """The status of a silo.

    Attributes:
        silo: its name in plans.
        serving: whether a process holds the ledger.
        expires: the policy's last day.
        budget: what may ever be spent.
        odometer: what was.
        ledger_changed: when the ledger was last written, that is, the time of the last charge or its end;
            None if there is no ledger.
        waiting: plans that wait for a person's approval.
        proposals: the last proposals with their verdicts, oldest first, as the silo wrote them down.
    """

    silo: str
    serving: bool
    expires: date
    budget: BudgetTable
    odometer: Odometer
    ledger_changed: datetime | None
    waiting: tuple[Path, ...]
    proposals: tuple[dict[str, Value], ...]

    @property
    def trainings(self) -> tuple[TrainingSpent, ...]:
        """In the order in which they began."""
        return self.odometer.trainings

    @property
    def epsilon(self) -> float:
        """Charged in all trainings, as the budget composes them."""
        return self.odometer.lifetime.epsilon

    @property
    def delta(self) -> float:
        """Charged in all trainings."""
        return self.odometer.lifetime.delta

    @property
    def left(self) -> tuple[float, float] | None:
        """The (ε, δ) left of the policy's budget, never below 0; None under a filter, which `share` tells of.

        There ε and δ are no two purses: all of δ serves whatever ε is spent.
        """
        budget = self.budget
        if budget.composition != "sum":
            return None
        return max(0.0, budget.max_epsilon - self.epsilon), max(0.0, budget.max_delta - self.delta)

    @property
    def share(self) -> float:
        """Of the policy's limits, how much is used; above 1, they are exceeded."""
        return self.odometer.lifetime.share

    @property
    def year_share(self) -> float | None:
        """Of the limits of the present year; None if the policy has none."""
        return None if self.odometer.year is None else self.odometer.year.share

    @property
    def _left(self) -> str:
        rest = _rest(self.share) if self.left is None else pair_text(*self.left, down=True)
        year = "" if self.year_share is None else f", and {_rest(self.year_share)} of this year"
        return rest + year

    def to_json(self) -> dict[str, object]:
        """Returns everything as plain JSON."""
        left = None if self.left is None else dict(zip(("epsilon", "delta"), self.left, strict=True))
        return {
            "silo": self.silo,
            "serving": self.serving,
            "expires": self.expires.isoformat(),
            "budget": self.budget.model_dump(),
            "charged": {"epsilon": self.epsilon, "delta": self.delta},
            "left": left,
            "share": {"lifetime": self.share, "year": self.year_share},
            "trainings": [
                {name: getattr(training, name) for name in TrainingSpent.__slots__}
                for training in self.trainings
            ],
            "ledger_changed": None if self.ledger_changed is None else iso_time(self.ledger_changed),
            "waiting": [str(path) for path in self.waiting],
            "proposals": list(self.proposals),
        }

    def lines(self) -> list[str]:
        """Returns everything as lines for people; names in them come from plans that others wrote."""
        found = [
            f"{self.silo}: {'a process serves' if self.serving else 'no process serves'}; "
            f"the policy's last day is {self.expires}",
            f"spent  {self.odometer.limits.spent_text(self.epsilon, self.delta)}",
            f"left   {self._left}; the budget is "
            f"{pair_text(self.budget.max_epsilon, self.budget.max_delta, down=True)}",
            *([] if self.budget.composition == "sum" else [self.odometer.limits.composed_text]),
            *([f"ATTENTION: {self.odometer.unfixed}"] if self.odometer.unfixed else []),
        ]
        for one in self.trainings:
            cost = pair_text(one.epsilon, one.delta)
            seen = "" if one.last_survivors is None else f"; {one.last_survivors} silos in the last one"
            name = shown(one.name, _LONGEST_NAME)
            found.append(f"  plan {one.plan[:16]} ({name}): {one.releases_text}, {cost}{seen}")
        if self.ledger_changed is not None:
            found.append(f"last change of the ledger: {iso_time(self.ledger_changed)}")
        found += [f"waits for approval: {path}" for path in self.waiting]
        for proposal in self.proposals:
            found.append("proposal: " + "  ".join(f"{name} {value}" for name, value in proposal.items()))
        return [shown(line, _LONGEST_LINE) for line in found]


def _rest(share: float) -> str:
    return f"{100.0 * max(0.0, 1.0 - share):.1f} % of the budget"


def read_silo_status(policy: Path | Policy) -> SiloStatus:
    """Reads how the silo of a ``policy.toml``, its folder, or a policy read before stands; waits for nobody.

    Raises:
        ConfigurationError: if the policy or a file of the state cannot be read.
        LedgerError: if the ledger's chain is broken, it is older than its anchor, or a plan that it names is
            missing.
    """
    if isinstance(policy, Path):
        inside = policy / "policy.toml"
        policy = load_policy(inside if inside.is_file() else policy)
    try:
        return silo_status(policy)
    except OSError as error:
        raise ConfigurationError(
            f"the state folder must be readable; {error.filename}: {error.strerror}. "
            "Ask as the user that the silo runs as."
        ) from None


def silo_status(policy: Policy) -> SiloStatus:
    """Returns how the silo of ``policy`` stands; a state folder that was never there has spent nothing."""
    state = SiloState(policy)
    state.check_anchor()
    ledger = policy.state / "ledger.jsonl"
    written = ledger.exists()
    entries = tuple(line.entry for line in read_ledger(ledger)) if written else ()
    return SiloStatus(
        silo=policy.silo,
        serving=written and occupied(ledger),
        expires=policy.expires,
        budget=policy.budget,
        odometer=odometer(policy, entries, datetime.now(UTC).date()),
        ledger_changed=datetime.fromtimestamp(ledger.stat().st_mtime, UTC) if written else None,
        waiting=_waiting(policy.state),
        proposals=_last_proposals(policy.state / "proposals.jsonl"),
    )


def _waiting(state: Path) -> tuple[Path, ...]:
    """Returns the plans that nobody approved yet."""
    approved = {path.name for path in (state / "approved").glob("*")}
    return tuple(sorted(path for path in (state / "pending").glob("*.json") if path.stem not in approved))


def _last_proposals(path: Path) -> tuple[dict[str, Value], ...]:
    """Returns the last proposals that the silo wrote down; reads no more than the end of the file."""
    if not path.exists():
        return ()
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        start = file.seek(max(0, size - _TAIL_BYTES))
        data = file.read()
    whole = data[data.find(b"\n") + 1 :] if start else data
    return tuple(read_lines(whole)[-_MOST_PROPOSALS:])
