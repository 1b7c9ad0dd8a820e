from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.records import Records
from discreet.errors import DataError
from discreet.learning import evaluation, logits
from discreet.learning.metrics import is_right
from discreet.models import LinearHead, load_flat
from discreet.quality.ranking import area_under_roc


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1)), min_size=2, max_size=30).filter(
        lambda rows: 0 < sum(label for _, label in rows) < len(rows)
    )
)
def test_auc_is_the_share_of_pairs_in_order_ties_counting_half(rows: list[tuple[int, int]]) -> None:
    positive = [score for score, label in rows if label == 1]
    negative = [score for score, label in rows if label == 0]
    pairs = [(p > n) + 0.5 * (p == n) for p in positive for n in negative]
    scores, labels = np.array(rows, dtype=np.float64).T
    assert area_under_roc(scores, labels.astype(np.int64)) == pytest.approx(np.mean(pairs), abs=1e-12)


def test_auc_needs_both_classes() -> None:
    assert area_under_roc(np.zeros(3), np.ones(3, np.int64)) is None


def test_binary_evaluation_by_hand() -> None:
    model = LinearHead(1, 1)
    load_flat(model, np.array([2.0]))
    records = Records(np.array([[1.0], [-1.0], [-2.0]], np.float32), np.array([1, 1, 0]))
    got = evaluation(logits(model, records), records.labels)
    assert got.accuracy == pytest.approx(2 / 3)
    assert got.auc == 1.0
    assert got.loss == pytest.approx(np.log1p(np.exp([-2.0, 2.0, -4.0])).mean(), rel=1e-6)


def test_several_classes_have_no_auc() -> None:
    model = LinearHead(2, 3)
    load_flat(model, np.array([1.0, 0, 0, 1.0, 0, 0]))
    records = Records(np.array([[1.0, 0], [0, 1.0]], np.float32), np.array([0, 2]))
    got = evaluation(logits(model, records), records.labels)
    assert (got.accuracy, got.auc) == (0.5, None)


def test_two_outputs_rank_by_their_difference() -> None:
    model = LinearHead(1, 2)
    load_flat(model, np.array([0.0, -1.0]))
    records = Records(np.array([[1.0], [2.0]], np.float32), np.array([1, 0]))
    assert evaluation(logits(model, records), records.labels).auc == 1.0


def test_no_records_are_refused() -> None:
    with pytest.raises(DataError):
        logits(LinearHead(1, 1), Records(np.zeros((0, 1), np.float32), np.zeros(0, np.int64)))


def test_a_binary_and_a_wide_model_are_right_where_the_likeliest_class_is_the_label() -> None:
    one = torch.tensor([[0.1], [-0.1], [0.0]])
    assert is_right(one, np.array([1, 1, 0])).tolist() == [True, False, True]
    wide = torch.tensor([[0.1, 0.3, 0.2], [5.0, 1.0, 0.0]])
    assert is_right(wide, np.array([1, 2])).tolist() == [True, False]
