"""What of a round may go to a tracker, which is often a server that belongs to somebody else."""

from __future__ import annotations

import re

from discreet.privacy.notation import delta_text
from discreet.rounds import RoundReport

_OF_ONE_SILO = "/"


def public_values(report: RoundReport, *, per_silo: bool) -> dict[str, float]:
    """Returns the numbers of a round by name.

    Guarantee:
        No training loss, and no measurement of a single silo unless ``per_silo``. Measurements on held-out
        records are there only if the run makes any (``run.evaluate``); no guarantee covers them, and their
        names say so. Every ε is named with its adversary, unit and δ, and what it takes for granted; where
        results may end the training, it is that of the whole plan from the first round on, and holds anyway.

    Args:
        report: of the round.
        per_silo: whether held-out measurements of single silos may leave.
    """
    measured = {
        f"not private/held-out {name}": value
        for name, value in report.metrics.items()
        if per_silo or _OF_ONE_SILO not in name
    }
    spent = report.spent
    against = f"against {spent.adversary.describe()}, per {spent.unit.value}, delta {delta_text(spent.delta)}"
    return {
        **measured,
        f"epsilon if no result ends it/{_plain(against)}": spent.epsilon,
        "round/survivors": float(len(report.sum.survivors)),
        "round/bytes per silo": float(report.sum.bytes_per_silo),
        "round/seconds": report.seconds,
        **({} if report.clip_norm is None else {"round/clipping norm": report.clip_norm}),
    }


def _plain(name: str) -> str:
    """Keeps the characters that every tracker takes in a name."""
    return re.sub(r"[^\w ./-]", "", name.replace("<", "below"))
