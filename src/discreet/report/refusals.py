"""What was refused in a run, and the claims that are deliberately not made for it."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.plan import Plan
from discreet.privacy.adversary import WithoutSecureAggregation
from discreet.privacy.units import Unit
from discreet.report.content import AbortedRound, LostRound, Refusal, RoundOutcome
from discreet.report.sampling import every_round, samples_nowhere


def refusals(plan: Plan, outcomes: Iterable[RoundOutcome]) -> tuple[Refusal, ...]:
    """Returns the rounds that were refused, then the claims that are not made."""
    return (*_refused_rounds(outcomes), *_weak_guarantees(plan), *_claims_not_made(plan))


def _refused_rounds(outcomes: Iterable[RoundOutcome]) -> list[Refusal]:
    found = []
    for outcome in outcomes:
        if isinstance(outcome, AbortedRound):
            what = f"an attempt at {outcome.name or f'round {outcome.release}'} was refused ({outcome.code})"
            found.append(Refusal(what, "too little noise or too few shares were left; nothing was unmasked"))
        elif isinstance(outcome, LostRound):
            what = f"{outcome.name or f'round {outcome.release}'} was not repeated"
            found.append(Refusal(what, f"{outcome.reason}; its sum may have been seen, so it stays charged"))
    return found


def _weak_guarantees(plan: Plan) -> list[Refusal]:
    """Names adversaries against whom nothing finite, or little, is promised."""
    vacuous = [row.adversary for row in plan.guarantees if row.is_vacuous]
    return [
        Refusal(
            f"no guarantee against {adversary.describe()}", "no finite ε can be proven for this adversary"
        )
        for adversary in vacuous
        if not isinstance(adversary, WithoutSecureAggregation)
    ]


def _claims_not_made(plan: Plan) -> list[Refusal]:
    found = [
        Refusal(
            "secrecy of who took part, and of public facts in the plan",
            "names, survivors and capacities are visible to the server and in this report",
        ),
    ]
    if not plan.questions:
        found.append(
            Refusal(
                "privacy of measurements on held-out records",
                "they are computed without noise, for simulations; switch run.evaluate off where that "
                "matters",
            )
        )
    if plan.unit is Unit.RECORD:
        found.append(Refusal("one ε for a person with several records", "the protected unit is one record"))
    if samples_nowhere(plan):
        why = f"every unit takes part in {every_round(plan)}, so none is due"
        found.append(Refusal("a smaller ε through sampling", why))
    if plan.training.local.steps_share_state:
        found.append(
            Refusal(
                "noise added once for each local step, accounted over the sum of all silos",
                "later local steps depend on a silo's own unreleased state, which ordinary composition does "
                "not cover; here noise is added once for each round, to an update of proven sensitivity",
            )
        )
    return found
