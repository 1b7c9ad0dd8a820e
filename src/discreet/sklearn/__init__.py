"""Estimators of scikit-learn: linear models over several silos, private for each record."""

from discreet.sklearn.federated import Federated  # noqa: I001 - it says in one line what is not installed
from discreet.sklearn.classifier import FederatedClassifier
from discreet.sklearn.regressor import FederatedRegressor

__all__ = ["Federated", "FederatedClassifier", "FederatedRegressor"]
