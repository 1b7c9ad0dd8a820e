"""Writes the sequence diagrams of docs/threat-model.md from the transition tables; ``--check`` only compares.

    python docs/secagg_diagrams.py [--check]

Nothing here knows the protocol: what a party sends is what the other party's table accepts next.
"""

from __future__ import annotations

import sys
from pathlib import Path

from discreet.secagg import Malicious, SemiHonest, SemiMalicious
from discreet.secagg.modes import Mode
from discreet.secagg.transitions import (
    Call,
    ClientState,
    ServerState,
    client_table,
    next_client_state,
    next_server_state,
    server_table,
)

DOCUMENT = Path(__file__).with_name("threat-model.md")
BEGIN, END = "<!-- diagrams: begin -->", "<!-- diagrams: end -->"
MODES: tuple[tuple[str, Mode], ...] = (
    ("Malicious server (`Malicious`)", Malicious()),
    ("Semi-honest server (`SemiHonest`)", SemiHonest()),
    ("Semi-honest server, one phase (`SemiHonest(one_phase=True)`)", SemiHonest(one_phase=True)),
    ("Client-chosen neighbours (`SemiMalicious`)", SemiMalicious()),
)


class Walk:
    """Both tables walked in step, from the start of a setup to the end of a round."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.server_moves, self.client_moves = server_table(mode), client_table(mode)
        self.server, self.client = ServerState.KEYS, ClientState.NEW
        self.lines = ["sequenceDiagram", "    participant C as client", "    participant S as server"]

    def upload(self) -> None:
        """The client sends what the server collects; the stage closes."""
        collected = [
            event for state, event in self.server_moves if state is self.server and event is not Call.CLOSE
        ]
        self.lines.append(f"    C->>S: {collected[0].__name__}")
        self.server = next_server_state(self.server_moves, self.server, Call.CLOSE)

    def download(self, call: Call | None = None) -> None:
        """The server sends what the client accepts here (a new round only when it begins one)."""
        accepted = [
            event
            for state, event in self.client_moves
            if state is self.client and not isinstance(event, Call)
        ]
        named = [event.__name__ for event in accepted]
        begins = call is Call.BEGIN
        event = next(
            one for one, name in zip(accepted, named, strict=True) if (name == "RoundStart") == begins
        )
        self.lines.append(f"    S->>C: {event.__name__}")
        self.client = next_client_state(self.client_moves, self.client, event)

    def run(self) -> list[str]:
        """Returns the diagram."""
        self.client = next_client_state(self.client_moves, self.client, Call.START)
        self.lines.append("    Note over C,S: setup, once per rounds_per_setup rounds")
        while self.server is not ServerState.READY:
            self.upload()
            self.download()
        self.lines.append("    Note over C,S: round")
        self.server = next_server_state(self.server_moves, self.server, Call.BEGIN)
        self.download(Call.BEGIN)
        self.client = next_client_state(self.client_moves, self.client, Call.SUBMIT)
        self.upload()
        optional = not self.mode.double_masks
        self.lines += ["    opt someone dropped out"] if optional else []
        while self.server is not ServerState.READY:
            self.download()
            self.upload()
        self.lines += ["    end"] if optional else []
        self.lines.append("    Note over S: sum of the survivors")
        return self.lines


def diagrams() -> str:
    """Returns the text between the markers."""
    parts = [f"### {title}\n\n```mermaid\n" + "\n".join(Walk(mode).run()) + "\n```" for title, mode in MODES]
    return f"{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}"


def updated(text: str) -> str:
    """Returns the document with fresh diagrams."""
    before, rest = text.split(BEGIN)
    return before + diagrams() + rest.split(END)[1]


def main() -> int:
    text = DOCUMENT.read_text()
    fresh = updated(text)
    if "--check" in sys.argv:
        if fresh != text:
            print(f"{DOCUMENT.name} is stale; run python docs/{Path(__file__).name}")
        return int(fresh != text)
    DOCUMENT.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
