"""What records add to a sum of questions, against counting by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Frames, Target, plan_questions
from discreet.config.federation import federation_of
from discreet.kinds import Asked
from discreet.kinds.blocks import AskedBlock, Axis, Block, Cells, Indicator, Products, factors
from discreet.kinds.persons import PersonWeights
from discreet.kinds.variables import Choice, Contrast, Label, Number
from discreet.statistics.contribution import asked_vector, block_sum

TABLE = {
    "age": [20, 35.0, 50, None, 90, 10],
    "sex": ["f", "m", "f", "f", "x", None],
    "days": [0, 100, 1000, 300, 500, 200],
    "died": [0, 1, 1, 0, 1, 0],
}
RULES: dict[str, Any] = {
    "ranges": {"age": (20, 80), "days": (0, 1000), "died": (0, 1)},
    "categories": {"sex": ["f", "m"]},
}


def summed(*questions: dict[str, Any]) -> list[np.ndarray[Any, Any]]:
    """What silo ``one`` adds to each question, without the question's factor."""
    tables: dict[str, Any] = {
        name: TABLE if name == "one" else {key: [] for key in TABLE} for name in ("one", "two", "three")
    }
    frames = Frames(tables, **RULES)
    data = frames.public(capacity=50)
    plan = plan_questions(data, list(questions), target=Target(1.0))
    records = federation_of(plan.data, by_silo=tables).silo("one").train
    asked = plan.silo_training("one")
    assert isinstance(asked, Asked)
    return [block_sum(one.block, records.features, records.labels, None) for one in asked.blocks]


def test_a_count_counts_everybody() -> None:
    assert summed({"kind": "count"})[0].tolist() == [6.0]


def test_a_table_has_a_cell_for_what_is_unknown() -> None:
    (found,) = summed({"kind": "table", "of": ["sex", "age"], "bins": {"age": [35, 50]}})
    # Rows: f, m, other or missing. Columns: 20 to 35, 35 to 50, 50 to 80, missing.
    assert found.reshape(3, 4).tolist() == [[1, 0, 1, 1], [0, 1, 0, 0], [1, 0, 1, 0]]


def test_a_bin_holds_its_lower_edge() -> None:
    (found,) = summed({"kind": "quantiles", "of": "days", "bins": [100, 300]})
    assert found.tolist() == [1, 2, 3, 0]


def test_survival_has_a_cell_for_each_time_and_end() -> None:
    """An event on the day of an edge has happened by then; the end of the range has a bin of its own."""
    (found,) = summed({"kind": "survival", "time": "days", "event": "died", "bins": [100, 300]})
    # Days 0 and 100 (died); 200 and 300; 500 (died); 1000 (died), followed to the end; none missing.
    assert found.reshape(5, 3)[:, :2].tolist() == [[1, 1], [2, 0], [0, 1], [0, 1], [0, 0]]


def test_ratios_have_a_cell_for_each_combination_time_and_end() -> None:
    question = {
        "kind": "hazards",
        "time": "days",
        "event": "died",
        "on": ["sex"],
        "bins": {"days": [100, 300]},
    }
    (found,) = summed(question)
    # f: day 0 without, 1000 to the end without, 300 without; m: day 100, died.
    of_sex = found.reshape(3, 5, 3)[:, :, :2]
    assert of_sex[0].tolist() == [[1, 0], [1, 0], [0, 0], [0, 1], [0, 0]]
    assert of_sex[1].tolist() == [[0, 1], [0, 0], [0, 0], [0, 0], [0, 0]]
    (found,) = summed({"kind": "logistic-regression", "outcome": "died", "on": ["sex"]})
    assert found.reshape(3, 3)[:2, :2].tolist() == [[2, 1], [0, 1]]


def test_products_leave_a_record_out_that_lacks_a_number() -> None:
    (found,) = summed({"kind": "moments", "of": ["age", "days"]})
    age = np.array([20, 35, 50, 80, 20]) / 30 - 5 / 3
    days = np.array([0, 100, 1000, 500, 200]) / 500 - 1
    rows = np.stack([np.ones(5), age, days], axis=1)
    gram = rows.T @ rows
    expected = [*np.diag(gram), *(np.sqrt(2) * gram[np.triu_indices(3, 1)])]
    assert found == pytest.approx(np.array(expected) / 3, abs=1e-6)


def test_a_regression_compares_texts_with_the_first() -> None:
    (found,) = summed({"kind": "linear-regression", "outcome": "age", "on": ["sex"]})
    # Of the records with an age and a known sex, rows 0, 1 and 2, one is m.
    assert found[:2] * 3 == pytest.approx([3, 1])


def test_persons_share_one_vote() -> None:
    features = np.zeros((5, 1), np.float32)
    asked = Asked((AskedBlock(Cells(), 1.0),), PersonWeights(4))
    persons = np.array([0, 0, 0, 1, 2])
    assert asked_vector(asked, features, np.zeros(5, np.int64), persons) == pytest.approx([3.0])
    alike = Asked((AskedBlock(Cells(), 1.0),), PersonWeights(4, over_records=True))
    assert asked_vector(alike, features, np.zeros(5, np.int64), persons) == pytest.approx([5 / 4])


VARIABLES = (
    Number("a", 0, 1, 0, 1),
    Contrast("c", ("no", "yes"), 2),
    Choice("t", ("x", "y", "z"), 3),
    Label("l", ("0", "1")),
)


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=6, max_size=6),
    st.integers(0, 1),
    st.lists(st.floats(0.01, 100), min_size=3, max_size=3),
)
def test_no_record_adds_more_than_one(features: list[float], label: int, weights: list[float]) -> None:
    number, contrast, choice, of_label = VARIABLES
    blocks: tuple[Block, ...] = (
        Cells((Axis(number, (0.2, 0.7)), Axis(contrast), Axis(choice), Axis(of_label))),
        Products((number, contrast, Indicator(choice, 1), Indicator(choice, 2))),
        Products((number,)),
    )
    shares = factors(tuple(weights))
    asked = Asked(tuple(AskedBlock(*pair) for pair in zip(blocks, shares, strict=True)))
    row = np.array([features], dtype=np.float32)
    added = asked_vector(asked, row, np.array([label], dtype=np.int64))
    assert added.shape == (asked.dimension,)
    assert np.linalg.norm(added) <= 1.0 + 1e-12


def test_factors_give_what_matters_more_the_larger_share() -> None:
    a = factors((1.0, 1.0, 16.0))
    assert a[2] ** 2 == pytest.approx(4 / 6)
    assert sum(one**2 for one in a) <= 1.0


def test_a_label_without_a_cell_is_in_the_last_one() -> None:
    """An error would tell others that there is such a record."""
    block = Cells((Axis(Label("l", ("0", "1"))),))
    found = block_sum(block, np.zeros((4, 1), np.float32), np.array([0, 1, 7, -3]), None)
    assert found.tolist() == [1, 1, 2]
