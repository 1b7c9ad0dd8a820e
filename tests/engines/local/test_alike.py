"""A machine whose kernels let records meet is refused before anything is written."""

from __future__ import annotations

import pytest

from discreet.errors import PrivacyRefusal
from tests.engines.local.small_digits import prepared


@pytest.mark.parametrize("kind", ["clipped", "noisy", "quantile"])
def test_kinds_whose_guarantee_assumes_it_are_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.learning.alike._alike", lambda *_: False)
    with pytest.raises(PrivacyRefusal, match="must not depend on its place"):
        prepared(kind)


@pytest.mark.parametrize("kind", ["linear", "local-sgd"])
def test_kinds_that_assume_nothing_are_prepared(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.learning.alike._alike", lambda *_: False)
    assert prepared(kind).plan.rounds == 3
