"""What a silo's files accept."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.secagg.keyfile import load_key
from discreet.silo.policy import (
    Charge,
    Consortium,
    PolicyRefusal,
    RefusalCode,
    SignedAllowList,
    load_policy,
)
from discreet.silo.state import SiloState
from tests.engines.conftest import SmallConsortium

NAME = "cleveland"


@pytest.fixture
def state(consortium: SmallConsortium) -> SiloState:
    return SiloState(load_policy(consortium.folder.policy(NAME)))


@pytest.fixture
def signed(consortium: SmallConsortium) -> Callable[..., Any]:
    """Signs a list of the enrolled silos but for some, as the real consortium would."""
    signer = Consortium(load_key(consortium.folder.consortium_key))
    keys = {
        name: load_key(consortium.folder.silo(name) / "identity.key").public_key
        for name in consortium.plan.facts.silos
    }

    def sign(serial: int, *without: str) -> SignedAllowList:
        own = {name: key for name, key in keys.items() if name not in without}
        return signer.sign(own, serial)

    return sign


def test_another_allow_list_under_the_same_serial_is_refused(
    state: SiloState, signed: Callable[..., Any]
) -> None:
    state.accept_allow_list(signed(3))
    stored = (state.folder / "allow-list.json").read_bytes()
    with pytest.raises(PolicyRefusal, match="serial 3 as seen before, or newer; got another") as caught:
        state.accept_allow_list(signed(3, "hungary"))
    assert caught.value.code is RefusalCode.IDENTITY
    assert (state.folder / "allow-list.json").read_bytes() == stored


def test_an_older_allow_list_is_refused_and_a_newer_one_takes_its_place(
    state: SiloState, signed: Callable[..., Any]
) -> None:
    state.accept_allow_list(signed(3))
    with pytest.raises(PolicyRefusal, match="with serial 2"):
        state.accept_allow_list(signed(2))
    assert "hungary" not in state.accept_allow_list(signed(4, "hungary")).keys
    with pytest.raises(PolicyRefusal, match="must be serial 4"):
        state.accept_allow_list(signed(3))


def test_the_list_that_is_known_is_accepted_without_being_written_again(
    state: SiloState, signed: Callable[..., Any]
) -> None:
    state.accept_allow_list(signed(3))
    path = state.folder / "allow-list.json"
    before = path.stat().st_ino, path.stat().st_mtime_ns
    assert "hungary" in state.accept_allow_list(signed(3)).keys
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == before


def test_every_training_is_charged_by_its_own_plan(state: SiloState, consortium: SmallConsortium) -> None:
    """A cheap plan first, then a dear one: from memory, and from the files."""
    dear = consortium.plan
    config = dear.config.model_copy(
        update={"training": dear.config.training.model_copy(update={"rounds": 1})}
    )
    cheap = dataclasses.replace(dear, config=config)
    plans = {plan.digest(): plan for plan in (cheap, dear)}
    for plan in plans.values():
        state.keep_plan(Charge.under(plan, state.policy))
    for each in (state, SiloState(state.policy)):
        account = each.account({digest: {} for digest in plans}, {})
        assert {digest: charge.plan.rounds for digest, (charge, _) in account.charged.items()} == {
            digest: plan.rounds for digest, plan in plans.items()
        }


def test_a_plan_under_another_digest_is_charged_to_nobody(
    state: SiloState, consortium: SmallConsortium
) -> None:
    """Or else a cheaper plan, put in the place of the one that ran, would give the budget back."""
    dear = consortium.plan
    state.keep_plan(Charge.under(dear, state.policy))
    kept = state.folder / "plans" / f"{dear.digest()}.json"
    training = dear.config.training.model_copy(update={"rounds": 1})
    dataclasses.replace(dear, config=dear.config.model_copy(update={"training": training})).save(kept)
    with pytest.raises(LedgerError, match="must be kept under its own digest"):
        SiloState(state.policy).account({dear.digest(): {}}, {})
