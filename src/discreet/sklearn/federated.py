"""What the estimators share: public facts, a table for each silo, a training, and what is kept of it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.data.frames import table_of
from discreet.data.identity import Identities
from discreet.errors import ConfigurationError
from discreet.session import Frames, Run, Target, plan_training, train

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise ConfigurationError(
        "scikit-learn must be installed for discreet.sklearn; it is not. Run: pip install 'discreet[sklearn]'"
    ) from None

_LABEL = "label"


class Federated(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A linear model over several silos; what it predicts is for who inherits."""

    epsilon: float
    delta: float
    capacity: int | None
    bounds: Any
    n_silos: int
    rounds: int | None
    settings: Mapping[str, Any] | None
    out: str | Path | None
    random_state: int | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _train(self, frames: Frames) -> None:
        """Plans from what is public, trains, and keeps what is needed after the files are gone.

        Raises:
            ConfigurationError: if something public is missing or does not fit; the message names it.
            PrivacyRefusal: if no proven guarantee meets the target.
        """
        if self.capacity is None:
            raise ConfigurationError("capacity must be a public upper bound on a silo's records; got None.")
        plan = plan_training(
            frames.public(capacity=self.capacity),
            target=Target(self.epsilon, self.delta),
            rounds=self.rounds,
            **(self.settings or {}),
        )
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder) / "run" if self.out is None else Path(self.out)
            self._keep(train(plan, frames, out=directory, seed=self.random_state, evaluate=False))

    def _keep(self, run: Run) -> None:
        (weights,) = run.model.parameters()
        matrix = weights.detach().numpy().astype(np.float64)
        self.coef_, self.intercept_ = matrix[:, :-1], matrix[:, -1]
        self.guarantees_, self.plan_, self.failing_ = run.guarantees, run.plan, run.failing

    def _outputs(self, X: Any) -> Floats:
        """Returns what the linear model gives for each record, shape ``(n, outputs)``."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
        low, high = self._limits(X.shape[1]).T
        known = np.isfinite(X)
        scaled = np.where(known, 2.0 * (np.clip(X, low, high) - low) / (high - low) - 1.0, 0.0)
        rows = np.column_stack([scaled, np.ones(len(X))])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows @ np.column_stack([self.coef_, self.intercept_]).T)

    def _limits(self, num_features: int) -> Floats:
        """Returns the range of each feature, shape ``(n_features, 2)``."""
        limits = np.asarray(self.bounds, dtype=np.float64)
        if limits.shape not in ((2,), (num_features, 2)):
            raise ConfigurationError(
                f"bounds must be a pair, or have shape ({num_features}, 2); got shape {limits.shape}."
            )
        return np.broadcast_to(limits, (num_features, 2))

    def _frames(self, X: npt.NDArray[Any], labels: npt.NDArray[Any], silos: Any, **label: Any) -> Frames:
        """Returns a table for each silo.

        Args:
            X: features, float64.
            labels: of one type that no record decides, shape ``(n,)``.
            silos: the name of each record's silo, or None to deal each by its own content.
            label: what `Frames` is told of the label.
        """
        if silos is None:
            coins = Identities.of_content(X, labels).words("silo")
            silos, known = (coins % np.uint64(self.n_silos)).astype(str), map(str, range(self.n_silos))
        else:
            silos = np.asarray(silos).astype(str)
            known = np.unique(silos).tolist()
        if silos.shape != labels.shape:
            raise ConfigurationError(
                f"silos must name one for each of {len(labels)} records; got {silos.shape}."
            )
        names = [f"x{column}" for column in range(X.shape[1])]
        tables = {}
        for silo in known:
            own = silos == silo
            tables[silo] = dict(zip(names, X[own].T, strict=True)) | {_LABEL: labels[own]}
        limits = [(float(low), float(high)) for low, high in self._limits(X.shape[1])]
        return Frames(
            tables,
            label=_LABEL,
            ranges=dict(zip(names, limits, strict=True)),
            test_fraction=0.0,
            **label,
        )


def texts_of(column: Any) -> tuple[str, ...]:
    """Returns the text of each value, by itself."""
    return table_of({_LABEL: column}, [_LABEL], name="y").column(_LABEL)
