"""``policy.toml``: what a data owner allows, in a strict file that stays at the silo."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from discreet.config.data import WRITTEN
from discreet.documents import read_toml
from discreet.errors import ConfigurationError
from discreet.kinds.fields import Section
from discreet.silo.policy.limits import MOST_RETRIES, Composing, Fixed, Limits, filter_of
from discreet.silo.policy.model_rule import ModelRule

PositiveNumber = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(gt=0, lt=1)]
HexKey = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _readable(entry: str) -> str:
    ModelRule.parse(entry)
    return entry


ModelEntry = Annotated[str, AfterValidator(_readable)]


class ConsortiumTable(Section):
    """Whom this silo trains with: ``public_key`` signs the list of enrolled silos."""

    public_key: HexKey


class DataTable(Section):
    """Where this silo's records are.

    Attributes:
        source: ``csv:PATH``, ``parquet:PATH``, ``npz:PATH`` or ``module:function``, on this machine, where a
            PATH of tables may hold ``*`` or end in ``/`` for all files of a folder; or
            ``plan``, which rehearses with the bundled source that the plan names and never reads real
            records, or ``plan:SOURCE``, which rehearses with a source of the records of all silos. Code is
            imported only if it is named here.
        separator: the character between cells of this silo's own CSV files; left out, a comma. What a plan
            says of files is for those that it names itself.
        encoding: of their text; left out, UTF-8.
        decimal: their decimal sign; left out, a point.
        columns: features that may be used; left out, every feature of the plan.
        labels: columns that may be predicted; to be given with ``columns``, or a plan could train on a column
            that is no feature. Left out, any.
        id: the column that may say whose record it is. Left out where ``columns`` is given, none; else any.
        person: the column that says whose a record is, where persons are protected; a plan that names another
            is refused, or it could call every row a person.
        residual: file with the weights of a residual network, the only one that a plan may transform images
            with; left out, none.
        weights: other files of public weights that a plan may name, which says their hash: a safetensors file
            for frozen layers or a feature map, or an ONNX file.
    """

    source: str
    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    columns: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    id: str | None = None
    person: str | None = None
    residual: Path | None = None
    weights: tuple[Path, ...] = ()

    @property
    def written(self) -> dict[str, str]:
        """How the silo's own CSV files are written, by the config's names of these settings."""
        stated = {name: getattr(self, name) for name in WRITTEN}
        return {name: value for name, value in stated.items() if value is not None}

    @property
    def weight_files(self) -> dict[str, Path]:
        """The files of public weights that a plan may have this silo open, by the name that a plan gives."""
        return {path.name: path for path in self._every_weight_file()}

    def _every_weight_file(self) -> tuple[Path, ...]:
        return (*self.weights, *(() if self.residual is None else (self.residual,)))

    @model_validator(mode="after")
    def _a_name_is_one_file(self) -> Self:
        names = [path.name for path in self._every_weight_file()]
        if len(set(names)) < len(names):
            repeated = max(names, key=names.count)
            raise ValueError(
                f"'weights' and 'residual' must be files of different names, by which plans name them; "
                f"{repeated!r} occurs twice. Rename one"
            )
        return self

    @model_validator(mode="after")
    def _columns_with_labels(self) -> Self:
        if self.columns is not None and self.labels is None:
            raise ValueError("with 'columns', 'labels' must be given: the columns that may be predicted")
        return self


class BudgetTable(Section):
    """The most that may ever be spent: in all trainings together, in one, and in a calendar year.

    Attributes:
        max_epsilon: of all trainings together.
        max_delta: of the same.
        max_epsilon_per_training: of one training.
        max_delta_per_training: of the same.
        max_epsilon_per_year: of what is released in one calendar year (UTC); left out, no limit of its own.
        max_delta_per_year: of the same; to be given with it.
        composition: how trainings add up. ``sum`` adds ε and δ, and limits may be raised. ``renyi`` is a
            filter, under which ten trainings of (1, 1e-6) cost 3.5 and not 10; ``gaussian`` is one that fits
            a tenth more, for plans without sampling. A filter's limits are written down before the first
            contribution, with all of `Fixed`, and cannot be changed.
        retries: under ``sum``, how many failed rounds of a training may be tried again at no further charge:
            each training is charged, from its first contribution on, for as many rounds, and evaluations,
            more than its plan has. It cannot be changed after the first contribution. A filter has no need
            of it.
    """

    max_epsilon: PositiveNumber
    max_delta: Probability
    max_epsilon_per_training: PositiveNumber
    max_delta_per_training: Probability
    max_epsilon_per_year: PositiveNumber | None = None
    max_delta_per_year: Probability | None = None
    composition: Composing = "sum"
    retries: Annotated[int, Field(strict=True, ge=0, le=MOST_RETRIES)] = 0

    @model_validator(mode="after")
    def _retries_of_a_sum(self) -> Self:
        if self.retries and self.composition != "sum":
            raise ValueError(
                f"'retries' must be 0 with composition = \"{self.composition}\", which charges every attempt "
                f"by itself; got {self.retries}. Leave it out"
            )
        return self

    @model_validator(mode="after")
    def _whole_years(self) -> Self:
        if (self.max_epsilon_per_year is None) != (self.max_delta_per_year is None):
            raise ValueError("'max_epsilon_per_year' and 'max_delta_per_year' must be given together")
        return self

    @model_validator(mode="after")
    def _fit_for_a_filter(self) -> Self:
        for limits, over in ((self.lifetime, ""), (self.year, "_per_year")):
            try:
                filter_of(limits or self.lifetime)
            except ConfigurationError as error:
                raise ValueError(
                    f"'max_epsilon{over}' and 'max_delta{over}' must make a filter: {error} Change them, or "
                    'take composition = "sum"'
                ) from None
        return self

    @property
    def lifetime(self) -> Limits:
        """Those of all trainings together."""
        return Limits(self.max_epsilon, self.max_delta, self.composition)

    @property
    def year(self) -> Limits | None:
        """Those of a calendar year; None if there are none."""
        if self.max_epsilon_per_year is None or self.max_delta_per_year is None:
            return None
        return Limits(self.max_epsilon_per_year, self.max_delta_per_year, self.composition)


class RequireTable(Section):
    """What a plan must promise.

    Attributes:
        unit: whom the guarantee must protect.
        most_silos: at how many silos this owner believes that one person may have records; a plan for
            persons must assume at least as many.
        min_survivors: fewest silos in a released sum.
        max_colluding: how many other silos this owner assumes to conspire with the server. The budget is
            charged as if they did, even if the plan assumes fewer, and a plan whose shares they could get
            around is refused.
        protocols: secure-aggregation protocols that may be used.
        modes: trust in the server that may be assumed; each must be named, for ``one-phase`` assumes more
            than ``semi-honest``, and ``semi-malicious``, which is what ``bell`` can do against a lying server
            with more than 50 silos, assumes more than ``malicious``.
        models: bundled names, or ``module:factory``, which is imported only if it is named here. Either may
            be pinned to its initial weights by ``@sha256:DIGEST``; ``sha256:DIGEST`` alone is any bundled
            model with these weights.
        accept_conditional: whether guarantees that rest on unproven assumptions are good enough.
        approval: ``policy`` lets every plan through that keeps the rules; ``person`` waits for
            ``discreet silo approve`` besides.
    """

    unit: Literal["record", "person", "client"] = "record"
    most_silos: Annotated[int, Field(ge=1)] = 1
    min_survivors: Annotated[int, Field(ge=2)] = 3
    max_colluding: Annotated[int, Field(ge=0)] = 1
    protocols: tuple[Literal["bonawitz", "bell"], ...] = ("bonawitz",)
    modes: tuple[Literal["malicious", "semi-malicious", "semi-honest", "one-phase"], ...] = ("malicious",)
    models: tuple[ModelEntry, ...]
    accept_conditional: bool = False
    approval: Literal["policy", "person"] = "policy"


class ProposalsTable(Section):
    """How much may be asked of this silo.

    Attributes:
        per_day: new plans in one day (UTC). A plan that was counted that day, that this silo has contributed
            to, or that a person approved is not new, so that no training is held up.
    """

    per_day: Annotated[int, Field(ge=1)] = 20


class SimulationTable(Section):
    """Rehearsals only: noise from a seed, which whoever knows the seed can remove."""

    seed: Annotated[int, Field(ge=0)]


class Policy(Section):
    """The whole file.

    Attributes:
        silo: this silo's name in plans.
        expires: the last day on which this silo takes part.
        identity: file with this silo's private key, beside the policy unless absolute.
        state: folder for ledger, journal and plans; deleting it would forget what was spent.
        anchor: file that remembers how far the ledger came, so that an older ledger is noticed. Best on
            another disk, and where no backup restores it together with ``state``; one for each ``state``.
    """

    silo: str
    expires: date
    identity: Path = Path("identity.key")
    state: Path = Path("state")
    anchor: Path = Path("ledger.anchor")
    consortium: ConsortiumTable
    data: DataTable
    budget: BudgetTable
    require: RequireTable
    proposals: ProposalsTable = ProposalsTable()
    simulation: SimulationTable | None = None

    @property
    def fixed(self) -> Fixed:
        """What the budget rests on."""
        return Fixed(
            self.budget.lifetime,
            self.budget.year,
            self.require.max_colluding,
            self.require.unit,
            self.data.person,
            self.require.most_silos,
            self.budget.retries,
        )


def load_policy(path: Path) -> Policy:
    """Reads a policy; relative paths in it are taken from the folder it lies in.

    Raises:
        ConfigurationError: one line with the key's full name.
    """
    if path.is_dir():
        inside = path / "policy.toml"
        knob = f"the file: {inside}" if inside.is_file() else "a policy.toml"
        raise ConfigurationError(f"the policy must be a file; got the folder {path}. Name {knob}.")
    try:
        policy = Policy.model_validate(read_toml(path.read_text(encoding="utf-8-sig")))
    except OSError as error:
        raise ConfigurationError(f"the policy must be a readable file; {path}: {error.strerror}.") from None
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(str(part) for part in problem["loc"])
        message = problem["msg"].removeprefix("Value error, ").rstrip(".")
        raise ConfigurationError(f"{path.name}: '{key}': {message}.") from None
    except ValueError as error:
        raise ConfigurationError(f"{path.name} must be valid TOML; {error}.") from None
    folder = path.resolve().parent
    data = policy.data
    own = {
        "source": _resolved(data.source, folder),
        "residual": None if data.residual is None else folder / data.residual,
        "weights": tuple(folder / path for path in data.weights),
    }
    if (folder / policy.anchor).resolve().is_relative_to((folder / policy.state).resolve()):
        raise ConfigurationError(
            f"{path.name}: 'anchor': it must lie outside 'state', or a backup would restore both; "
            f"got {policy.anchor}."
        )
    return policy.model_copy(
        update={
            "identity": folder / policy.identity,
            "state": folder / policy.state,
            "anchor": folder / policy.anchor,
            "data": data.model_copy(update=own),
        }
    )


def _resolved(source: str, folder: Path) -> str:
    """Takes a relative path of a file source from the policy's folder."""
    scheme, _, rest = source.partition(":")
    if scheme not in ("csv", "parquet", "npz"):
        return source
    return f"{scheme}:{folder / rest}{'/' if rest.endswith('/') else ''}"
