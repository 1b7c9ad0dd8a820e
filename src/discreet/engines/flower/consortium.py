"""A consortium on disk: a folder for each silo with its key and policy, one for the server, the signed list.

``discreet new`` writes it for real silos, `rehearse` for a rehearsal on one machine, where the silos read the
plan's own public source.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePath

from discreet.config import Config, DataConfig
from discreet.config.data import WRITTEN
from discreet.config.weight_files import weight_files
from discreet.engines.flower.service import ServerFolder
from discreet.engines.local.job import prepare
from discreet.errors import ConfigurationError
from discreet.plan import Plan
from discreet.plan.terms import require_sums
from discreet.privacy.guarantee import Guarantee
from discreet.rounds.directory import write_durably
from discreet.silo.policy import Consortium, generate_key
from discreet.silo.policy.review import carried_out_mode

_REHEARSAL_DAYS = 7
# Room for attempts that the server says came to nothing: a silo that does not trust the server charges them.
_ROOM = 2.0


@dataclass(frozen=True, slots=True)
class ConsortiumFolder:
    """The files of a consortium.

    Attributes:
        path: holds ``consortium.key``, ``server/`` and ``silos/NAME/``.
    """

    path: Path

    @property
    def consortium_key(self) -> Path:
        """The private key that signs allow-lists."""
        return self.path / "consortium.key"

    @property
    def server(self) -> ServerFolder:
        """The aggregation server's folder."""
        return ServerFolder(self.path / "server")

    @property
    def silos(self) -> Path:
        """One folder for each silo."""
        return self.path / "silos"

    def silo(self, name: str) -> Path:
        """Returns one silo's folder."""
        return self.silos / name

    def policy(self, name: str) -> Path:
        """Returns one silo's policy."""
        return self.silo(name) / "policy.toml"


def rehearse(config: Config, path: Path) -> Plan:
    """Writes a consortium whose silos rehearse ``config`` on this machine, and returns the plan.

    Raises:
        ConfigurationError: if ``path`` is not empty, or the config cannot be carried out.
        PrivacyRefusal: if no proven guarantee meets the target.
    """
    if path.exists() and any(path.iterdir()):
        raise ConfigurationError(f"the folder must be new or empty; {path} holds files.")
    plan = prepare(config).plan
    require_sums(plan)
    folder = ConsortiumFolder(path)
    consortium = Consortium(generate_key(folder.consortium_key))
    keys = {}
    for name in plan.facts.silos:
        _require_folder_name(name)
        keys[name] = generate_key(folder.silo(name) / "identity.key").public_key
        text = _rehearsal_policy(name, consortium.public_key, plan, config)
        folder.silo(name).chmod(0o700)
        folder.policy(name).touch(mode=0o600)
        folder.policy(name).write_text(text, encoding="utf-8")
    folder.server.path.mkdir()
    plan.save(folder.server.plan)
    if config.model.pretrained is not None and config.model.pretrained.file is not None:
        file = _own_path(config.model.pretrained.file)
        shutil.copyfile(file, folder.server.weights(file.name))
    allow_list = consortium.sign(keys, serial=1).serialise()
    write_durably(folder.server.path / "allow-list.json", allow_list)
    return plan


def _rehearsed_source(source: str | Mapping[str, str], silo: str) -> str:
    """Returns a rehearsing silo's source: files by their full path, and code that the policy must name."""
    if not isinstance(source, str):
        if silo not in source:
            raise ConfigurationError(f"'data.source' must name a file for the silo {silo!r}; it names none.")
        return _rehearsed_source(source[silo], silo).removeprefix("plan:")
    scheme, colon, path = source.partition(":")
    if not colon:
        return "plan"
    if scheme in ("csv", "parquet", "npz"):
        path = f"{_own_path(path)}{'/' if path.endswith('/') else ''}"
    return f"plan:{scheme}:{path}"


def _written(data: DataConfig, silo: str) -> str:
    """Returns the policy's lines that say how the silo's files are written, where that is stated."""
    stated = {name: getattr(data, name) for name in WRITTEN}
    own = {name: one if isinstance(one, str) else (one or {}).get(silo) for name, one in stated.items()}
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in own.items() if value is not None)


def _weights(config: Config) -> str:
    """Returns the policy's line for a plan that names files of public weights on this machine."""
    named = {PurePath(path).name: path for path in weight_files(config).values()}
    paths = [str(_own_path(path)) for path in named.values()]
    return f"weights = {json.dumps(paths)}\n" if paths else ""


def _own_path(path: str) -> Path:
    return Path(os.path.expandvars(path)).resolve()


def _require_folder_name(name: str) -> None:
    if Path(name).name != name or name in (".", ".."):
        raise ConfigurationError(f"a silo's name must be usable as the name of a folder; got {name!r}.")


def _person(data: DataConfig) -> str:
    return "" if data.person is None else f"person = {json.dumps(data.person.column)}\n"


def _rehearsal_policy(name: str, consortium_key: bytes, plan: Plan, config: Config) -> str:
    """Returns a policy that allows exactly this plan, with room for attempts that come to nothing."""
    cost: Guarantee = plan.spent(plan.releases)
    epsilon, delta = _ROOM * cost.epsilon, _ROOM * cost.delta
    expires = (datetime.now(UTC) + timedelta(days=_REHEARSAL_DAYS)).date()
    aggregation = plan.aggregation
    seed = config.run.seed
    models = [f"{part.model.name}@sha256:{part.facts.model_digest}" for part in plan.every_part.values()]
    scheme, _, network = (config.data.transform or "").partition(":")
    models += [network] if scheme == "network" else []
    simulation = "" if seed is None else f"\n[simulation]\nseed = {seed}\n"
    return f"""# A rehearsal: this silo reads the plan's own public source, not records of its own.
silo = "{name}"
expires = {expires}

[consortium]
public_key = "{consortium_key.hex()}"

[data]
source = "{_rehearsed_source(config.data.source, name)}"
{_written(config.data, name)}{_person(config.data)}{_weights(config)}
[budget]
max_epsilon = {epsilon!r}
max_delta = {delta!r}
max_epsilon_per_training = {epsilon!r}
max_delta_per_training = {delta!r}

[require]
unit = "{plan.privacy.unit}"
most_silos = {1 if plan.data.person is None else plan.data.person.most_silos}
min_survivors = {plan.thresholds.min_survivors}
max_colluding = {plan.thresholds.max_colluding}
protocols = ["{aggregation.protocol}"]
modes = ["{carried_out_mode(plan)}"]
models = {json.dumps(models)}
accept_conditional = {str(bool(getattr(plan.privacy, "accept_assumptions", ()))).lower()}
{simulation}"""
