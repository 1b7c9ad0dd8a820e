"""Every reader of what others wrote ends in its value or in its own kind of error, whatever the bytes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from discreet.config import load_config, parse_config
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.errors import ConfigurationError, LedgerError, PeerProtocolError
from discreet.plan.reading import parse_plan
from discreet.privacy.ledger import GENESIS, Completed, Intent, Line, Opened, parse_line
from discreet.privacy.wire import digest
from discreet.silo.policy import (
    Account,
    Policy,
    PolicyRefusal,
    SignedAllowList,
    load_policy,
    read_plan,
    review,
)
from discreet.silo.requests import Deliver, Joined, Propose, Refused, decode, encode
from discreet.verify import VerificationFailure
from discreet.verify.manifest import MANIFEST, Manifest, read_manifest
from discreet.verify.signature import SIGNATURE, RunSignature, read_signature

bounded = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

HOSTILE: list[Any] = [
    None, True, [], {}, "", "x", "\x00", "é", 0, -1, 2**63, 2**64, 10**30, 10**400, 1e308, float("inf"),
    float("nan"), 0.5, [[]], ["/bin/sh", "-c", "exit"], {"type": "float", "value": "nan"},
    {"type": "Repeated", "event": {"type": "Composed", "events": []}, "count": 10**18},
    "subprocess:Popen", "csv:/dev/zero", "residual:/dev/zero", "../..", "a" * 1000,
]  # fmt: skip
DEEP = [b"[" * 100_000, b'{"a":' * 5_000 + b"1" + b"}" * 5_000, b"[" * 100 + b"]" * 100]
NUMBERS = [b"9" * 5_000, b"1e400", b"-Infinity", b'"\\ud800"']


def paths(value: Any, here: Any = ()) -> Iterator[Any]:
    """Yields the path of every part of a JSON value."""
    yield here
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(part, (*here, key))


def replaced(value: Any, path: Any, part: Any) -> Any:
    """Returns a copy with another part at ``path``."""
    if not path:
        return part
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], part)
    return copy


def check(reader: Callable[..., Any] | partial[Any], error: Any, data: bytes | Path) -> None:
    """Reads and accepts a value or the one kind of error."""
    with contextlib.suppress(error):
        reader(data)


def reviewed(policy: Policy, document: bytes) -> None:
    review(read_plan(document), policy, Account({}), today=date(2026, 1, 1), approved=frozenset())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> ConsortiumFolder:
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
    path = tmp_path_factory.mktemp("decoders") / "c"
    rehearse(config, path)
    return ConsortiumFolder(path)


@pytest.fixture(scope="module")
def plan(folder: ConsortiumFolder) -> dict[str, Any]:
    return json.loads((folder.server.path / "plan.json").read_bytes())["plan"]


@pytest.fixture(scope="module")
def policy(folder: ConsortiumFolder) -> Policy:
    return load_policy(folder.policy("cleveland"))


readers = pytest.mark.parametrize(
    ("reader", "error"),
    [
        (decode, PeerProtocolError),
        (SignedAllowList.parse, PolicyRefusal),
        (parse_plan, ConfigurationError),
        (partial(parse_line, sequence=0, previous=GENESIS), LedgerError),
    ],
    ids=["request", "allow-list", "plan", "ledger line"],
)


@readers
@bounded
@given(data=st.binary(max_size=300) | st.sampled_from([*DEEP, *NUMBERS]))
def test_any_bytes(
    reader: Callable[..., Any] | partial[Any],
    error: type[ConfigurationError] | type[LedgerError] | type[PeerProtocolError] | type[PolicyRefusal],
    data: bytes,
) -> None:
    check(reader, error, data)
    check(reader, error, b"dsr1" + len(data).to_bytes(4, "little") + data)


@pytest.mark.parametrize(
    "message",
    [
        Propose(1, bytes(32), b"plan", b"list"),
        Deliver((b"a", b"bc"), b"model"),
        Joined("north", False, b"keys"),
        Refused("north", "budget", "no"),
    ],
)
@bounded
@given(data=st.data(), value=st.sampled_from(HOSTILE))
def test_any_header_of_a_message(message: Any, data: Any, value: Any) -> None:
    raw = encode(message)
    size = int.from_bytes(raw[4:8], "little")
    header = json.loads(raw[8 : 8 + size])
    path = data.draw(st.sampled_from(list(paths(header))))
    forged = json.dumps(replaced(header, path, value)).encode()
    check(decode, PeerProtocolError, b"dsr1" + len(forged).to_bytes(4, "little") + forged + raw[8 + size :])


@bounded
@given(data=st.data(), value=st.sampled_from(HOSTILE))
def test_any_field_of_an_allow_list(folder: ConsortiumFolder, data: Any, value: Any) -> None:
    document = json.loads((folder.server.path / "allow-list.json").read_bytes())
    path = data.draw(st.sampled_from(list(paths(document))))
    forged = json.dumps(replaced(document, path, value)).encode()
    check(lambda raw: SignedAllowList.parse(raw).verified(bytes(32)), PolicyRefusal, forged)


@pytest.mark.parametrize(
    "entry", [Opened("0" * 64, "secure"), Intent(1, "m"), Completed(1, ("a",), "t", "m")]
)
@bounded
@given(data=st.data(), value=st.sampled_from(HOSTILE))
def test_any_field_of_a_ledger_line(entry: Completed | Intent | Opened, data: Any, value: Any) -> None:
    line = json.loads(Line(0, GENESIS, entry).serialise())
    path = data.draw(st.sampled_from(list(paths(line))))
    forged = json.dumps(replaced(line, path, value)).encode()
    check(partial(parse_line, sequence=0, previous=GENESIS), LedgerError, forged)


@pytest.mark.parametrize(
    "entry", [Intent(cast(Any, "1"), "m"), Intent(True, "m"), Completed(1, cast(Any, ("a", 2)), "t", "m")]
)
def test_a_ledger_line_of_other_types_is_none_although_its_digest_fits(entry: Completed | Intent) -> None:
    with pytest.raises(LedgerError, match="a known entry"):
        parse_line(Line(0, GENESIS, entry).serialise().rstrip(), sequence=0, previous=GENESIS)


@bounded
@given(data=st.data(), value=st.sampled_from(HOSTILE))
def test_any_field_of_a_plan(plan: dict[str, Any], policy: Policy, data: Any, value: Any) -> None:
    """With the digest that fits, where a digest can be taken at all: what a lying server would send."""
    path = data.draw(st.sampled_from([found for found in paths(plan) if found[:1] != ("config",)]))
    forged = replaced(plan, path, value)
    try:
        fitting = digest(forged)
    except ValueError:
        fitting = "0" * 64
    document = json.dumps({"digest": fitting, "plan": forged}).encode()
    check(parse_plan, ConfigurationError, document)
    check(partial(reviewed, policy), PolicyRefusal, document)


@bounded
@given(data=st.data(), value=st.sampled_from([item for item in HOSTILE if item not in (10**30, 2**63)]))
def test_any_field_of_a_plans_config(plan: dict[str, Any], policy: Policy, data: Any, value: Any) -> None:
    path = data.draw(st.sampled_from([found for found in paths(plan) if found[:1] == ("config",)]))
    forged = replaced(plan, path, value)
    try:
        fitting = digest(forged)
    except ValueError:
        fitting = "0" * 64
    document = json.dumps({"digest": fitting, "plan": forged}).encode()
    check(parse_plan, ConfigurationError, document)
    check(partial(reviewed, policy), PolicyRefusal, document)


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        (MANIFEST, Manifest("0" * 64, {"plan.json": "0" * 64}).serialise()),
        (SIGNATURE, RunSignature("0" * 64, "0" * 128).serialise()),
    ],
)
@bounded
@given(data=st.data(), value=st.sampled_from(HOSTILE))
def test_any_field_of_manifest_and_signature(
    tmp_path: Path, name: str, valid: bytes, data: Any, value: Any
) -> None:
    document = json.loads(valid)
    path = data.draw(st.sampled_from(list(paths(document))))
    for forged in (json.dumps(replaced(document, path, value)).encode(), *DEEP, *NUMBERS):
        (tmp_path / name).write_bytes(forged)
        check({MANIFEST: read_manifest, SIGNATURE: read_signature}[name], VerificationFailure, tmp_path)


@pytest.mark.parametrize("read", [load_config, load_policy])
@bounded
@given(text=st.text(max_size=200))
@example("x = " + "[" * 5_000)
@example("x = " + "[" * 100 + "]" * 100)
@example("x = " + "9" * 5_000)
@example("x = " + "9" * 400)
@example("x = 18446744073709551616")
@example("a." * 300 + "b = 1")
@example('name = "\\udc00"')
def test_any_text_of_a_config_or_policy(tmp_path: Path, read: Callable[..., Any], text: str) -> None:
    path = tmp_path / "file.toml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    check(read, ConfigurationError, path)
