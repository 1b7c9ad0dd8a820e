"""A released model that reads records as training did; using it is post-processing and costs no privacy."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.arrays import Float32s, Floats
from discreet.config.federation import public_facts
from discreet.data import (
    Records,
    TableRules,
    features_in_memory,
    features_of_array,
    real_array,
    table_rules,
    undivided_note,
)
from discreet.data.array_records import is_real
from discreet.data.frames import table_of
from discreet.data.labels import Outcome
from discreet.data.norm import seems_scaled
from discreet.data.record_map import RecordMap
from discreet.errors import ConfigurationError, DataError
from discreet.learning import logits
from discreet.learning.metrics import probabilities
from discreet.models.transforms import PublicMap
from discreet.plan import Plan
from discreet.plan.uncalibrated import uncalibrated
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.shown import guarantees_html, guarantees_text
from discreet.quality import shares_of_labels
from discreet.released.public_map import no_weights_given, of_a_network
from discreet.rounds import Origin


@final
@dataclass(frozen=True, slots=True, repr=False)
class Model:
    """Weights, and where they come from.

    Attributes:
        origin: what the model file says of itself.
        network: features to logits, in evaluation mode.
        own_code: whether a feature map that is not bundled may be imported.
        prepares: what prepares records as they are read for the network; None where nothing does.
        maps: what made the features of records in training; None where nothing did, or where it was a public
            network whose weights are not here: then it takes features.
    """

    origin: Origin
    network: nn.Module
    own_code: bool = False
    prepares: RecordMap | None = None
    maps: PublicMap | None = None

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
        """How rows of a table are read; None if the model was not trained on tables."""
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

    @property
    def caveat(self) -> str:
        """Why its probabilities are not to be taken at their word; empty if nothing is known against them."""
        return uncalibrated(self.plan)

    def predict_proba(self, records: Any) -> Floats:
        """Returns the probability of each class for each record; of several labels, of each one's second.

        They are not calibrated where residuals were capped, or classes weighted, in training: `caveat`, and
        docs/how-to/untuned.md.

        Args:
            records: a frame or mapping with the plan's feature columns, in any order; or, for a plan over
                `Arrays` or arrays of a file, an array or tensor of records, which are read as for training;
                or an array of features, of the shape that the network takes, as it is, unless the model maps
                records of arrays by itself. Of a plan with tables these are rows as training encodes them,
                scaled to its norm bound, the constant last; no other array is taken.

        Returns:
            Shape ``(n, num_classes)``; of several labels ``(n, K)``, in the order of `labels`.

        Warns:
            UserWarning: once for each column of a frame in which cells hold texts that the plan does not
                know, with their number; blank ones by themselves are no reason. And if a feature map gives no
                features for some records, or numbers are above 1 where the plan says that bytes are pixels,
                with the number of records.

        Raises:
            ConfigurationError: if an array has another shape, the model is a regression, or the weights of
                its feature map are not here.
            DataError: if a model of tables is given neither a table nor encoded rows, a frame lacks a column,
                or what was read as for training has another shape; or holds whole numbers that are no bytes,
                where the plan says that bytes are pixels.
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
        """Returns the logits of records as they are read and mapped for training, shape ``(n, k)``."""
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
        """Reads records as training did; an array of features is taken as it is."""
        notes = list[str]()
        if self._takes_features(records):
            return np.ascontiguousarray(records, dtype=np.float32)
        if self.rules is None:
            found = self.features_of_arrays(records)
            notes += self.undivided(records, "the records")
        else:
            rules = self.require_rules()
            self._require_table(records)
            features, counted = rules.features(table_of(records, rules.used, name="the records"))
            notes += rules.unknown("the records", [counted])
            found = self.mapped(features)
        for note in (*notes, *self.notes()):
            warnings.warn(note, UserWarning, stacklevel=3)  # whoever called predict
        return found

    def _takes_features(self, records: Any) -> bool:
        """Says whether an array holds features, which nobody reads: as a table's rules or a map make them.

        Where a feature map of arrays is here, no array does, and bytes never are features. Pixels are read as
        a file's are, which says whether they were divided.
        """
        data, shape = self.plan.data, self.plan.facts.feature_shape
        if not isinstance(records, np.ndarray) or records.dtype == np.uint8:
            return False
        if (
            self.rules is None
            and self.pixels
            and (np.issubdtype(records.dtype, np.integer) or self.takes_pixels)
        ):
            return False
        if public_facts(data).array_facts() is not None or (self.maps is not None and self.rules is None):
            return False
        if self.rules is not None:
            bound = self.plan.facts.feature_norm_bound
            fits = records.shape[1:] == shape and is_real(records)
            return fits and (bound is None or seems_scaled(records, bound))
        return bool(records.shape[1:] == shape)

    def _require_table(self, records: Any) -> None:
        """Refuses what has no columns, which training's own message would take for a silo's table."""
        if not (hasattr(records, "columns") or isinstance(records, Mapping)):
            raise DataError(
                "the records must be a DataFrame or a mapping of columns, for this model reads tables; got "
                f"{type(records).__name__}. An array is taken for encoded features alone, of shape "
                f"(n, {self.plan.facts.feature_shape[0]}), each row scaled to the norm bound, with the "
                "constant last."
            )

    def features_of_arrays(self, records: Any) -> Float32s:
        """Returns the features of an array or tensor of records as the training's own source held them.

        Raises:
            DataError: if it is no array of numbers, or of another shape than the plan states.
            ConfigurationError: as `mapped`.
        """
        data = self.plan.data
        facts = public_facts(data)
        stated = facts.array_facts()
        if stated is not None:
            return self.mapped(features_in_memory(records, stated))
        raw = real_array(records)
        return self.mapped(features_of_array(raw, facts.feature_norm_bound, pixels=self.pixels))

    def undivided(self, records: Any, where: str) -> tuple[str, ...]:
        """Returns a note about records that seem to be bytes which nobody divided by 255, if any are."""
        return undivided_note(real_array(records), where, pixels=self.pixels)

    @property
    def pixels(self) -> bool | None:
        """Whether bytes are pixels; a source of one's own gives features as they are."""
        return False if self.plan.data.makes_own_records else self.plan.data.pixels

    @property
    def takes_pixels(self) -> bool:
        """Whether, without a feature map, it takes pixels as they are divided, and no features of theirs."""
        data = self.plan.data
        read = data.feature_norm_bound is None or data.feature_shape is not None
        return self.pixels is True and data.transform is None and read

    def mapped(self, features: Float32s) -> Float32s:
        """Applies the plan's feature map, if there is one, to records as they are read.

        Raises:
            ConfigurationError: if its weights or its code are not here, or the records have not the shape of
                those in training.
        """
        data, shape = self.plan.data, self.plan.facts.feature_shape
        if data.transform is not None:
            if data.transform.startswith("map:") and not self.own_code:
                raise ConfigurationError(
                    f"the feature map must be imported by your leave; the plan names {data.transform!r}. "
                    "Open it with own_code=True (--own-code) if you trust it."
                )
            if self.maps is None:
                raise no_weights_given(self.plan)
            taken, features = features.shape[1:], self.maps.features(features)
            if features.shape[1:] != shape:
                raise ConfigurationError(
                    f"records must have the shape of those in training, of which {data.transform!r} "
                    f"makes {shape}; of {taken} it makes {features.shape[1:]}."
                )
        elif features.shape[1:] != shape:
            raise ConfigurationError(
                f"every record must have the plan's shape {shape}; got {features.shape[1:]}."
            )
        return features

    def notes(self) -> tuple[str, ...]:
        """Returns how many records got no features of the feature map since this was asked last."""
        return () if self.maps is None else self.maps.notes()

    def require_records(self) -> None:
        """Refuses a model that takes features and no records.

        Raises:
            ConfigurationError: if a public network made its features, whose weights are not here.
        """
        if self.maps is None and of_a_network(self.plan):
            raise no_weights_given(self.plan)

    def require_rules(self) -> TableRules:
        """Returns how rows of a table are read.

        Raises:
            ConfigurationError: if the model was not trained on tables, or takes features and no records.
        """
        self.require_records()
        if self.rules is None:
            raise ConfigurationError(
                "the model must have been trained on tables to read one; it takes arrays, of shape "
                f"{self.plan.facts.feature_shape} as its network has them. Load it with discreet.load_model, "
                "and give it those."
            )
        return self.rules

    def __repr__(self) -> str:
        simulation = ", SIMULATION: whoever knows the seed can remove the noise" * self.origin.seeded
        off = ", probabilities not calibrated" * bool(self.caveat)
        name, plan = self.plan.model_title, self.plan
        return f"Model({name!r} of {plan.name!r}, plan {plan.digest()[:12]}…{off}{simulation})"

    def __str__(self) -> str:
        said = guarantees_text(repr(self), self.guarantees)
        return f"{said}\n  {self.caveat}" if self.caveat else said

    def _repr_html_(self) -> str:
        return guarantees_html(repr(self), self.guarantees)


def rules_of(plan: Plan) -> TableRules | None:
    """Returns how rows of a table are read under a plan; None if it is not about tables."""
    return table_rules(plan.data.source, public_facts(plan.data))
