"""The owner's review: a proposed plan and a policy in, an approval or a refusal out. No I/O, no trust.

Nothing that the plan *states* about its guarantee is believed: the silo plans again from the config and the
public facts with its own installed code, compares, and computes the guarantee from what it got.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePath

from torch import nn

from discreet.config.data import features_named
from discreet.data.load import BUNDLED
from discreet.errors import ConfigurationError, PrivacyRefusal
from discreet.plan import Plan, load_plan, parse_plan, wire_terms
from discreet.plan.follows import unlike_its_config
from discreet.plan.public_model import public_model
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import Status
from discreet.secagg import Bell, Bonawitz
from discreet.secagg.bell.protocol import COMPLETE_UP_TO
from discreet.secagg.terms import DIGEST_BYTES
from discreet.silo.policy.budget import Account, Charge
from discreet.silo.policy.document import Policy
from discreet.silo.policy.model_rule import permitted
from discreet.silo.policy.refusal import PolicyRefusal, RefusalCode


@dataclass(frozen=True, slots=True)
class Approval:
    """What the silo agrees to, in its own numbers.

    Attributes:
        charge: how the training is charged at this silo.
        model: the public model, built here.
    """

    charge: Charge
    model: nn.Module

    @property
    def plan(self) -> Plan:
        """The plan as proposed, and as planned again here."""
        return self.charge.plan

    @property
    def cost(self) -> Guarantee:
        """The guarantee for this silo's units over all its contributions, under the owner's assumption."""
        return self.charge.whole


def read_plan(document: bytes) -> Plan:
    """Reads a proposed plan.

    Raises:
        PolicyRefusal: if it is no plan, or was altered after its digest was taken.
    """
    try:
        return parse_plan(document)
    except ConfigurationError as error:
        raise PolicyRefusal(RefusalCode.PLAN, f"the proposed plan must be readable: {error}") from None


def read_plan_file(path: Path) -> Plan:
    """Reads the file of a proposed plan, with what it says that the plan costs.

    Raises:
        ConfigurationError: if there is no such file.
        PolicyRefusal: if it is no plan, or anything in it was altered.
    """
    if not path.is_file():
        raise ConfigurationError(f"the plan must be a readable file; {path} is none.")
    try:
        return load_plan(path)
    except ConfigurationError as error:
        raise PolicyRefusal(RefusalCode.PLAN, f"the proposed plan must be readable: {error}") from None


def review(proposed: Plan, policy: Policy, account: Account, *, today: date, approved: Set[str]) -> Approval:
    """Decides whether a silo takes part in a proposed plan.

    Guarantee:
        If this returns, the plan follows from its own config and facts by this silo's own code, and all its
        releases together stay within the policy's budget when the policy's number of silos collude, who
        open no other sum either. No code was imported and no file opened that the policy does not name.

    Args:
        proposed: the plan, as `read_plan` gives it.
        policy: the owner's rules.
        account: what this silo's ledger says was spent, in all trainings.
        today: the date.
        approved: digests of the plans that a person approved here.

    Raises:
        PolicyRefusal: with a reason that is safe to show to the server.
    """
    return afforded(priced(proposed, policy, today), policy, account, approved)


def priced(proposed: Plan, policy: Policy, today: date) -> Charge:
    """Returns how a plan would be charged, once it keeps the rules and follows from its own config.

    Raises:
        PolicyRefusal: for the first rule that it breaks, or the first value that does not follow.
    """
    for objection in _broken_rules(proposed, policy, today):
        raise objection
    return _planned_again(proposed, policy)


def afforded(charge: Charge, policy: Policy, account: Account, approved: Set[str]) -> Approval:
    """Takes part in a plan that `priced` let through, if the owner can afford it; builds its model last.

    Raises:
        PolicyRefusal: as `review`.
    """
    for objection in _not_afforded(charge, policy, account, approved):
        raise objection
    return Approval(charge, _public_model(charge.plan))


def objections(
    plan: Plan, policy: Policy, account: Account, *, today: date, approved: Set[str]
) -> Iterator[PolicyRefusal]:
    """Yields every reason for which a silo would not take part, each with what it would need.

    What a plan costs is worked out only if it follows from its own config: else its own numbers, which are
    then nobody's, would be weighed.
    """
    yield from _broken_rules(plan, policy, today)
    if any(_not_of_files(plan, policy)):
        return  # to plan again could open what the policy does not name
    try:
        charge = _planned_again(plan, policy)
    except PolicyRefusal as refusal:
        yield refusal
        return
    yield from _not_afforded(charge, policy, account, approved)


def _not_afforded(
    charge: Charge, policy: Policy, account: Account, approved: Set[str]
) -> Iterator[PolicyRefusal]:
    """Weighs what a plan costs; to stop after the first reason is to compute none of the others."""
    yield from _of_honest_silos(charge)
    yield from _of_colluders(charge)
    yield from account.refusals(policy.budget, charge, charge.planned)
    status = charge.whole.status
    if status is Status.CONDITIONAL and not policy.require.accept_conditional:
        yield _not_allowed("guarantee", "one that does not rest on unproven assumptions", status.value)
    digest = charge.plan.digest()
    if policy.require.approval == "person" and digest not in approved:
        yield PolicyRefusal(
            RefusalCode.APPROVAL,
            f"plan {digest[:16]} must be approved by a person at {policy.silo}, and is not.",
        )


def _broken_rules(plan: Plan, policy: Policy, today: date) -> Iterator[PolicyRefusal]:
    """Compares what the plan asks with what the policy allows; nothing is built or loaded yet."""
    yield from _not_of_files(plan, policy)
    require = policy.require
    if today > policy.expires:
        yield PolicyRefusal(
            RefusalCode.EXPIRED, f"{policy.silo}'s policy must be valid; it expired on {policy.expires}."
        )
    if policy.silo not in plan.facts.silos:
        yield _not_allowed("silos", f"a list with {policy.silo!r}", ", ".join(plan.facts.silos))
    if plan.privacy.unit != require.unit:
        yield _not_allowed("privacy.unit", require.unit, plan.privacy.unit)
    yield from _of_aggregation(plan, policy)
    for part in plan.every_part.values():
        yield from _of_columns(part, policy)
        yield from _of_label(part, policy)
        yield from _of_person(part, policy)
    if plan.model.loss is not None:
        yield _not_allowed("model.loss", "left out", plan.model.loss.function)
    for name, part in plan.every_part.items():
        if not permitted(require.models, part.model.name, part.facts.model_digest):
            what = "model" if name is None else f"model of its {name}"
            yield _not_allowed(what, "one of " + ", ".join(require.models), part.model.name)


def _of_aggregation(plan: Plan, policy: Policy) -> Iterator[PolicyRefusal]:
    require, asked = policy.require, plan.aggregation
    if asked.protocol not in require.protocols:
        yield _not_allowed("aggregation.protocol", "one of " + ", ".join(require.protocols), asked.protocol)
    mode = carried_out_mode(plan)
    if mode not in require.modes:
        yield _not_allowed("aggregation.mode", "one of " + ", ".join(require.modes), mode)
    if plan.thresholds.min_survivors < require.min_survivors:
        survivors = str(plan.thresholds.min_survivors)
        yield _not_allowed("aggregation.min_survivors", f"at least {require.min_survivors}", survivors)


def carried_out_mode(plan: Plan) -> str:
    """Returns the trust in the server that a plan really rests on.

    Above 50 silos ``bell`` is sparse: what its config calls ``malicious`` needs a server that is honest until
    the keys are listed.
    """
    aggregation = plan.aggregation
    sparse = aggregation.protocol == "bell" and len(plan.facts.silos) > COMPLETE_UP_TO
    return "semi-malicious" if sparse and aggregation.mode == "malicious" else aggregation.mode


def _not_of_files(plan: Plan, policy: Policy) -> Iterator[PolicyRefusal]:
    """Checks what the plan would have this silo load."""
    data = plan.data
    if policy.data.source == "plan" and data.source_text not in BUNDLED:
        yield _not_allowed("data.source", "one of " + ", ".join(BUNDLED), data.source_text)
    kind, _, name = (data.transform or "").partition(":")
    if kind == "map" or (kind == "network" and not permitted(policy.require.models, name, "")):
        allowed = "one named in require.models" if kind == "network" else "no function of one's own"
        yield _not_allowed("data.transform", allowed, name)
    own = policy.data.weight_files
    for key, path in plan.weight_files.items():
        if PurePath(path).name not in own:
            yield _not_allowed(key, "a file that 'data.weights' of the policy names", PurePath(path).name)


def _with_own_files(plan: Plan, policy: Policy) -> Plan:
    """Returns the plan with the owner's own paths of public weights in it.

    A plan is agreed upon without the folders of its files, so its digest stays.
    """
    return plan.with_own_files(lambda path: str(policy.data.weight_files[PurePath(path).name]))


def _of_label(plan: Plan, policy: Policy) -> Iterator[PolicyRefusal]:
    allowed, label = policy.data.labels, plan.data.label
    if plan.data.asked is True:
        return  # no label is read; which columns may be asked, 'columns' says
    if allowed is not None and not (label and set(plan.data.labels) <= set(allowed)):
        named = ", ".join(plan.data.labels) or "none"
        yield _not_allowed("data.label", "one of " + ", ".join(allowed), named)


def _of_columns(plan: Plan, policy: Policy) -> Iterator[PolicyRefusal]:
    allowed = policy.data.columns
    if allowed is None:
        return
    data = plan.data
    wanted = features_named(data)
    if not wanted:
        yield _not_allowed("data", "a list of feature columns ('ranges', 'dates', 'categories')", "none")
    forbidden = sorted(set(wanted) - set(allowed))
    if forbidden:
        yield _not_allowed("feature columns", "among " + ", ".join(allowed), ", ".join(forbidden))
    if data.id is not None and data.id != policy.data.id:
        yield _not_allowed("data.id", policy.data.id or "left out", data.id)


def _of_person(plan: Plan, policy: Policy) -> Iterator[PolicyRefusal]:
    """Whose a record is, and how far persons are spread, is the owner's word and not the coordinator's."""
    person = plan.data.person
    if person is None:
        return
    if person.column != policy.data.person:
        yield _not_allowed("data.person.column", policy.data.person or "named in the policy", person.column)
    if person.most_silos < policy.require.most_silos:
        yield _not_allowed(
            "data.person.most_silos", f"at least {policy.require.most_silos}", str(person.most_silos)
        )


def _public_model(plan: Plan) -> nn.Module:
    """Builds the plan's model, after all else was agreed: factories are code, which the policy names."""
    try:
        return public_model(plan)
    except ConfigurationError as error:
        raise PolicyRefusal(
            RefusalCode.PLAN, f"the plan's model must be the one built here: {_without_paths(str(error))}"
        ) from None


def _without_paths(text: str) -> str:
    """Leaves out where files are on this machine, which errors of imported code may say."""
    return re.sub(r"(?<![\w.])(?:/|[A-Za-z]:\\)[^\s'\",;:()]+", "(a file)", text)


def _planned_again(proposed: Plan, policy: Policy) -> Charge:
    """Plans again from config and facts, and refuses any difference in noise, grid, floors or guarantee."""
    plan = _with_own_files(proposed, policy)
    try:
        difference = unlike_its_config(plan)
    except (ConfigurationError, PrivacyRefusal) as error:
        raise PolicyRefusal(RefusalCode.PLAN, f"the plan's own config must lead to a plan: {error}") from None
    except (ArithmeticError, MemoryError) as error:
        raise PolicyRefusal(
            RefusalCode.PLAN,
            f"the plan's numbers must be of a size to compute with; one is not ({type(error).__name__}).",
        ) from None
    if difference is not None:
        raise PolicyRefusal(
            RefusalCode.PLAN,
            f"the plan must follow from its own config; {difference}. "
            "The plan was altered, or the parties run different versions of discreet.",
        )
    return Charge.under(plan, policy)


def _of_honest_silos(charge: Charge) -> Iterator[PolicyRefusal]:
    if not charge.honest_inputs >= 2:
        yield PolicyRefusal(
            RefusalCode.NOT_ALLOWED,
            f"at least 2 honest silos must survive if {charge.max_colluding} collude, as this silo assumes; "
            f"the plan's min_survivors = {charge.plan.thresholds.min_survivors} leaves "
            f"{charge.honest_inputs}. Raise 'aggregation.min_survivors'.",
        )


def _of_colluders(charge: Charge) -> Iterator[PolicyRefusal]:
    """Refuses shares, confirmations and graphs that the number of colluders assumed here could get around."""
    protocol, assumed = charge.plan.protocol, charge.max_colluding
    if not isinstance(protocol, Bonawitz | Bell):
        return
    try:
        protocol.check_against(wire_terms(charge.plan, session=bytes(DIGEST_BYTES)), assumed)
    except ConfigurationError as error:
        yield PolicyRefusal(
            RefusalCode.NOT_ALLOWED,
            f"the plan's secure aggregation must withstand {assumed} colluding silos, as this silo assumes; "
            f"it is made for {charge.plan.thresholds.max_colluding}: {error} "
            f"Set 'aggregation.max_colluding' to at least {assumed}.",
        )


def _not_allowed(what: str, allowed: str, got: str) -> PolicyRefusal:
    return PolicyRefusal(
        RefusalCode.NOT_ALLOWED, f"{what} must be {allowed} at this silo; the plan has {got}."
    )
