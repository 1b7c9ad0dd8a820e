"""Facts that no federation has are refused before a model is made of them, whoever states them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from discreet.errors import ConfigurationError
from discreet.plan.facts import FederationFacts

FACTS = FederationFacts(("a", "b", "c"), (6,), 2, 1.0, 6, "0" * 64, 1, linear=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("silos", ()),
        ("silos", ("a", "a")),
        ("silos", ("a", "")),
        ("silos", ("a", "two\nlines")),
        ("silos", ("a", "b" * 201)),
        ("silos", tuple(map(str, range((1 << 20) + 1)))),
        ("feature_shape", ()),
        ("feature_shape", (3, 0)),
        ("feature_shape", (-1, -1)),
        ("feature_shape", (1,) * 9),
        ("feature_shape", (1 << 13, 1 << 14)),
        ("num_classes", 0),
        ("num_classes", 1 << 25),
        ("feature_norm_bound", 0.0),
        ("feature_norm_bound", float("inf")),
        ("feature_norm_bound", float("nan")),
        ("outputs", 0),
        ("outputs", 7),
        ("dimension", 0),
        ("dimension", 1 << 30),
        ("model_digest", "0" * 63),
        ("model_digest", "G" * 64),
    ],
)
def test_facts_are_bounded(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf"'facts\.{name}' must be"):
        dataclasses.replace(FACTS, **{name: value})


def test_only_a_linear_model_may_have_very_many_features() -> None:
    """What a network computes of two records may be far larger than its weights."""
    wide = dataclasses.replace(FACTS, feature_shape=(1 << 19,))
    assert wide.linear
    with pytest.raises(ConfigurationError, match="unless the model is linear"):
        dataclasses.replace(wide, linear=False)
