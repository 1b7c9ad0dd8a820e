"""The estimator keeps scikit-learn's contract, and the guarantee of the plan behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet.errors import ConfigurationError
from discreet.session import open_run
from discreet.sklearn import FederatedClassifier

# Noise small enough that a check which asks for accuracy on 300 records measures the estimator and not it.
CHECKED = FederatedClassifier(capacity=200, bounds=(-10, 10), epsilon=50.0, rounds=20, random_state=0)


@parametrize_with_checks([CHECKED])  # type: ignore[untyped-decorator]  # scikit-learn has no types
@pytest.mark.filterwarnings("ignore")  # as scikit-learn's own runner does
def test_scikit_learns_contract_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture
def records() -> tuple[npt.NDArray[np.float64], npt.NDArray[Any]]:
    draw = np.random.default_rng(0)
    y = draw.integers(0, 2, 450)
    return draw.normal(size=(450, 2)) + np.column_stack([2.0 * y, -y]), np.array(["healthy", "ill"])[y]


def test_it_learns_and_names_its_guarantee(records: Any) -> None:
    found = FederatedClassifier(capacity=300, bounds=[(-4, 6), (-5, 4)], epsilon=2.0, random_state=1).fit(
        *records
    )
    assert found.score(*records) > 0.85
    assert found.classes_.tolist() == ["healthy", "ill"]
    strongest = max(guarantee.epsilon for guarantee in found.guarantees_[:3])
    assert 1.9 < strongest <= 2.0


def test_its_predictions_are_those_of_the_run_that_it_leaves(records: Any, tmp_path: Any) -> None:
    X, y = records
    found = FederatedClassifier(capacity=300, bounds=(-6, 6), random_state=1, out=tmp_path / "run").fit(X, y)
    run = open_run(tmp_path / "run")
    assert run.verify()
    theirs = run.predict_proba({"x0": X[:, 0], "x1": X[:, 1]})
    np.testing.assert_allclose(found.predict_proba(X), theirs, atol=1e-6)


def dealt(X: Any, y: Any) -> dict[tuple[float, ...], str]:
    """Says where each record went, and with which label."""
    made = FederatedClassifier(classes=[0, 1])
    tables = made._frames(*made._records(X, y), None, num_classes=2).tables
    return {
        (float(x), float(z), int(label)): silo
        for silo, table in tables.items()
        for x, z, label in zip(table["x0"], table["x1"], table["label"], strict=True)
    }


@pytest.mark.parametrize("odd", [(0.5, 1), (np.nan, 1), (np.inf, 0), (1e300, 1), (7, 1)])
@pytest.mark.parametrize("label", [1, "unknown", None, 2.5, np.nan, True])
def test_a_record_more_of_any_kind_changes_no_other(odd: Any, label: Any) -> None:
    draw = np.random.default_rng(1)
    X, y = draw.integers(-9, 9, (90, 2)), draw.integers(0, 2, 90).tolist()
    before, after = dealt(X, y), dealt([*X.tolist(), list(odd)], [*y, label])
    assert before.items() <= after.items()
    assert {label for *_, label in before} == {0, 1}


def test_silos_may_be_named(records: Any) -> None:
    X, y = records
    names = np.repeat(["north", "east", "south"], 150)
    found = FederatedClassifier(capacity=200, bounds=(-6, 6), random_state=1).fit(X, y, silos=names)
    assert found.plan_.facts.silos == ("east", "north", "south")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"capacity": None}, "capacity must be a public upper bound"),
        ({"bounds": [(-1, 1)] * 3}, r"shape \(2, 2\); got shape \(3, 2\)"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"classes": ["ill"]}, "at least two classes"),
        ({"settings": {"local": {"kind": "stable-step"}}}, "stable-steps"),
    ],
)
def test_a_mistake_is_one_clear_line(records: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        FederatedClassifier(**{"capacity": 300, "bounds": (-6, 6), **settings}).fit(*records)


def test_records_of_an_unknown_class_are_left_out(records: Any) -> None:
    X, y = records
    odd = np.where(np.arange(len(y)) == 0, "unknown", y.astype(object)).astype(str)
    found = FederatedClassifier(capacity=300, bounds=(-6, 6), random_state=1, classes=["healthy", "ill"])
    with pytest.warns(UserWarning, match="1 of 144 cells"):
        found.fit(X, odd)
    assert found.classes_.tolist() == ["healthy", "ill"]
