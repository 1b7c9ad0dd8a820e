"""A proposal that comes to nothing ends nothing, and is stored no longer than it has to be."""

from __future__ import annotations

import dataclasses

import pytest

from discreet.silo.requests import Joined, Propose, Refused
from discreet.silo.silo import LONGEST_DOCUMENT


def proposal(consortium, *, session=bytes(32), epoch=1, padding=b"") -> Propose:
    folder = consortium.folder.server.path
    return Propose(
        epoch,
        session,
        (folder / "plan.json").read_bytes() + padding,
        (folder / "allow-list.json").read_bytes() + padding,
    )


@pytest.fixture
def silo(consortium):
    return consortium.silos[consortium.node("cleveland")]


def test_a_late_copy_of_a_proposal_leaves_the_training_as_it_is(consortium, silo):
    assert isinstance(silo.handle(proposal(consortium)), Joined)
    training = silo._training
    for late in (
        proposal(consortium),
        proposal(consortium, session=bytes(31)),
        proposal(consortium, session=b""),
    ):
        assert isinstance(silo.handle(late), Refused)
        assert silo._training is training


def test_documents_beyond_any_use_are_refused_unread(consortium, silo, monkeypatch):
    monkeypatch.setattr("discreet.silo.policy.SignedAllowList.parse", lambda _: pytest.fail("it was read"))
    for name in ("plan", "allow_list"):
        long = dataclasses.replace(proposal(consortium), **{name: b"[" * (LONGEST_DOCUMENT + 1)})
        refused = silo.handle(long)
        assert isinstance(refused, Refused)
        assert str(LONGEST_DOCUMENT) in refused.reason


def test_padding_is_not_stored(consortium, silo):
    assert isinstance(silo.handle(proposal(consortium, padding=b" " * 10_000)), Joined)
    kept = (silo._state.folder / "allow-list.json").read_bytes()
    assert len(kept) < 2_000
