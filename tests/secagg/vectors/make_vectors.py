"""Writes the test vectors of this folder: ``python tests/secagg/vectors/make_vectors.py``.

They pin what this version computes, so that another implementation, machine or version can be compared
byte by byte. That the parts are right is shown elsewhere: cipher, key agreement and hash by published vectors
(unit/test_prg.py, unit/test_keys.py), the field by schoolbook arithmetic (unit/test_field.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from discreet.randomness import SeededRandom
from discreet.secagg import (
    Agreement,
    AllowList,
    ClientSession,
    Identity,
    Malicious,
    MemoryJournal,
    RoundTerms,
    SemiHonest,
    ServerSession,
    SumTerms,
)
from discreet.secagg.graph import CompleteGraph, GraphRule, HararyGraph
from discreet.secagg.hazmat import shamir
from discreet.secagg.hazmat.prg import add_masks
from discreet.secagg.modes import Mode
from discreet.secagg.packing import pack
from discreet.secagg.transitions import ClientState, ServerState

FOLDER = Path(__file__).parent


def masks() -> list[dict[str, Any]]:
    """Mask words of a key, for every word size."""
    found = []
    for key in (bytes(32), bytes(range(32)), b"\xff" * 32):
        for dtype in ("<u2", "<u4", "<u8"):
            words = np.zeros(6, dtype=dtype)
            add_masks(words, [key], [])
            found.append({"key": key.hex(), "word": dtype, "mask": [int(word) for word in words]})
    return found


def packed() -> list[dict[str, Any]]:
    """Packed vectors at several widths."""
    found = []
    for bits in (8, 12, 16, 20, 32, 40, 62):
        values = [(1 << bits) - 1, 0, 1, (1 << bits) // 3, (1 << (bits - 1))]
        found.append(
            {"bits": bits, "values": values, "packed": pack(np.array(values, dtype="<u8"), bits).hex()}
        )
    return found


def shares() -> list[dict[str, Any]]:
    """Shares of a secret whose coefficients come from a seed, and the polynomial's value elsewhere."""
    found = []
    for threshold, points in ((1, [1]), (2, [1, 2, 3]), (3, [1, 7, 65535, 300])):
        secret = bytes(range(32))
        rows = shamir.share(
            shamir.to_symbols(secret), np.array(points, dtype=np.uint16), threshold, SeededRandom(threshold)
        )
        found.append(
            {
                "secret": secret.hex(),
                "threshold": threshold,
                "points": points,
                "seed": threshold,
                "shares": [shamir.to_bytes(row).hex() for row in rows],
            }
        )
    return found


def session(mode: Mode, graph: GraphRule, *names: str) -> dict[str, object]:
    """All messages of a session: one round, and the client named west drops out."""
    threshold = 3 if mode.confirms else 2
    terms = SumTerms(b"\x01" * 32, names, threshold, 3, 1, 20, 5, b"\x02" * 32)
    identities = {name: Identity.generate(SeededRandom(1).derive(name)) for name in names}
    allow_list = AllowList({name: identity.public_key for name, identity in identities.items()})
    agreement = Agreement(terms, mode, graph, 1, allow_list)
    server = ServerSession(agreement, 1)
    clients = {
        name: ClientSession(
            agreement,
            name,
            1,
            identity=identities[name],
            randomness=SeededRandom(2).derive(name),
            journal=MemoryJournal(),
        )
        for name in names
    }
    inputs = {name: np.array([number, -number, 0, 524287, -524288]) for number, name in enumerate(names)}
    log: list[dict[str, str]] = []

    def upload(name: str, data: bytes) -> None:
        log.append({"from": name, "to": "server", "bytes": data.hex()})
        server.receive(name, data)

    def download(outgoing: dict[str, bytes], gone: set[str]) -> dict[str, bytes]:
        for name, data in outgoing.items():
            log.append({"from": "server", "to": name, "bytes": data.hex()})
            if name in gone:
                continue
            reply = clients[name].receive(data)
            if clients[name].state is ClientState.INVITED:
                reply = clients[name].submit(inputs[name])
            if reply is not None:
                upload(name, reply)
        return server.close_stage() if server.state is not ServerState.READY else {}

    for name in names:
        upload(name, clients[name].start())
    outgoing = server.close_stage()
    while outgoing:
        outgoing = download(outgoing, set())
    outgoing = server.begin_round(RoundTerms(7, 1, b"\x03" * 32), names)
    while outgoing:
        outgoing = download(outgoing, {"west"})
    result = server.result()
    return {
        "agreement": agreement.digest.hex(),
        "identities": {name: identity.public_key.hex() for name, identity in identities.items()},
        "inputs": {name: vector.tolist() for name, vector in inputs.items()},
        "messages": log,
        "total": result.total.tolist(),
        "survivors": list(result.survivors),
        "transcript": result.transcript.hex(),
    }


def all_vectors() -> dict[str, object]:
    """Everything, by file name."""
    sessions = {
        "session": session(Malicious(), CompleteGraph(), "north", "east", "south", "west"),
        "sparse_session": session(
            SemiHonest(), HararyGraph(4), "north", "east", "south", "up", "down", "west"
        ),
    }
    return {"masks": masks(), "packed": packed(), "shares": shares(), **sessions}


if __name__ == "__main__":
    for name, content in all_vectors().items():
        (FOLDER / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
