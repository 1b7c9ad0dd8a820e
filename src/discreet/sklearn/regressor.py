"""A scikit-learn regressor: a linear model with Huber's loss over several silos, private for each record."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d, validate_data

from discreet.arrays import Floats
from discreet.data.labels import Outcome
from discreet.data.table import Table
from discreet.errors import ConfigurationError
from discreet.sklearn.federated import Federated, texts_of


class FederatedRegressor(RegressorMixin, Federated):  # type: ignore[misc]  # scikit-learn has no types
    """Linear regression whose weights carry an (ε, δ) guarantee for each record, in one process.

    Guarantee:
        That of `discreet.plan_training` with this target; ``guarantees_`` lists every adversary. It holds if
        ``bounds``, ``y_range``, ``capacity`` and ``silos`` are public, and without a ``random_state``:
        whoever knows the seed can remove the noise. Each row of X must be made from one unit alone: scalers,
        imputers, PCA and feature selection that were fitted to the records before it leave no guarantee, and
        nor does a target that was transformed by what they hold. X holds numbers; one that is missing or
        infinite counts as the middle of its range. A record whose y is no finite number is left out.

    Args:
        epsilon: target ε against the strongest adversary.
        delta: target δ.
        capacity: public upper bound on the records of a silo; it must be given, and not be counted.
        bounds: public range of every feature: one pair, or an array of shape ``(n_features, 2)``. What lies
            outside is clipped.
        y_range: public range of the target, a pair; it must be given. What lies outside is clipped.
        n_silos: how many silos records are dealt to, each by its own content, where `fit` is given none.
        rounds: how many sums are released; left out, the plan works it out.
        settings: further arguments of `discreet.plan_training`, such as ``local`` or ``aggregation``.
        out: directory of the run; left out, its files are not kept.
        random_state: seed of a simulation.

    Attributes:
        coef_: weights, one row; outputs of -1 and 1 are the ends of ``y_range``.
        intercept_: the weight of the constant feature.
        guarantees_: one for each adversary.
        plan_: the plan that was carried out.
        failing_: which assumption of the guarantees the records break, and what is left; empty if none.

    Example:
        >>> X = np.random.default_rng(0).uniform(-1, 1, (600, 2))
        >>> y = 20 + 8 * X[:, 0]
        >>> private = FederatedRegressor(epsilon=4.0, capacity=300, y_range=(0, 40)).fit(X, y)
        >>> private.predict(X).shape
        (600,)
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        capacity: int | None = None,
        bounds: Any = (-1.0, 1.0),
        y_range: tuple[float, float] | None = None,
        n_silos: int = 3,
        rounds: int | None = None,
        settings: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.capacity = capacity
        self.bounds = bounds
        self.y_range = y_range
        self.n_silos = n_silos
        self.rounds = rounds
        self.settings = settings
        self.out = out
        self.random_state = random_state

    def fit(self, X: Any, y: Any, silos: Any = None) -> Self:
        """Trains over the silos.

        Args:
            X: features, shape ``(n, n_features)``.
            y: the target, shape ``(n,)``.
            silos: the name of each record's silo, shape ``(n,)``; their list is taken to be public.

        Raises:
            ConfigurationError: if something public is missing or does not fit; the message names it.
            PrivacyRefusal: if no proven guarantee meets the target.
        """
        outcome = self._outcome()
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite=False)
        numbers = _numbers(y)
        if len(numbers) != len(X):
            raise ConfigurationError(
                f"y must hold a number for each of {len(X)} records; got {len(numbers)}."
            )
        self._train(self._frames(X, numbers, silos, label_range=(outcome.low, outcome.high)))
        return self

    def predict(self, X: Any) -> Floats:
        """Returns the predicted number of each record, shape ``(n,)``; it may lie outside of ``y_range``."""
        return self._outcome().numbers(self._outputs(X)[:, 0])

    def _outcome(self) -> Outcome:
        """Returns the public range of the target."""
        if self.y_range is None:
            raise ConfigurationError("y_range must be the public range of the target, a pair; got None.")
        return Outcome(float(self.y_range[0]), float(self.y_range[1]))


def _numbers(y: Any) -> Floats:
    """Returns the number in each value by itself, NaN for none: the type of all may hang on one record."""
    if y is None:
        raise ConfigurationError("requires y to be passed, but the target y is None.")
    cells = texts_of(column_or_1d(y, warn=True))
    return Table("y", {"y": cells}, np.arange(len(cells))).numbers("y")
