"""A released model that reads records as training did; using it is post-processing and costs no privacy."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.arrays import Float32s, Floats
from discreet.config.federation import public_facts
from discreet.data import Records, TableRules, features_in_memory, table_rules
from discreet.data.frames import table_of
from discreet.data.labels import Outcome
from discreet.data.record_map import RecordMap
from discreet.errors import ConfigurationError
from discreet.kinds.model_facts import names_own_code
from discreet.learning import logits
from discreet.learning.metrics import probabilities
from discreet.models import load_tensors, read_model_file
from discreet.models.transforms import features_by
from discreet.plan import Plan
from discreet.plan.follows import unlike_its_config
from discreet.plan.public_model import public_model
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.shown import guarantees_html, guarantees_text
from discreet.quality import shares_of_labels
from discreet.rounds import Origin, parse_origin
from discreet.rounds.preparing import record_map


@final
@dataclass(frozen=True, slots=True, repr=False)
class Model:
    """Weights, and where they come from.

    Attributes:
        origin: what the model file says of itself.
        network: features to logits, in evaluation mode.
        own_code: whether a feature map that is not bundled may be imported.
        prepares: what prepares records as they are read for the network; None where nothing does.
    """

    origin: Origin
    network: nn.Module
    own_code: bool = False
    prepares: RecordMap | None = None

    @property
    def plan(self) -> Plan:
        """What was agreed."""
        return self.origin.plan

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """One for each adversary, over all that was released."""
        return self.origin.guarantees

    @property
    def rules(self) -> TableRules | None:
        """How rows of a table become features; None if the model was not trained on tables."""
        return rules_of(self.plan)

    @property
    def classes(self) -> tuple[str, ...]:
        """The texts of the classes, in the order of probabilities; numbers where no text is known.

        None of a regression; of several labels the two of each.
        """
        rules = self.rules
        if self.outcome is not None:
            return ()
        return tuple(map(str, range(self.plan.facts.num_classes))) if rules is None else rules.schema.classes

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that are predicted, in order, where there are several; else none."""
        return self.plan.data.labels if self.plan.data.several else ()

    @property
    def outcome(self) -> Outcome | None:
        """The public range of what a regression predicts; None of a classifier."""
        stated = self.plan.data.label_range
        return None if stated is None else Outcome(*stated)

    def predict_proba(self, records: Any) -> Floats:
        """Returns the probability of each class for each record; of several labels, of each one's second.

        They are not calibrated where residuals were capped in training (docs/how-to/untuned.md).

        Args:
            records: a frame or mapping with the plan's feature columns, in any order; or, for a plan over
                `Arrays`, an array or tensor of their shape, which is read as for training; or, for any plan,
                an array of the shape that the network takes, as it is.

        Returns:
            Shape ``(n, num_classes)``; of several labels ``(n, K)``, in the order of `labels`.

        Warns:
            UserWarning: once for each column of a frame in which cells hold texts that the plan does not
                know, with their number; blank ones by themselves are no reason.

        Raises:
            ConfigurationError: if an array has another shape, or the model is a regression.
            DataError: if a frame lacks a column, or what was read as for training has another shape.
        """
        if self.outcome is not None:
            raise ConfigurationError(
                "the model must be a classifier to give probabilities; it predicts a number. Call predict."
            )
        found = self.probabilities(self._features(records))
        return shares_of_labels(found) if self.labels else found

    def predict(self, records: Any) -> npt.NDArray[Any]:
        """Returns the most probable class of each record, shape ``(n,)``: its text where classes have texts.

        Of several labels it is that of each, shape ``(n, K)``. Else classes are numbers from 0. Of a
        regression it is the predicted number, in the label's unit; it may lie outside of the public range.
        `predict_proba` says what ``records`` may be.
        """
        if self.outcome is not None:
            return self.numbers(self._features(records), self.outcome)
        shares = self.predict_proba(records)
        chosen = (shares > 1.0 / 2.0).astype(np.int64) if self.labels else np.asarray(shares.argmax(axis=1))
        named = self.plan.data.classes
        return chosen if named is None else np.asarray(np.asarray(named)[chosen])

    def outputs(self, features: Float32s) -> torch.Tensor:
        """Returns the logits of features as records are read for training, shape ``(n, k)``."""
        if not len(features):
            return torch.empty(0, 1 << len(self.labels) if self.labels else self.plan.facts.model.outputs)
        taken = features if self.prepares is None else self.prepares.features(features)
        return logits(self.network, Records(taken, np.zeros(len(features), dtype=np.int64)))

    def probabilities(self, features: Float32s) -> Floats:
        """Returns the probability of each class for features as records are read for training.

        Of several labels the classes are all combinations of theirs.
        """
        return probabilities(self.outputs(features))

    def numbers(self, features: Float32s, outcome: Outcome) -> Floats:
        """Returns what a regression predicts for features as records are read, shape ``(n,)``."""
        return outcome.numbers(self.outputs(features)[:, 0].double().numpy())

    def _features(self, records: Any) -> Float32s:
        """Reads records as training did; an array of the network's own shape is taken as it is."""
        shape, stated = self.plan.facts.feature_shape, public_facts(self.plan.data).array_facts()
        if stated is not None:
            return self._mapped(features_in_memory(records, stated))
        if isinstance(records, np.ndarray):
            if records.shape[1:] != shape:
                raise ConfigurationError(
                    f"every record must have the plan's shape {shape}{self._of_features}; "
                    f"got {records.shape[1:]}."
                )
            return np.ascontiguousarray(records, dtype=np.float32)
        rules = self.require_rules()
        features, counted = rules.features(table_of(records, rules.used, name="the records"))
        for note in rules.unknown("the records", [counted]):
            warnings.warn(note, UserWarning, stacklevel=3)  # whoever called predict
        return features

    @property
    def _of_features(self) -> str:
        """Says what arrays must hold, where a public network made the features: its weights do not travel."""
        transform = self.plan.data.transform or ""
        if transform.partition(":")[0] not in ("network", "onnx", "residual"):
            return ""
        return f", features of {transform!r} with a constant 1 behind them, scaled to the plan's norm bound"

    def _mapped(self, features: Float32s) -> Float32s:
        """Applies the plan's feature map to arrays; one of the user's own is imported by leave."""
        data = self.plan.data
        if data.transform is None:
            return features
        if data.transform.startswith("map:") and not self.own_code:
            raise ConfigurationError(
                f"the feature map must be imported by your leave; the plan names {data.transform!r}. Open "
                "it with own_code=True (--own-code) if you trust it."
            )
        return features_by(features, data.transform, data.feature_norm_bound)

    def require_rules(self) -> TableRules:
        """Returns how rows of a table become features.

        Raises:
            ConfigurationError: if the model was not trained on tables.
        """
        if self.rules is None:
            raise ConfigurationError(
                f"the model must have been trained on tables to read one; it takes arrays of shape "
                f"{self.plan.facts.feature_shape}{self._of_features}. "
                "Load it with discreet.load_model, and give it those."
            )
        return self.rules

    def __repr__(self) -> str:
        simulation = ", SIMULATION: whoever knows the seed can remove the noise" * self.origin.seeded
        name, plan = self.plan.model_title, self.plan
        return f"Model({name!r} of {plan.name!r}, plan {plan.digest()[:12]}…{simulation})"

    def __str__(self) -> str:
        return guarantees_text(repr(self), self.guarantees)

    def _repr_html_(self) -> str:
        return guarantees_html(repr(self), self.guarantees)


def rules_of(plan: Plan) -> TableRules | None:
    """Returns how rows of a table become features under a plan; None if it is not about tables."""
    data = plan.data
    return None if data.transform is not None else table_rules(data.source, public_facts(data))


def build_network(
    plan: Plan, *, own_code: bool, released: Mapping[str, npt.NDArray[Any]] | None = None
) -> nn.Module:
    """Builds the model that a plan names, with its initial weights.

    Frozen weights from a file are taken from ``released``, the tensors of a released model, if that is given.

    Raises:
        ConfigurationError: if it is not bundled and ``own_code`` is false, or cannot be built here.
    """
    name = plan.model.name
    if not own_code and names_own_code(name):
        raise ConfigurationError(
            f"the model must be bundled, or be imported by your leave; the plan names {name!r}. "
            "Open it with own_code=True (--own-code) if you trust it."
        )
    return public_model(plan, None if plan.model.pretrained is None else released)


def load_model(path: str | Path, *, own_code: bool = False) -> Model:
    """Loads a released model from its file alone; neither records nor the run's other files are needed.

    Its guarantees must be those that its plan gives, but that its plan was carried out is the file's own
    word: only `discreet.verify` works that out again, from the folder of the run.

    Args:
        path: a model file, or the folder of a finished run.
        own_code: import a model that is not bundled, if the file names one.

    Raises:
        ConfigurationError: if it is no model file or was altered, or its model cannot be built here.
    """
    path = Path(path)
    file = path / "model.safetensors" if path.is_dir() else path
    if not file.is_file():
        raise ConfigurationError(
            f"the model must be a file, or the folder of a finished run; there is no {file}."
        )
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"the model must be a readable file; {file}: {error.strerror}.") from None
    found = read_model_file(data, name=file.name)
    origin = parse_origin(found.about, name=file.name)
    _require_no_more_than_planned(origin, file.name)
    network = build_network(origin.plan, own_code=own_code, released=found.tensors)
    load_tensors(network, found, name=file.name)
    return Model(origin, network.eval(), own_code, _map(origin.plan, found.prepared, file.name))


def _map(plan: Plan, announced: Floats | None, name: str) -> RecordMap | None:
    """Returns what prepares records, which a file may lack where the preparation was lost.

    Raises:
        ConfigurationError: if it is none of the plan's.
    """
    if announced is not None and plan.preparation is None:
        raise ConfigurationError(f"{name} must prepare records only where its plan does; it does.")
    try:
        return record_map(plan, announced)
    except ValueError as error:
        raise ConfigurationError(f"{name} must hold what prepares records; {error}.") from None


def _require_no_more_than_planned(origin: Origin, name: str) -> None:
    """Refuses a file that states a stronger guarantee than its plan gives: for all rounds, at least.

    Raises:
        ConfigurationError: naming the adversary.
    """
    difference = unlike_its_config(origin.plan)
    if difference is not None:
        raise ConfigurationError(
            f"{name} must hold a plan that follows from its config; {difference}. Take the file as made."
        )
    planned = {row.against: row for row in origin.plan.guarantees}
    stated = {row.against: row for row in origin.guarantees}
    if stated.keys() != planned.keys():
        raise ConfigurationError(
            f"{name} must state a guarantee for every adversary of its plan, and no more."
        )
    for against, row in stated.items():
        least = planned[against]
        same = (row.unit, row.neighboring, row.status) == (least.unit, least.neighboring, least.status)
        if not (same and row.epsilon >= least.epsilon and row.delta >= least.delta):
            raise ConfigurationError(
                f"{name} must state for {against} what its plan gives, "
                f"epsilon {least.epsilon} at delta {least.delta}, {least.status.value}; "
                f"it states {row.epsilon} at {row.delta}, {row.status.value}."
            )
