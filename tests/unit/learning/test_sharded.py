from __future__ import annotations

import numpy as np
import pytest

from discreet.data.records import Records
from discreet.errors import ConfigurationError
from discreet.kinds import ClippedUpdate, LocalSgd, Sharded
from discreet.learning import local_update
from discreet.models import LinearHead
from discreet.privacy.events import NoSampling, PoissonSampling
from discreet.randomness import SeededRandom

LOCAL = LocalSgd(0.5, 4, epochs=2)


def records(count: int) -> Records:
    rng = np.random.default_rng(0)
    return Records(rng.normal(size=(count, 4)).astype(np.float32), rng.integers(0, 3, count))


def test_one_shard_is_a_clipped_update_of_the_whole_silo() -> None:
    """Up to the order of the records: one batch holds them all, so the order does not matter."""
    data, model = records(12), LinearHead(4, 3)
    one_batch = LocalSgd(0.5, 12, epochs=3)
    sharded = local_update(Sharded(0.1, 1, one_batch), model, np.zeros(12), data, SeededRandom(0))
    whole = local_update(ClippedUpdate(0.1, 0.5, 12, epochs=3), model, np.zeros(12), data, SeededRandom(1))
    np.testing.assert_allclose(sharded.vector, whole.vector, rtol=1e-10)


def test_shards_of_one_record_each_add_up() -> None:
    """With one record a shard and one step, the update is the sum of clipped single-record steps."""
    data, model = records(3), LinearHead(4, 3)
    kind = Sharded(1e-3, 100_000, LocalSgd(0.5, 1))
    got = local_update(kind, model, np.zeros(12), data, SeededRandom(4))
    singles = [
        local_update(
            ClippedUpdate(1e-3, 0.5, 1), model, np.zeros(12), data.take(np.array([row])), SeededRandom(0)
        )
        for row in range(3)
    ]
    np.testing.assert_allclose(got.vector, sum(single.vector for single in singles), rtol=1e-10)
    assert got.batch == 3


def test_sensitivity_bound_and_event() -> None:
    kind = Sharded(0.1, 8, LOCAL, sampling_prob=0.25)
    assert kind.l2_sensitivity() == pytest.approx(0.2, rel=1e-3)
    assert kind.l2_sensitivity() >= 0.2
    assert kind.update_bound(1000) == pytest.approx(0.8, rel=1e-3)
    assert kind.update_bound(3) == pytest.approx(0.3, rel=1e-3)
    assert kind.failure_prob(1000) == 0.0
    assert kind.release_sampling() == PoissonSampling(0.25)
    assert Sharded(0.1, 8, LOCAL).release_sampling() == NoSampling()


def test_only_sampled_shards_train() -> None:
    """P[all of 400 shards or none out of 2^-400] is nil; the batch is about half the records."""
    kind = Sharded(0.1, 400, LOCAL, sampling_prob=0.5)
    got = local_update(kind, LinearHead(4, 3), np.zeros(12), records(200), SeededRandom(1))
    assert 50 < got.batch < 150


def test_a_seed_gives_the_same_update_and_another_call_other_shards() -> None:
    kind, data, model = Sharded(0.1, 5, LOCAL), records(20), LinearHead(4, 3)
    source = SeededRandom(1)
    first, second = (local_update(kind, model, np.zeros(12), data, source).vector for _ in range(2))
    again = local_update(kind, model, np.zeros(12), data, SeededRandom(1)).vector
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)


def test_no_records_are_legal() -> None:
    got = local_update(Sharded(0.1, 5, LOCAL), LinearHead(4, 3), np.zeros(12), records(0), SeededRandom(1))
    assert not got.vector.any()


@pytest.mark.parametrize(
    "changes",
    [
        {"clip_norm": 0.0},
        {"clip_norm": float("inf")},
        {"groups": 0},
        {"sampling_prob": 1.5},
        {"projection_radius": float("nan")},
    ],
)
def test_numbers_out_of_range_are_refused(changes: dict[str, float]) -> None:
    settings: dict[str, object] = {"clip_norm": 1.0, "groups": 5, "local": LOCAL}
    with pytest.raises(ConfigurationError):
        Sharded(**(settings | changes))  # type: ignore[arg-type]
