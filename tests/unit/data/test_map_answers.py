"""What tells a feature map from another: its answers to public records, but for what machines differ by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.arrays import Float32s
from discreet.data.map_answers import MapAnswers, require_planned_map
from discreet.errors import ConfigurationError

SHAPE = (2, 3)
MIXED = np.random.default_rng(0).normal(size=(6, 9)).astype(np.float32)

Map = Callable[[Float32s], Float32s]


def network(records: Float32s) -> Float32s:
    return np.asarray(np.tanh(records.reshape(len(records), -1) @ MIXED))


def answers(feature_map: Map) -> MapAnswers:
    return MapAnswers.of(feature_map, SHAPE)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 8), st.floats(0.005, 1.0), st.sampled_from([-1.0, 1.0]))
def test_another_number_in_one_feature_is_seen(place: int, apart: float, sign: float) -> None:
    def other(records: Float32s) -> Float32s:
        found = network(records)
        found[:, place] += np.float32(sign * apart)
        return found

    assert answers(network).unlike(answers(other)) is not None


@settings(max_examples=30, deadline=None)
@given(st.floats(-3e-6, 3e-6), st.floats(1e-3, 1e6))
def test_what_machines_differ_by_is_not(apart: float, scale: float) -> None:
    """Relatively to the largest feature, of networks with small and with large ones."""

    def one(records: Float32s) -> Float32s:
        return np.float32(scale) * network(records)

    def other(records: Float32s) -> Float32s:
        found = one(records)
        return found + np.float32(apart) * np.abs(found).max()

    assert answers(one).unlike(answers(other)) is None


@pytest.mark.parametrize(
    "other",
    [
        lambda records: network(records)[:, ::-1],
        lambda records: network(np.maximum(records, 0.0)),
        lambda records: network(np.minimum(records, 1.0)),
        lambda records: network(records[:, ::-1]),
        lambda records: network(np.rint(records)),
        lambda _: np.full((1, 9), 0.5, np.float32),
    ],
)
def test_other_code_is_seen(other: Map) -> None:
    """Other orders, other treatment of negative, large or fractional numbers; none at all."""
    assert "it answers public record" in (answers(network).unlike(answers(other)) or "")


def test_what_is_not_finite_counts_as_in_training() -> None:
    def with_gaps(records: Float32s) -> Float32s:
        found = network(records)
        return np.where(found > 0.0, np.inf, found).astype(np.float32)

    def without(records: Float32s) -> Float32s:
        return np.minimum(network(records), 0.0)

    assert answers(with_gaps) == answers(without)


def test_a_refusal_names_the_map_and_leads_on() -> None:
    with pytest.raises(ConfigurationError, match=r"^'map:m:f' must be .*\(2, 3\)\. Take the code and the"):
        require_planned_map("map:m:f", answers(network), MapAnswers.of(lambda x: x.reshape(1, -1), (3, 2)))
    require_planned_map("map:m:f", answers(network), answers(network))


def of_whole_numbers(network: Map) -> Map:
    """As a map of the user's own that raises for other records, which get zeros."""

    def found(records: Float32s) -> Float32s:
        whole = (records == np.rint(records)).all() and (records >= 0).all()
        return network(records) if whole else 0.0 * network(records)

    return found


def test_a_map_of_whole_numbers_alone_is_told_from_others() -> None:
    one, other = (answers(of_whole_numbers(found)) for found in (network, lambda x: -7 * network(x)))
    assert "it answers public record" in (one.unlike(other) or "")


@pytest.mark.parametrize("found", [0.0, np.nan])
def test_a_map_that_answers_nothing_is_refused(found: float) -> None:
    with pytest.raises(
        ConfigurationError, match=r"raised, or gave zeros\. Let it .*\(2, 3\) .* 0 to 1, 9 or 255"
    ):
        answers(lambda _: np.full((1, 9), found, np.float32))


@pytest.mark.parametrize(
    ("shape", "sums"), [((), 72), ((0, 3), 72), ((1 << 13, 1 << 13), 72), ((2, 3), 71), ((2, 3), 0)]
)
def test_answers_of_another_form_are_refused(shape: tuple[int, ...], sums: int) -> None:
    with pytest.raises(ConfigurationError, match=r"'facts\.map_answers\.(record_shape|answers)' must be"):
        MapAnswers(shape, (0.0,) * sums)
    with pytest.raises(ConfigurationError, match="72 finite numbers"):
        MapAnswers((2,), (float("inf"),) * 72)
