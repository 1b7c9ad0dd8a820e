"""A proposal that comes to nothing ends nothing, and is stored no longer than it has to be."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import pytest

from discreet.silo.requests import Joined, Propose, Refused
from discreet.silo.silo import LONGEST_DOCUMENT, Silo
from tests.engines.conftest import SmallConsortium


def proposal(
    consortium: SmallConsortium, *, session: bytes = bytes(32), epoch: int = 1, padding: bytes = b""
) -> Propose:
    folder = consortium.folder.server.path
    return Propose(
        epoch,
        session,
        (folder / "plan.json").read_bytes() + padding,
        (folder / "allow-list.json").read_bytes() + padding,
    )


@pytest.fixture
def silo(consortium: SmallConsortium) -> Silo:
    return consortium.silos[consortium.node("cleveland")]


def test_a_late_copy_of_a_proposal_leaves_the_training_as_it_is(
    consortium: SmallConsortium, silo: Silo
) -> None:
    assert isinstance(silo.handle(proposal(consortium)), Joined)
    training = silo._training
    for late in (
        proposal(consortium),
        proposal(consortium, session=bytes(31)),
        proposal(consortium, session=b""),
    ):
        assert isinstance(silo.handle(late), Refused)
        assert silo._training is training


def test_documents_beyond_any_use_are_refused_unread(
    consortium: SmallConsortium, silo: Silo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.silo.policy.SignedAllowList.parse", lambda _: pytest.fail("it was read"))
    for name in ("plan", "allow_list"):
        long = dataclasses.replace(proposal(consortium), **cast(Any, {name: b"[" * (LONGEST_DOCUMENT + 1)}))
        refused = silo.handle(long)
        assert isinstance(refused, Refused)
        assert str(LONGEST_DOCUMENT) in refused.reason


def test_padding_is_not_stored(consortium: SmallConsortium, silo: Silo) -> None:
    assert isinstance(silo.handle(proposal(consortium, padding=b" " * 10_000)), Joined)
    kept = (silo._state.folder / "allow-list.json").read_bytes()
    assert len(kept) < 2_000
