from typing import Any

import numpy as np
import pytest

from discreet.data import Federation, Records, Silo
from discreet.errors import DataError


def records(count: int, *, width: int = 2, label: int = 0) -> Records:
    return Records(np.full((count, width), 0.5, np.float32), np.full(count, label, np.int64))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_unusable_numbers_are_counted_and_not_shown(bad: float) -> None:
    features = np.full((5, 3), 123.25, np.float32)
    features[[1, 3], 2] = bad
    with pytest.raises(DataError, match="2 of 5 records hold NaN or Inf") as caught:
        Records(features, np.zeros(5, np.int64))
    assert "123" not in str(caught.value)


def test_negative_labels_lengths_and_types_are_refused() -> None:
    features = np.zeros((3, 2), np.float32)
    with pytest.raises(DataError, match="1 of 3 records"):
        Records(features, np.array([0, -1, 1]))
    with pytest.raises(DataError, match="3 records and 2 labels"):
        Records(features, np.zeros(2, np.int64))
    with pytest.raises(DataError, match="float32"):
        Records(features.astype(np.float64), np.zeros(3, np.int64))
    with pytest.raises(DataError, match="int64"):
        Records(features, np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"shape \(3,\)"):
        Records(np.zeros(3, np.float32), np.zeros(3, np.int64))


def test_repr_shows_shape_only() -> None:
    assert repr(records(4)) == "Records(4 of shape (2,))"


def test_no_records_are_records() -> None:
    assert len(records(0)) == 0


def test_federation_joins_silos_in_order() -> None:
    silos = (Silo("a", records(3), records(1)), Silo("b", records(2, label=1), records(0)))
    federation = Federation("toy", silos, num_classes=2, feature_shape=(2,))
    assert federation.pooled_train().labels.tolist() == [0, 0, 0, 1, 1]
    assert len(federation.pooled_test()) == 1
    assert federation.silo("b") is silos[1]
    with pytest.raises(DataError, match="unknown silo 'c'; there are a, b"):
        federation.silo("c")


def test_federation_refuses_what_training_would_trip_over() -> None:
    empty = records(0)

    def build(*silos: Silo, **facts: Any) -> Federation:
        return Federation("toy", silos, **({"num_classes": 2, "feature_shape": (2,)} | facts))  # type: ignore[arg-type]

    assert len(build(Silo("a", empty, empty)).pooled_train()) == 0
    with pytest.raises(DataError, match=r"silo 'a': labels must be in \[0, 2\); 3 of 3"):
        build(Silo("a", records(3, label=2), empty))
    with pytest.raises(DataError, match=r"labels must be in \[0, 2\); 1 of 1"):
        build(Silo("a", records(3), records(1, label=7)))
    with pytest.raises(DataError, match=r"must have shape \(2,\); got \(3,\)"):
        build(Silo("a", records(3), empty), Silo("b", records(3, width=3), empty))
    with pytest.raises(DataError, match="distinct, non-empty names; got 'a'"):
        build(Silo("a", records(1), empty), Silo("a", records(1), empty))
    with pytest.raises(DataError, match="at least one silo"):
        build()
    with pytest.raises(DataError, match=r"L2 norm at most 0\.7; some are longer"):
        build(Silo("a", records(1), empty), feature_norm_bound=0.7)
    assert build(Silo("a", records(1), empty), feature_norm_bound=0.7072).feature_norm_bound == 0.7072
    for bad in (0.0, float("nan"), float("inf")):
        with pytest.raises(DataError, match="feature_norm_bound must be positive"):
            build(Silo("a", records(1), empty), feature_norm_bound=bad)
    with pytest.raises(DataError, match="1 names"):
        build(Silo("a", records(1), empty), feature_names=("only",))
    with pytest.raises(DataError, match="num_classes"):
        build(Silo("a", records(1), empty), num_classes=1)
