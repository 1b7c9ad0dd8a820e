"""Recovery of secrets from shares: which wrong shares are survived, and which are not."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from discreet.errors import NotEnoughSurvivors, PeerProtocolError
from discreet.randomness import SeededRandom
from discreet.secagg.hazmat import shamir
from discreet.secagg.server.recovery import Released, recover_all


def released(
    owner: int, num_holders: int, threshold: int, wrong: tuple[int, ...] = ()
) -> tuple[bytes, Released]:
    source = SeededRandom(owner)
    secret = source.random_bytes(32)
    points = np.arange(1, num_holders + 1, dtype=np.uint16)
    rows = shamir.share(shamir.to_symbols(secret), points, threshold, source)
    shares = {index: shamir.to_bytes(row) for index, row in enumerate(rows)}
    for holder in wrong:
        shares[holder] = bytes(32)
    digest = hashlib.sha256(secret).digest()
    everyone = tuple(range(num_holders))
    return secret, Released(owner, everyone, shares, lambda found: hashlib.sha256(found).digest() == digest)


def test_many_owners_at_once() -> None:
    pairs = [released(owner, 7, 4) for owner in range(9)]
    recovered = recover_all([item for _, item in pairs], 4)
    assert recovered.blamed == {}
    assert {owner: recovered.secrets[owner].reveal() for owner in range(9)} == {
        owner: secret for owner, (secret, _) in enumerate(pairs)
    }


@pytest.mark.parametrize("wrong", [(0,), (3,), (6,), (0, 1), (0, 1, 2), (1, 3, 5)])
def test_wrong_shares_are_named_as_long_as_a_clean_subset_exists(wrong: tuple[int, ...]) -> None:
    secret, item = released(1, 7, 4, wrong)
    recovered = recover_all([item], 4)
    assert recovered.secrets[1].reveal() == secret
    blamed = recovered.blamed.get(1, ())
    assert set(blamed) == (set(wrong) if set(wrong) & {0, 1, 2, 3} else set())


def test_a_single_liar_among_a_hundred() -> None:
    secret, item = released(1, 100, 67, (5,))
    recovered = recover_all([item], 67)
    assert recovered.secrets[1].reveal() == secret
    assert recovered.blamed == {1: (5,)}


def test_no_clean_subset() -> None:
    _, item = released(1, 5, 3, (0, 1, 2))
    with pytest.raises(PeerProtocolError, match="client 1 must recover what it committed to") as caught:
        recover_all([item], 3)
    assert caught.value.code == "bad-share"


def test_too_few_shares() -> None:
    _, item = released(1, 3, 3)
    with pytest.raises(NotEnoughSurvivors, match="threshold=4"):
        recover_all([item], 4)


def test_shares_are_hidden_from_view() -> None:
    _, item = released(1, 3, 2)
    assert repr(item) == "Released(owner=1, holders=[0, 1, 2])"
