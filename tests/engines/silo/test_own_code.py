"""A rehearsal with code of one's own: its policies name it, and the silos import that and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.silo.policy import load_policy
from discreet.silo.requests import Joined, Propose, Refused, Reply
from tests.engines.conftest import SmallConsortium

CLINIC = """
from discreet.data import load_federation
from discreet.models import build_model

def records(*, test_fraction, split_seed):
    return load_federation("heart-disease", test_fraction=test_fraction, split_seed=split_seed)

def factory(shape, classes):
    return build_model("logistic", shape, classes, seed=0)
"""


@pytest.fixture
def consortium(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_consortium: Callable[..., Any],
    small_config: Callable[..., Any],
) -> Iterator[SmallConsortium]:
    (tmp_path / "clinic.py").write_text(CLINIC)
    monkeypatch.syspath_prepend(tmp_path)
    capacity = {"cleveland": 240, "hungary": 210, "switzerland": 50, "long_beach_va": 110}
    data = {"source": "clinic:records", "record_capacity": capacity}
    yield make_consortium(small_config(data=data, model={"name": "clinic:factory"}))
    sys.modules.pop("clinic", None)


def propose(consortium: SmallConsortium, name: str) -> Reply:
    folder = consortium.folder.server.path
    plan, allow_list = ((folder / file).read_bytes() for file in ("plan.json", "allow-list.json"))
    return consortium.silos[consortium.node(name)].handle(Propose(1, bytes(32), plan, allow_list))


def test_what_the_policies_name_is_used(consortium: SmallConsortium) -> None:
    policy = load_policy(consortium.folder.policy("hungary"))
    assert policy.data.source == "plan:clinic:records"
    assert policy.require.models[0].startswith("clinic:factory@sha256:")
    assert isinstance(propose(consortium, "hungary"), Joined)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("clinic:factory@", "", "model must be one of sha256:"),
        ('"plan:clinic:records"', '"plan"', "data.source must be one of heart-disease"),
    ],
)
def test_what_they_do_not_name_is_refused(
    consortium: SmallConsortium, old: str, new: str, words: str
) -> None:
    consortium.edit_policy("hungary", old, new)
    reply = propose(consortium, "hungary")
    assert isinstance(reply, Refused)
    assert (reply.code, words in reply.reason) == ("not-allowed", True)
