"""A scikit-learn classifier: logistic regression over several silos, private for each record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from discreet.arrays import Floats, Integers
from discreet.data.spelling import spelling
from discreet.errors import ConfigurationError
from discreet.sklearn.federated import Federated, texts_of


class FederatedClassifier(ClassifierMixin, Federated):  # type: ignore[misc]  # scikit-learn has no types
    """Logistic regression whose weights carry an (ε, δ) guarantee for each record, in one process.

    Guarantee:
        That of `discreet.plan_training` with this target; ``guarantees_`` lists every adversary. It holds if
        ``bounds``, ``capacity``, ``silos`` and ``classes`` are public, and without a ``random_state``:
        whoever knows the seed can remove the noise. Each row of X must be made from one unit alone: scalers,
        imputers, PCA and feature selection that were fitted to the records before it leave no guarantee.
        X holds numbers; one that is missing or infinite counts as the middle of its range.

    Args:
        epsilon: target ε against the strongest adversary.
        delta: target δ.
        capacity: public upper bound on the records of a silo; it must be given, and not be counted.
        bounds: public range of every feature: one pair, or an array of shape ``(n_features, 2)``. What lies
            outside is clipped.
        classes: the classes; left out, those in ``y``, which are then taken to be public.
        n_silos: how many silos records are dealt to, each by its own content, where `fit` is given none.
        rounds: how many sums are released.
        settings: further arguments of `discreet.plan_training`, such as ``local`` or ``aggregation``.
        out: directory of the run; left out, its files are not kept.
        random_state: seed of a simulation.

    Attributes:
        classes_: the classes.
        coef_: weights, one row for two classes and one for each of several.
        intercept_: the weights of the constant feature.
        guarantees_: one for each adversary.
        plan_: the plan that was carried out.
        failing_: which assumption of the guarantees the records break, and what is left; empty if none.

    Example:
        >>> X, y = np.random.default_rng(0).uniform(-1, 1, (600, 2)), np.tile([0, 1], 300)
        >>> X[:, 0] += y - 0.5
        >>> private = FederatedClassifier(epsilon=4.0, capacity=300, bounds=(-2, 2)).fit(X, y)
        >>> private.coef_.shape
        (1, 2)
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        capacity: int | None = None,
        bounds: Any = (-1.0, 1.0),
        classes: Sequence[Any] | None = None,
        n_silos: int = 3,
        rounds: int = 10,
        settings: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.capacity = capacity
        self.bounds = bounds
        self.classes = classes
        self.n_silos = n_silos
        self.rounds = rounds
        self.settings = settings
        self.out = out
        self.random_state = random_state

    def fit(self, X: Any, y: Any, silos: Any = None) -> Self:
        """Trains over the silos.

        Args:
            X: features, shape ``(n, n_features)``.
            y: classes, shape ``(n,)``.
            silos: the name of each record's silo, shape ``(n,)``; their list is taken to be public.

        Raises:
            ConfigurationError: if something public is missing or does not fit; the message names it.
            PrivacyRefusal: if no proven guarantee meets the target.
        """
        X, labels = self._records(X, y)
        if len(self.classes_) < 2:
            raise ConfigurationError(f"y must hold at least two classes; got {len(self.classes_)} class.")
        self._train(self._frames(X, labels, silos, num_classes=len(self.classes_)))
        return self

    def decision_function(self, X: Any) -> Floats:
        """Returns the logits: shape ``(n,)`` for two classes, else ``(n, n_classes)``."""
        logits = self._outputs(X)
        return logits[:, 0] if len(self.classes_) == 2 else logits

    def predict_proba(self, X: Any) -> Floats:
        """Returns the probability of each class, shape ``(n, n_classes)``."""
        logits = self.decision_function(X)
        if logits.ndim == 1:
            logits = np.column_stack([np.zeros(len(logits)), logits])
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Returns the most probable class of each record, shape ``(n,)``."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def _records(self, X: Any, y: Any) -> tuple[Floats, Integers]:
        """Returns features and numbers of classes; -1 for a label that is none of ``classes``.

        The type of all of X, and of all of y, may hang on one record. So numbers are floats whatever their
        type was, and a label is compared with declared classes by itself.
        """
        if self.classes is None:
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=False)
            check_classification_targets(y)
            self.classes_ = np.unique(y)
            return X, np.searchsorted(self.classes_, y)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite=False)
        self.classes_ = np.unique(np.asarray(self.classes))
        places = {spelling(text): place for place, text in enumerate(texts_of(self.classes_))}
        labels = np.array([places.get(spelling(text), -1) for text in texts_of(y)], dtype=np.int64)
        if len(labels) != len(X):
            raise ConfigurationError(f"y must hold a class for each of {len(X)} records; got {len(labels)}.")
        return X, labels
