"""Everything that reads what another party wrote: how to call it, what it may end in, and valid inputs."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from safetensors.numpy import save

from discreet.config import load_config, parse_config
from discreet.config.federation import federation_of
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.errors import (
    ConfigurationError,
    DataError,
    DiscreetError,
    LedgerError,
    PeerProtocolError,
    ProtocolAbort,
)
from discreet.models import flatten, model_file
from discreet.models.public_weights import PublicWeights
from discreet.models.residual import FrozenResidual
from discreet.plan.public_model import public_model
from discreet.plan.reading import parse_plan
from discreet.privacy.ledger import (
    GENESIS,
    Completed,
    Intent,
    LedgerWriter,
    Line,
    Opened,
    Spending,
    parse_line,
    read_ledger,
)
from discreet.privacy.wire import digest
from discreet.released import load_model
from discreet.rounds import RunDirectory, origin_of
from discreet.secagg import AllowList, Bonawitz, FileJournal, codec
from discreet.secagg.journal import Deed
from discreet.secagg.transitions import ServerState
from discreet.silo.policy import Account, PolicyRefusal, SignedAllowList, load_policy, read_plan, review
from discreet.silo.requests import Deliver, Hello, Joined, Propose, Refused, decode, encode
from discreet.verify import VerificationFailure
from discreet.verify.manifest import MANIFEST, REQUIRED, Manifest, read_manifest
from discreet.verify.signature import SIGNATURE, RunSignature, read_signature

Json = Any


@dataclass(frozen=True)
class Form:
    """How a document holds JSON: taken out of its bytes, and put back so that what surrounds it fits."""

    taken: Callable[[bytes], Json] = json.loads
    put: Callable[[bytes, Json], bytes] = lambda _, value: json.dumps(value).encode()


@dataclass(frozen=True)
class Target:
    """One reader.

    Attributes:
        read: takes any bytes.
        refuses: the only error that it may end in.
        seeds: inputs that it accepts, from which others are made.
        form: how its inputs hold JSON, if they do.
    """

    name: str
    read: Callable[[bytes], object]
    refuses: type[Exception]
    seeds: tuple[bytes, ...]
    form: Form | None = None


# --- messages of secure aggregation -------------------------------------------------------------------------


@cache
def _secagg() -> ModuleType:
    """Returns the small world of the tests of secure aggregation."""
    path = Path(__file__).parents[1] / "secagg" / "conftest.py"
    spec = importlib.util.spec_from_file_location("fuzzed_secagg", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzzed_secagg"] = module  # a dataclass looks its module up while it is made
    spec.loader.exec_module(module)
    return module


@dataclass
class Stage:
    """Five clients and a server after some stages, and what either side says next."""

    world: Any
    replies: Mapping[str, bytes]
    outgoing: Mapping[str, bytes] = field(default_factory=dict)


def _at(stage: int) -> Stage:
    """Plays an honest epoch up to a stage; the same bytes every time."""
    tests = _secagg()
    terms = tests.make_terms()
    keys = {name: one.public_key for name, one in tests.make_identities(terms.clients).items()}
    world = tests.World(Bonawitz().agreement(terms, AllowList(keys)))
    replies, outgoing = world.advertise(), {}
    for _ in range(stage):
        world.upload(replies)
        outgoing = world.server.close_stage()
        replies = world.deliver(outgoing)
        if world.server.state is ServerState.READY:
            outgoing = world.begin()
            replies = world.deliver(outgoing)
            world.gone.add("client-4")
            replies.pop("client-4", None)
    return Stage(world, replies, outgoing)


STAGES = range(4)


def _client_hears(stage: int, data: bytes) -> None:
    _next_words(stage)[0].receive(data)


def _next_words(stage: int) -> tuple[Any, bytes]:
    """Returns a client at a stage and the true message that it waits for."""
    at = _at(stage)
    at.world.upload(at.replies)
    outgoing = at.world.server.close_stage()
    if at.world.server.state is ServerState.READY and outgoing:
        at.world.deliver(outgoing)
        outgoing = at.world.begin()
    return at.world.clients["client-0"], outgoing.get("client-0", b"")


def _server_hears(stage: int, data: bytes) -> None:
    """The server takes one client's words, and the true ones of the others, and goes on."""
    at = _at(stage)
    at.world.server.receive("client-0", data)
    at.world.upload({name: said for name, said in at.replies.items() if name != "client-0"})
    at.world.server.close_stage()


def _sums() -> Iterator[Target]:
    stages = [_at(stage) for stage in STAGES]
    agreed = stages[0].world.agreement.digest
    said = tuple(data for at in stages for data in (*at.replies.values(), *at.outgoing.values()))
    yield Target("codec", lambda data: codec.decode(data, agreed, 1), PeerProtocolError, said)
    for stage in STAGES:
        truth = _next_words(stage)[1]
        yield Target(f"client-{stage}", partial(_client_hears, stage), ProtocolAbort, (truth,))
        reply = stages[stage].replies.get("client-0", b"")
        yield Target(f"server-{stage}", partial(_server_hears, stage), ProtocolAbort, (reply,))


# --- documents ----------------------------------------------------------------------------------------------


@cache
def _folder() -> ConsortiumFolder:
    """Returns a rehearsed consortium, made once, in a folder that the process leaves to the system."""
    config = parse_config(
        {
            "data": {"source": "heart-disease", "record_capacity": 400},
            "training": {
                "rounds": 2,
                "local": {"kind": "stable-steps", "learning_rate": 0.1, "records_per_step": 16},
            },
            "privacy": {"epsilon": 1.0, "delta": 1e-5},
        }
    )
    path = Path(tempfile.mkdtemp(prefix="discreet-fuzz-")) / "consortium"
    rehearse(config, path)
    return ConsortiumFolder(path)


def _folder_of(read: Callable[[Path], object], path: Path) -> None:
    read(path.parent)


def _from_file(read: Callable[[Path], object], name: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        read(path)


def _header(raw: bytes) -> Json:
    return json.loads(raw[8 : 8 + int.from_bytes(raw[4:8], "little")])


def _with_header(raw: bytes, value: Json) -> bytes:
    rest = raw[8 + int.from_bytes(raw[4:8], "little") :]
    header = json.dumps(value).encode()
    return b"dsr1" + len(header).to_bytes(4, "little") + header + rest


def _with_digest(_: bytes, value: Json) -> bytes:
    """Gives a plan the digest that fits it, where one can be taken: what a lying server would send."""
    if isinstance(value, dict):
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            value = value | {"digest": digest(value.get("plan"))}
    return json.dumps(value).encode()


def _about(raw: bytes) -> Json:
    """Takes what a model file says of itself out of its metadata."""
    return json.loads(_model_header(raw)["__metadata__"]["discreet"])


def _model_header(raw: bytes) -> Json:
    return json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])


def _with_about(raw: bytes, value: Json) -> bytes:
    """Puts it back, with the digest that fits the plan in it."""
    if isinstance(value, dict) and isinstance(value.get("plan"), dict):
        value = value | {"plan": json.loads(_with_digest(raw, value["plan"]))}
    rest = raw[8 + int.from_bytes(raw[:8], "little") :]
    header = json.dumps({**_model_header(raw), "__metadata__": {"discreet": json.dumps(value)}}).encode()
    return len(header).to_bytes(8, "little") + header + rest


def _model(document: bytes) -> bytes:
    """The file of a model of the plan that is there, which was not trained."""
    plan = parse_plan(document)
    model, nothing = public_model(plan), Spending(completed=(), lost=(), pending=None, aborted=0)
    return model_file(model, flatten(model), origin_of(plan, nothing, (), seeded=True).text())


def _documents() -> Iterator[Target]:
    server = _folder().server.path
    plan, listed = (server / "plan.json").read_bytes(), (server / "allow-list.json").read_bytes()
    messages = (
        Hello(), Propose(1, bytes(32), b"plan", b"list"), Deliver((b"a", b"bc"), b"model"),
        Joined("north", False, b"keys"), Refused("north", "budget", "no"),
    )  # fmt: skip
    header = Form(_header, _with_header)
    yield Target("request", decode, PeerProtocolError, tuple(encode(one) for one in messages), header)
    policy = load_policy(_folder().policy("cleveland"))

    def reviewed(data: bytes) -> None:
        review(read_plan(data), policy, Account({}), today=date(2026, 1, 1), approved=frozenset())

    fitting = Form(put=_with_digest)
    yield Target("plan", parse_plan, ConfigurationError, (plan,), fitting)
    model = partial(_from_file, load_model, "model.safetensors")
    yield Target("model", model, ConfigurationError, (_model(plan),), Form(_about, _with_about))
    yield Target("review", reviewed, PolicyRefusal, (plan,), fitting)
    key = bytes.fromhex(policy.consortium.public_key)
    yield Target(
        "allow-list", lambda data: SignedAllowList.parse(data).verified(key), PolicyRefusal, (listed,), Form()
    )
    entries = (Opened("0" * 64, "secure"), Intent(1, "m"), Completed(1, ("a",), "t", "m"))
    lines = tuple(Line(0, GENESIS, entry).serialise().rstrip() for entry in entries)
    yield Target("ledger-line", partial(parse_line, sequence=0, previous=GENESIS), LedgerError, lines, Form())
    for name, read, valid in (
        (MANIFEST, read_manifest, Manifest("0" * 64, dict.fromkeys(REQUIRED, "0" * 64)).serialise()),
        (SIGNATURE, read_signature, RunSignature("0" * 64, "0" * 128).serialise()),
    ):
        of_folder = partial(_from_file, partial(_folder_of, read), name)
        yield Target(name.removesuffix(".json"), of_folder, VerificationFailure, (valid,), Form())
    text = _folder().policy("cleveland").read_bytes()
    yield Target("policy", partial(_from_file, load_policy, "policy.toml"), ConfigurationError, (text,))
    heart = (Path(__file__).parents[1] / "support" / "tuned_heart.toml").read_bytes()
    yield Target("config", partial(_from_file, load_config, "config.toml"), ConfigurationError, (heart,))


# --- files --------------------------------------------------------------------------------------------------

_CSV = b"age,smoker,sick\n41,no,1\n52,yes,0\n,no,1\n"


_ARRAYS: Mapping[str, object] = {"num_classes": 3, "record_capacity": 10}
_TABLE: Mapping[str, object] = {
    "label": "sick",
    "ranges": {"age": [0.0, 120.0]},
    "categories": {"smoker": ["no", "yes"]},
    "record_capacity": 10,
}


def _records(kind: str, table: Mapping[str, object], path: Path) -> None:
    """Loads a silo's own file by the rules of a plan."""
    config = parse_config(
        {
            "data": {"source": f"{kind}:{path}", **table},
            "training": {"rounds": 1, "local": {"kind": "single-step"}},
            "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip_norm": 0.5},
        }
    )
    federation_of(config.data, silo="north")


def written(save_arrays: Callable[..., None], *alone: np.ndarray, **named: np.ndarray) -> bytes:
    """Returns what one of NumPy's writers writes."""
    file = io.BytesIO()
    save_arrays(file, *alone, **named)
    return file.getvalue()


def _journal() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        journal = FileJournal(Path(folder) / "j")
        journal.claim(bytes(32), Deed.SEND_MASKED, 1)
        return (Path(folder) / "j").read_bytes()


def _ledger() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        with LedgerWriter.open(Path(folder) / "l") as writer:
            writer.append(Opened("0" * 64, "secure"))
            writer.append(Intent(1, "m"))
        return (Path(folder) / "l").read_bytes()


def _files() -> Iterator[Target]:
    table = partial(_from_file, partial(_records, "csv", _TABLE), "table.csv")
    yield Target("csv", table, DataError, (_CSV,))
    arrays = partial(_from_file, partial(_records, "npz", _ARRAYS), "arrays.npz")
    plain: dict[str, Any] = {"x": np.ones((6, 2), np.float32), "y": np.arange(6) % 3}
    seeds = (written(np.savez, **plain), written(np.savez_compressed, **plain), written(np.save, plain["x"]))
    yield Target("npz", arrays, DataError, seeds)
    network = {"conv1.weight": np.ones((2, 3, 3, 3)), "layer3.0.conv1.weight": np.ones((2, 2, 3, 3))}
    residual = partial(
        _from_file, lambda path: FrozenResidual.load(PublicWeights(str(path), None)), "weights.npz"
    )
    weights = (written(np.savez, **network), written(np.save, plain["x"]))
    yield Target("residual", residual, ConfigurationError, weights)
    yield Target("journal", partial(_from_file, FileJournal, "journal.bin"), ProtocolAbort, (_journal(),))
    yield Target("ledger", partial(_from_file, read_ledger, "ledger.jsonl"), LedgerError, (_ledger(),))
    about = {"release": "1", "survivors": '["a"]', "transcript": "t"}
    state = save({"parameters": np.zeros(3)}, about)
    saved = partial(_from_file, lambda path: RunDirectory(path.parent).load_state(), "state.safetensors")
    yield Target("state", saved, LedgerError, (state,))
    measured = partial(_from_file, lambda path: RunDirectory(path.parent).read_metrics(), "metrics.jsonl")
    yield Target("metrics", measured, DiscreetError, (b'{"accuracy": 0.5, "release": 1}\n',), Form())


def targets() -> tuple[Target, ...]:
    """Returns every reader."""
    return (*_sums(), *_documents(), *_files())
