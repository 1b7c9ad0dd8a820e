"""A run on disk, opened by a program: its guarantees, its checks, its report, its model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy.typing as npt
from torch import nn

from discreet.arrays import Floats
from discreet.config.arguments import known_arguments
from discreet.errors import ConfigurationError
from discreet.models import load_flat, read_model_file
from discreet.own_code import require_leave
from discreet.plan import Plan
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.shown import guarantees_html, guarantees_text
from discreet.released import Model, build_network, public_map
from discreet.report.answered import Answer, answers_of
from discreet.report.evaluated import RoundEvaluation, evaluations_of
from discreet.report.shapes import Shapes, model_shapes
from discreet.rounds import RunRecord, parse_origin, read_record
from discreet.session.finish import report_again
from discreet.silo.policy import load_key
from discreet.verify import Finding, released_tensors, saved_map, saved_parameters, verify


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
        model = build_network(self.plan, own_code=self.own_code, released=released_tensors(self.record))
        parameters = saved_parameters(self.record)
        if parameters is not None:
            load_flat(model, parameters)
        return model.eval()

    @property
    def released(self) -> Model:
        """The model after the last completed round, which reads records as training did.

        Where a public network made the features, it takes those: `predict` takes the network's weights.

        Raises:
            VerificationFailure: if the saved weights are not those of the ledger.
            ConfigurationError: if the model is not bundled and ``own_code`` is false, or the run is from
                before the order of columns was that of their names; or it asked questions.
        """
        return self._opened(None)

    def _opened(self, weights: str | Path | None) -> Model:
        require_leave(self.own_code, weights)
        if self.plan.questions:
            raise ConfigurationError(
                f"a released model is that of a training; {self.path} asked questions. Use answers."
            )
        file = self.record.directory.model
        if file.exists():
            parse_origin(read_model_file(file.read_bytes(), name=file.name).about, name=file.name)
        prepares = saved_map(self.record)
        maps = public_map(self.plan, weights, own_code=self.own_code)
        return Model(self.record.origin, self.model, self.own_code, prepares, maps)

    def predict_proba(self, records: Any, *, weights: str | Path | None = None) -> Floats:
        """Returns the probability of each class for each record: `Model.predict_proba`, `load_model`."""
        return self._opened(weights).predict_proba(records)

    def predict(self, records: Any, *, weights: str | Path | None = None) -> npt.NDArray[Any]:
        """Returns the most probable class, or number, of each record: `Model.predict`, `load_model`."""
        return self._opened(weights).predict(records)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """What the run's questions were answered, in order; none before their sum is released.

        Raises:
            ConfigurationError: if the run trained a model.
        """
        if not self.plan.questions:
            raise ConfigurationError(
                f"answers are those of a run that asked questions; {self.path} trained a model. "
                "Use released, predict or predict_proba."
            )
        return answers_of(self.record)

    @property
    def evaluations(self) -> tuple[RoundEvaluation, ...]:
        """How good the model was after some rounds, on held-out records, with intervals; none if not asked.

        As private as the guarantees say: the run's own noise is in every number.

        Raises:
            LedgerError: if the saved state is not the one that the ledger names.
        """
        return evaluations_of(self.record)

    def verify(
        self, *, key: str | None = None, records: str | Path | None = None, weights: str | Path | None = None
    ) -> tuple[Finding, ...]:
        """Works every number of the run out again; see `discreet.verify.verify`.

        Raises:
            VerificationFailure: for the first thing that is wrong.
        """
        return tuple(verify(self.path, key=key, records=records, own_code=self.own_code, weights=weights))

    def shapes(self) -> Shapes:
        """Returns what a linear model over a table says: what each column adds to the log-odds.

        Each curve has x, contribution and a band that says how much of it noise may explain; of each class,
        the columns that move it most come first. As private as the weights.

        Raises:
            ConfigurationError: if the model is not linear over the columns of a table, or no round is over.
            LedgerError: if the saved weights are not those that the ledger names.
        """
        return model_shapes(self.record)

    def report(self, *, sign: str | Path | None = None) -> Path:
        """Writes the report again and returns the page; ``sign`` is needed if the run was signed."""
        return report_again(self.path, None if sign is None else load_key(Path(sign)))

    def __repr__(self) -> str:
        spent = self.record.spending
        rounds = sum(self.plan.order.trains(entry.release) for entry in spent.completed)
        said = f"{rounds} of {self.plan.rounds} rounds"
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


@known_arguments
def open_run(path: str | Path, *, own_code: bool = False) -> Run:
    """Opens the run in ``path``; plan and ledger are read, and are whole and belong together.

    Args:
        path: the directory of a run.
        own_code: import a model that is not bundled, if the plan names one.

    Raises:
        ConfigurationError: if the plan is missing or altered, or ``own_code`` is no bool.
        LedgerError: if the ledger is missing, altered, or belongs to another plan.
    """
    require_leave(own_code)
    return Run(read_record(Path(path)), own_code)
