"""Budget used against each silo's policy: what owners state, kept beside the run, and what follows from it.

A policy and a silo's ledger belong to the owner, so nothing is read of them unless the owner hands the
policy over. What was stated then lies in ``budgets.json``, so that everything else can be worked out again.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from discreet.documents import read_json
from discreet.errors import ConfigurationError
from discreet.plan import Plan
from discreet.plan.counted import contributions
from discreet.privacy.ledger import read_ledger
from discreet.report.content import SiloBudget
from discreet.rounds.directory import RunDirectory, write_durably
from discreet.silo.policy import Account, Charge, Policy, load_policy
from discreet.silo.policy.ledger import charged_by_training
from discreet.silo.policy.limits import MOST_RETRIES
from discreet.silo.state import SiloState

BUDGETS = "budgets.json"

_POLICY = "policy.toml"
_LIMITS = {"max_epsilon", "max_delta", "max_epsilon_per_training", "max_delta_per_training", "retries"}
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Stated(BaseModel):
    """What one owner states: limits, the assumption about colluders, and what the silo's own ledger says.

    Attributes:
        charged: releases of this training in the silo's own ledger; None if it keeps none.
        elsewhere_epsilon: spent in all other trainings.
        composition: how trainings add up at this silo.
        used_epsilon: where a filter composes them, everything with the whole of this training, at the
            whole δ.
        used_share: likewise, the share of the filter's budget.
        retries: rounds, and evaluations, beyond the plan that are charged with it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    silo: str
    max_colluding: Annotated[int, Field(ge=0)]
    max_epsilon: _Amount
    max_delta: _Amount
    max_epsilon_per_training: _Amount
    max_delta_per_training: _Amount
    charged: Annotated[int, Field(ge=0)] | None
    elsewhere_epsilon: _Amount
    elsewhere_delta: _Amount
    composition: str = "sum"
    used_epsilon: _Amount | None = None
    used_share: _Amount | None = None
    retries: Annotated[int, Field(ge=0, le=MOST_RETRIES)] = 0

    @model_validator(mode="after")
    def _of_a_filter(self) -> Self:
        filtered = self.composition != "sum"
        if (self.used_epsilon is not None, self.used_share is not None) != (filtered, filtered):
            raise ValueError("used_epsilon and used_share must be given under a filter, and there alone")
        return self


class _Document(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Annotated[int, Field(ge=1, le=1)] = 1
    silos: tuple[_Stated, ...]


def state_budgets(directory: RunDirectory, plan: Plan, policies: Iterable[Path]) -> None:
    """Writes what the owners of ``policies`` state about this training into the run directory.

    Args:
        directory: of the run.
        plan: its plan.
        policies: ``policy.toml`` files, or folders that hold one in each subfolder.

    Raises:
        ConfigurationError: if a policy cannot be read, names no silo of the plan, or one twice.
        LedgerError: if a silo's own ledger is damaged.
    """
    stated = [_stated(load_policy(path), plan) for given in policies for path in _policy_files(given)]
    names = [one.silo for one in stated]
    if len(set(names)) != len(names):
        raise ConfigurationError(f"each silo must have one policy; got {', '.join(sorted(names))}.")
    document = _Document(silos=tuple(sorted(stated, key=lambda one: one.silo)))
    write_durably(directory.file(BUDGETS), (document.model_dump_json(indent=1) + "\n").encode())


def silo_budgets(directory: RunDirectory, plan: Plan, charged: int) -> tuple[SiloBudget, ...]:
    """Returns what the training cost each silo that stated a budget; nothing if none did.

    Args:
        directory: of the run.
        plan: its plan.
        charged: releases that the run's ledger charges. A silo's own count stands where it is larger, since
            a silo does not believe that an attempt came to nothing.

    Raises:
        ConfigurationError: if the file is not as it was written.
    """
    path = directory.file(BUDGETS)
    if not path.exists():
        return ()
    try:
        document = _Document.model_validate(read_json(path.read_bytes()))
    except ValueError:
        raise ConfigurationError(f"{BUDGETS} must be as it was written; it was altered.") from None
    return tuple(_budget(stated, plan, charged) for stated in document.silos)


def _policy_files(given: Path) -> list[Path]:
    """Returns the file itself, or the policies in the subfolders of a folder."""
    if not given.is_dir():
        return [given]
    found = sorted(given.glob(f"*/{_POLICY}"))
    if not found:
        raise ConfigurationError(f"--policy must be a policy or hold */{_POLICY}; {given} holds none.")
    return found


def _stated(policy: Policy, plan: Plan) -> _Stated:
    if policy.silo not in plan.facts.silos:
        raise ConfigurationError(
            f"a policy must belong to a silo of the plan ({', '.join(plan.facts.silos)}); "
            f"got one of {policy.silo!r}."
        )
    charged, others = _own_ledger(policy, plan)
    limits, charge = policy.budget.lifetime, Charge.under(plan, policy)
    elsewhere = others.total(limits)
    later = others.including(charge, max(charged or 0, charge.planned))
    filtered = limits.composition != "sum"
    return _Stated(
        silo=policy.silo,
        max_colluding=charge.max_colluding,
        charged=charged,
        elsewhere_epsilon=elsewhere[0],
        elsewhere_delta=elsewhere[1],
        composition=limits.composition,
        used_epsilon=later.total(limits)[0] if filtered else None,
        used_share=later.share(limits) if filtered else None,
        **policy.budget.model_dump(include=_LIMITS),
    )


def _own_ledger(policy: Policy, plan: Plan) -> tuple[int | None, Account]:
    """Returns what a silo's own ledger charges for this training, and the account of all others."""
    path = policy.state / "ledger.jsonl"
    if not path.exists():
        return None, Account({})
    entries = tuple(line.entry for line in read_ledger(path))
    account = SiloState(policy).account(charged_by_training(entries), {})
    _, charged = account.charged.get(plan.digest(), (None, 0))
    return charged, account.without(plan.digest())


def _budget(stated: _Stated, plan: Plan, charged: int) -> SiloBudget:
    charge = Charge(plan, stated.max_colluding, stated.silo, stated.retries)
    releases = max(contributions(plan, charged), stated.charged or 0)
    return SiloBudget(
        silo=stated.silo,
        training=charge.cost(releases),
        added=charge.added(releases),
        elsewhere=(stated.elsewhere_epsilon, stated.elsewhere_delta),
        limit_of_a_training=(stated.max_epsilon_per_training, stated.max_delta_per_training),
        limit=(stated.max_epsilon, stated.max_delta),
        together=None if stated.used_epsilon is None else (stated.used_epsilon, stated.max_delta),
        share=stated.used_share,
    )
