"""A run on disk, opened by a program: its guarantees, its checks, its report, its model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.arrays import Float32s
from discreet.config.federation import public_facts
from discreet.data import features_of
from discreet.errors import ConfigurationError
from discreet.learning.metrics import probabilities
from discreet.models import load_flat
from discreet.models.build import BUNDLED
from discreet.models.transforms import features_by
from discreet.plan import Plan
from discreet.plan.public_model import public_model
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.shown import guarantees_html, guarantees_text
from discreet.rounds import RunRecord, read_record
from discreet.session.finish import report_again
from discreet.silo.policy import load_key
from discreet.verify import Finding, saved_parameters, verify


@final
@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """A finished or interrupted training; nothing here changes what was trained.

    Attributes:
        record: plan and ledger, read and found whole.
        own_code: whether a model that is not bundled may be imported: a plan names whatever it likes.
        failing: which assumption the records that it was trained on break, and what is left of the
            guarantees; empty if none, or if this process has not trained it, for no file holds it.
    """

    record: RunRecord
    own_code: bool = False
    failing: str = ""

    @property
    def path(self) -> Path:
        """The directory."""
        return self.record.directory.path

    @property
    def plan(self) -> Plan:
        """What was agreed."""
        return self.record.plan

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """One for each adversary, over all that was released."""
        return self.record.guarantees

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """What was measured after every round; on held-out records, so not private."""
        return self.record.directory.read_metrics()

    @property
    def model(self) -> nn.Module:
        """The released model, with the weights that the ledger names.

        Raises:
            VerificationFailure: if the saved weights are not those of the ledger.
            ConfigurationError: if the model is not bundled and ``own_code`` is false.
        """
        name = self.plan.model.name
        if not (self.own_code or name in BUNDLED):
            raise ConfigurationError(
                f"the model must be bundled, or be imported by your leave; the plan names {name!r}. "
                "Open the run with own_code=True if you trust it."
            )
        model = public_model(self.plan)
        parameters = saved_parameters(self.record)
        if parameters is not None:
            load_flat(model, parameters)
        return model.eval()

    def predict_proba(self, records: Any) -> npt.NDArray[np.float64]:
        """Returns the probability of each class for each record; post-processing, which costs no privacy.

        Args:
            records: a frame with the plan's feature columns; or, for a plan over `Arrays`, an array or tensor
                of their shape, which is read as for training; or, for any other plan, an array of the shape
                that the model takes, as it is.

        Returns:
            Shape ``(n, num_classes)``.

        Raises:
            ConfigurationError: if an array has another shape.
            DataError: if a frame lacks a column, or what was read as for training has another shape.
        """
        with torch.no_grad():
            return probabilities(self.model(torch.from_numpy(self._features(records))))

    def predict(self, records: Any) -> npt.NDArray[np.int64]:
        """Returns the most probable class of each record, shape ``(n,)``; see `predict_proba`."""
        return np.asarray(self.predict_proba(records).argmax(axis=1), dtype=np.int64)

    def verify(self, *, key: str | None = None, records: Path | None = None) -> tuple[Finding, ...]:
        """Works every number of the run out again; see `discreet.verify.verify`.

        Raises:
            VerificationFailure: for the first thing that is wrong.
        """
        return tuple(verify(self.path, key=key, records=records, own_code=self.own_code))

    def report(self, *, sign: str | Path | None = None) -> Path:
        """Writes the report again and returns the page; ``sign`` is needed if the run was signed."""
        return report_again(self.path, None if sign is None else load_key(Path(sign)))

    def __repr__(self) -> str:
        spent = self.record.spending
        said = f"{len(spent.completed)} of {self.plan.rounds} rounds"
        if self.record.seeded:
            said += (
                ", SIMULATION: whoever knows the seed can remove the noise, so what follows holds without one"
            )
        return f"Run({str(self.path)!r}: {said})"

    def __str__(self) -> str:
        return guarantees_text(self._title(), self.guarantees)

    def _repr_html_(self) -> str:
        return guarantees_html(self._title(), self.guarantees)

    def _title(self) -> str:
        return "\n".join([repr(self), *([self.failing] if self.failing else [])])

    def _features(self, records: Any) -> npt.NDArray[np.float32]:
        shape, data = self.plan.facts.feature_shape, self.plan.data
        if data.feature_shape is not None or not isinstance(records, np.ndarray):
            return self._mapped(features_of(records, public_facts(data)))
        if records.shape[1:] != shape:
            raise ConfigurationError(
                f"every record must have the plan's shape {shape}; got {records.shape[1:]}."
            )
        return np.ascontiguousarray(records, dtype=np.float32)

    def _mapped(self, features: Float32s) -> Float32s:
        """Applies the plan's feature map to records in memory; one of the user's own is imported by leave."""
        data = self.plan.data
        if data.feature_shape is None or data.transform is None:
            return features
        if data.transform.startswith("map:") and not self.own_code:
            raise ConfigurationError(
                f"the feature map must be imported by your leave; the plan names {data.transform!r}. Open "
                "the run with own_code=True if you trust it."
            )
        return features_by(features, data.transform, data.feature_norm_bound)


def open_run(path: str | Path, *, own_code: bool = False) -> Run:
    """Opens the run in ``path``; plan and ledger are read, and are whole and belong together.

    Args:
        path: the directory of a run.
        own_code: import a model that is not bundled, if the plan names one.

    Raises:
        ConfigurationError: if the plan is missing or altered.
        LedgerError: if the ledger is missing, altered, or belongs to another plan.
    """
    return Run(read_record(Path(path)), own_code)
