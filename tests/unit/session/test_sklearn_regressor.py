"""The regressor keeps scikit-learn's contract, and the guarantee of the plan behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet.errors import ConfigurationError, DataError
from discreet.session import open_run
from discreet.sklearn import FederatedRegressor

# Noise small enough that a check which asks for accuracy on 200 records measures the estimator and not it.
CHECKED = FederatedRegressor(capacity=200, bounds=(-4, 4), y_range=(-4, 4), epsilon=50.0, random_state=0)


@parametrize_with_checks([CHECKED])  # type: ignore[untyped-decorator]  # scikit-learn has no types
@pytest.mark.filterwarnings("ignore")  # as scikit-learn's own runner does
def test_scikit_learns_contract_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture
def records() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(600, 2))
    return X, 30.0 + 6.0 * X[:, 0] - 3.0 * X[:, 1] + draw.normal(size=600)


def test_it_learns_and_names_its_guarantee(records: Any) -> None:
    made = FederatedRegressor(capacity=300, bounds=(-4, 4), y_range=(0, 60), epsilon=4.0, random_state=1)
    found = made.fit(*records)
    assert found.score(*records) > 0.7
    strongest = max(guarantee.epsilon for guarantee in found.guarantees_[:3])
    assert 3.8 < strongest <= 4.0


def test_its_predictions_are_those_of_the_run_that_it_leaves(records: Any, tmp_path: Any) -> None:
    X, y = records
    out = tmp_path / "run"
    made = FederatedRegressor(capacity=300, bounds=(-4, 4), y_range=(0, 60), random_state=1, out=out)
    found = made.fit(X, y)
    run = open_run(out)
    assert run.verify()
    np.testing.assert_allclose(found.predict(X), run.predict({"x0": X[:, 0], "x1": X[:, 1]}), atol=1e-3)


@pytest.mark.parametrize("number", ["unknown", None, np.nan, np.inf, 1e300, "7"])
def test_a_record_more_of_any_kind_changes_no_other(number: Any) -> None:
    from discreet.sklearn.regressor import _numbers

    draw = np.random.default_rng(1)
    X, y = draw.normal(size=(90, 2)), draw.normal(size=90).tolist()

    def dealt(rows: Any, numbers: list[Any]) -> dict[float, tuple[str, float]]:
        made = (
            FederatedRegressor()._frames(np.array(rows), _numbers(numbers), None, label_range=(0, 1)).tables
        )
        return {
            float(x): (silo, float(label))
            for silo, table in made.items()
            for x, label in zip(table["x0"], table["label"], strict=True)
        }

    assert dealt(X, y).items() <= dealt([*X.tolist(), [0.5, 1.0]], [*y, number]).items()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"capacity": None}, ConfigurationError, "capacity must be a public upper bound"),
        ({"y_range": None}, ConfigurationError, "y_range must be the public range"),
        ({"y_range": (1, 0)}, DataError, "low < high"),
        ({"settings": {"local": {"kind": "single-step"}}}, ConfigurationError, "under stable-steps"),
    ],
)
def test_a_mistake_is_one_clear_line(
    records: Any, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    made = FederatedRegressor(**{"capacity": 300, "bounds": (-4, 4), "y_range": (0, 60), **settings})
    with pytest.raises(error, match=message):
        made.fit(*records)
