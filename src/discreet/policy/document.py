"""``policy.toml``: what a data owner allows, in a strict file that stays at the silo."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.errors import ConfigurationError

PositiveNumber = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(gt=0, lt=1)]
HexKey = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Table(BaseModel):
    """A table of the file: immutable, and closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ConsortiumTable(_Table):
    """Whom this silo trains with: ``public_key`` signs the list of enrolled silos."""

    public_key: HexKey


class DataTable(_Table):
    """Where this silo's records are.

    Attributes:
        source: ``csv:PATH``, ``parquet:PATH``, ``npz:PATH`` or ``module:function``, on this machine; or
            ``plan``, which rehearses with the plan's own public source and never reads real records, or
            ``plan:SOURCE``, which rehearses with a file that holds the records of all silos.
        columns: features that may be used; left out, every feature of the plan.
    """

    source: str
    columns: tuple[str, ...] | None = None


class BudgetTable(_Table):
    """The most that may ever be spent: in all trainings together (basic composition), and in one."""

    max_epsilon: PositiveNumber
    max_delta: Probability
    max_epsilon_per_training: PositiveNumber
    max_delta_per_training: Probability


class RequireTable(_Table):
    """What a plan must promise.

    Attributes:
        unit: whom the guarantee must protect.
        min_survivors: fewest silos in a released sum.
        max_colluding: how many other silos this owner assumes to conspire with the server. The budget is
            charged as if they did, even if the plan assumes fewer.
        protocols: secure-aggregation protocols that may be used.
        modes: trust in the server that may be assumed; each must be named, for ``one-phase`` assumes more
            than ``semi-honest``.
        models: bundled names, ``module:factory``, or ``sha256:`` digests of model and initial weights.
        accept_conditional: whether guarantees that rest on unproven assumptions are good enough.
        approval: ``policy`` lets every plan through that keeps the rules; ``person`` waits for
            ``discreet silo approve`` besides.
    """

    unit: Literal["record", "client"] = "record"
    min_survivors: Annotated[int, Field(ge=2)] = 3
    max_colluding: Annotated[int, Field(ge=0)] = 1
    protocols: tuple[Literal["bonawitz", "bell"], ...] = ("bonawitz",)
    modes: tuple[Literal["malicious", "semi-honest", "one-phase"], ...] = ("malicious",)
    models: tuple[str, ...]
    accept_conditional: bool = False
    approval: Literal["policy", "person"] = "policy"


class SimulationTable(_Table):
    """Rehearsals only: noise from a seed, which whoever knows the seed can remove."""

    seed: Annotated[int, Field(ge=0)]


class Policy(_Table):
    """The whole file.

    Attributes:
        silo: this silo's name in plans.
        expires: the last day on which this silo takes part.
        identity: file with this silo's private key, beside the policy unless absolute.
        state: folder for ledger, journal and plans; deleting it would forget what was spent.
    """

    silo: str
    expires: date
    identity: Path = Path("identity.key")
    state: Path = Path("state")
    consortium: ConsortiumTable
    data: DataTable
    budget: BudgetTable
    require: RequireTable
    simulation: SimulationTable | None = None


def load_policy(path: Path) -> Policy:
    """Reads a policy; relative paths in it are taken from the folder it lies in.

    Raises:
        ConfigurationError: one line with the key's full name.
    """
    try:
        policy = Policy.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigurationError(f"the policy must be a readable file; {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path.name} must be valid TOML; {error}.") from None
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(str(part) for part in problem["loc"])
        raise ConfigurationError(f"{path.name}: '{key}': {problem['msg']}.") from None
    folder = path.resolve().parent
    return policy.model_copy(
        update={
            "identity": folder / policy.identity,
            "state": folder / policy.state,
            "data": policy.data.model_copy(update={"source": _resolved(policy.data.source, folder)}),
        }
    )


def _resolved(source: str, folder: Path) -> str:
    """Takes a relative path of a file source from the policy's folder."""
    scheme, _, rest = source.partition(":")
    return f"{scheme}:{folder / rest}" if scheme in ("csv", "parquet", "npz") else source
