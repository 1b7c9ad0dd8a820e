"""The published vectors: this version still computes and reads the very same bytes."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.secagg import codec
from discreet.secagg.hazmat import shamir
from discreet.secagg.packing import add_packed
from discreet.secagg.ring import word_type

FOLDER = Path(__file__).parent / "vectors"


def stored(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text())


@pytest.fixture(scope="module")
def computed() -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("make_vectors", FOLDER / "make_vectors.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script.all_vectors()


@pytest.mark.parametrize("name", ["masks", "packed", "shares", "session", "sparse_session"])
def test_this_version_computes_the_published_bytes(name: str, computed: dict[str, Any]) -> None:
    assert computed[name] == stored(name)


def test_packed_vectors_unpack() -> None:
    for case in stored("packed"):
        total = np.zeros(len(case["values"]), dtype=word_type(case["bits"]))
        add_packed(total, bytes.fromhex(case["packed"]), case["bits"])
        assert total.tolist() == case["values"]


def test_shares_recover() -> None:
    for case in stored("shares"):
        rows = [shamir.to_symbols(bytes.fromhex(share)) for share in case["shares"][-case["threshold"] :]]
        points = np.array(case["points"][-case["threshold"] :], dtype=np.uint16)
        assert shamir.to_bytes(shamir.recover(np.stack(rows), points)).hex() == case["secret"]


@pytest.mark.parametrize(
    ("name", "own"), [("session", {"KeyList", "Confirm", "ConfirmSet"}), ("sparse_session", {"KeyPaths"})]
)
def test_session_messages_are_canonical_and_add_up(name: str, own: set[str]) -> None:
    session = stored(name)
    digest = bytes.fromhex(session["agreement"])
    kinds = []
    for entry in session["messages"]:
        data = bytes.fromhex(entry["bytes"])
        message = codec.decode(data, digest, 1)
        assert codec.encode(message, digest, 1) == data
        kinds.append(type(message).__name__)
    assert {"Advertise", "SealedShares", "MaskedInput", "UnmaskShares"} | own <= set(kinds)
    survivors = list(session["inputs"].values())[:-1]
    assert session["survivors"] == list(range(len(survivors))), "all but the last"
    assert session["total"] == [int(value) % (1 << 20) for value in np.sum(survivors, axis=0)]
