"""The dry run: what would leave a silo under a plan, and what it would cost, before anything is sent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime

import numpy as np

from discreet.data import Records
from discreet.plan import Plan, wire_terms
from discreet.plan.counted import contributions_of
from discreet.plan.held_out import evaluation_text
from discreet.plan.order import count_of
from discreet.plan.prepared import preparation_text
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import read_ledger
from discreet.secagg.terms import DIGEST_BYTES
from discreet.silo.policy import Account, Policy, PolicyRefusal, load_key, objections, review
from discreet.silo.policy.ledger import charged_by_training
from discreet.silo.policy.limits import Limits
from discreet.silo.policy.refusal import RefusalCode, refused_in_person
from discreet.silo.records import load_records
from discreet.silo.state import SiloState


@dataclass(frozen=True, slots=True)
class DryRun:
    """What the owner should know before joining.

    Attributes:
        plan: the plan.
        cost: of all its rounds, under the owner's assumption about colluders.
        spent: (ε, δ) of all other trainings so far, by this silo's ledger; under a filter, ε at the whole δ.
        left: (ε, δ) of the policy's total that would be left after this training; None under a filter, where
            ε and δ are no two purses.
        share: of the policy's total that would be used by then.
        limits: the policy's total, and how trainings compose.
        records: how many training records would take part; stays here.
        persons: likewise of whom these are; None where no person is protected.
        features: how many numbers a record becomes.
        released: what would leave, in words.
        held_out: what becomes of held-out records, in words.
        notes: how many cells and rows cannot be used as they are; for the owner only.
    """

    plan: Plan
    cost: Guarantee
    spent: tuple[float, float]
    left: tuple[float, float] | None
    share: float
    limits: Limits
    records: int
    persons: int | None
    features: int
    released: tuple[str, ...]
    held_out: str
    notes: tuple[str, ...]


def reasons_against(policy: Policy, plan: Plan) -> tuple[PolicyRefusal, ...]:
    """Returns every reason for which this silo would refuse, the owner's approval last; loads no record.

    Raises:
        LedgerError: if the ledger is damaged.
    """
    state = SiloState(policy)
    account, today = _account(state)
    found = list(objections(plan, policy, account, today=today, approved=state.approved()))
    if plan.digest() in state.refused():
        # Which says as well that it needs an approval.
        found = [one for one in found if one.code is not RefusalCode.APPROVAL]
        found.insert(0, refused_in_person(plan.digest(), policy.silo))
    return tuple(found)


def dry_run(policy: Policy, proposed: Plan, *, as_if_approved: bool = False) -> DryRun:
    """Reviews a plan, loads the records as they would be used, and sends nothing.

    Args:
        policy: the silo's.
        proposed: the plan.
        as_if_approved: shows what a plan that waits for a person would do.

    Raises:
        PolicyRefusal: if this silo would refuse, with the reason.
        DataError: if its source of records does not fit.
        LedgerError: if the ledger is damaged.
    """
    load_key(policy.identity)
    state = SiloState(policy)
    account, today = _account(state)
    approved = state.approved() | ({proposed.digest()} if as_if_approved else frozenset())
    approval = review(proposed, policy, account, today=today, approved=approved)
    notes: list[str] = []
    plan = approval.plan

    def load(part: Plan) -> Records:
        source, written = policy.data.source, policy.data.written
        return load_records(
            source, part, policy.silo, note=notes.append, written=written, cache=state.features
        )

    records = {name: load(part) for name, part in plan.sides.items()}[None]
    limits = policy.budget.lifetime
    others = account.without(plan.digest())
    later = others.including(approval.charge, approval.charge.planned)
    after = later.total(limits)
    return DryRun(
        plan=plan,
        cost=approval.cost,
        spent=others.total(limits),
        left=(limits.epsilon - after[0], limits.delta - after[1]) if limits.composition == "sum" else None,
        share=later.share(limits),
        limits=limits,
        records=len(records),
        persons=None if records.persons is None else len(np.unique(records.persons)),
        features=math.prod(plan.facts.feature_shape),
        released=released(plan, policy.silo),
        held_out=_held_out(plan),
        notes=tuple(dict.fromkeys(notes)),
    )


def _account(state: SiloState) -> tuple[Account, date]:
    """Returns what was spent, and the day by which it is judged."""
    state.check_anchor()
    lines = read_ledger(state.ledger) if state.ledger.exists() else ()
    entries, today = tuple(line.entry for line in lines), datetime.now(UTC).date()
    charged = charged_by_training(entries), charged_by_training(entries, today.year)
    return state.account(*charged), today


def _held_out(plan: Plan) -> str:
    """Says what becomes of the records that training does not touch."""
    fraction = plan.data.test_fraction
    if fraction == 0.0:
        return "no record is held out"
    share = f"about {100 * fraction:.3g} % of the records"
    if plan.data.asked == "held-out":
        return f"{share} are held out by a public coin: those are asked, and no other"
    if plan.evaluation is not None:
        return (
            f"{share} are held out by a public coin: those are asked how good the model is, "
            f"{evaluation_text(plan)}, and are in no round"
        )
    return (
        f"{share} are held out by a public coin (of an npz file with a test set, that set) and used for "
        "nothing here; another plan may ask them how good the model is. Set data.test_fraction = 0 in the "
        "plan to use all"
    )


def released(plan: Plan, silo: str) -> tuple[str, ...]:
    """Lists everything that leaves ``silo`` in a training, or to answer questions, in words."""
    wire = wire_terms(plan, bytes(DIGEST_BYTES))
    return (
        *(
            f"question {number}: {question.describe()}"
            for number, question in enumerate(plan.questions, start=1)
        ),
        *(() if plan.preparation is None else (_asked_before(plan),)),
        "public keys, sealed key shares for the other silos, and signatures",
        f"in each of {rounds_text(plan, silo)} one vector of {wire.length:,} integers modulo 2^{wire.bits} "
        f"({-(-wire.length * wire.bits // 8):,} bytes), masked, with this silo's own noise in it",
        "no record, no count, no loss and no metric",
    )


def rounds_text(plan: Plan, silo: str) -> str:
    """Says how many releases ask ``silo``, and of how many where a timetable leaves it out of some."""
    if plan.timetable is not None:
        return f"{contributions_of(plan, silo)} of {plan.rounds} sums by the plan's timetable"
    found = [] if plan.preparation is None else ["1 release that asks the training records"]
    asked = plan.releases - plan.rounds - len(found)
    held_out = [f"{count_of(asked, 'evaluation')} of held-out records"] if asked else []
    found += [count_of(plan.rounds, "round"), *held_out]
    return " and ".join([", ".join(found[:-1]), found[-1]] if found[1:] else found)


def _asked_before(plan: Plan) -> str:
    """Says what the release before the first round asks."""
    asked = () if plan.preparation is None else plan.preparation.questions
    questions = " ".join(question.describe() for question in asked)
    return f"release 0, before round 1, asks the training records: {questions} To {preparation_text(plan)}"
