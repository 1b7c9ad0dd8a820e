"""Writes the sequence diagrams of docs/threat-model.md from the transition tables; ``--check`` only compares.

    python docs/secagg_diagrams.py [--check]

Nothing here knows the protocol: what a party sends is what the other party's table accepts next.
"""

from __future__ import annotations

import sys
from pathlib import Path

from discreet.secagg import Malicious, SemiHonest, SemiMalicious
from discreet.secagg.messages import RoundStart
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
# The last says whether keys are shown under a root (ADR 45).
MODES: tuple[tuple[str, Mode, bool], ...] = (
    ("Malicious server (`Malicious`)", Malicious(), False),
    ("Semi-honest server (`SemiHonest`)", SemiHonest(), False),
    ("Semi-honest server, one phase (`SemiHonest(one_phase=True)`)", SemiHonest(one_phase=True), False),
    ("Semi-honest server, sparse graph (`Bell(SemiHonest())`)", SemiHonest(), True),
    ("Client-chosen neighbours (`SemiMalicious`)", SemiMalicious(), False),
)


class Walk:
    """Both tables walked in step, from the start of a setup to the end of a round."""

    def __init__(self, mode: Mode, shows_paths: bool) -> None:
        self.mode = mode
        self.server_moves = server_table(mode)
        self.client_moves = client_table(mode, shows_paths=shows_paths)
        self.server, self.client = ServerState.KEYS, ClientState.NEW
        self.lines = ["sequenceDiagram", "    participant C as client", "    participant S as server"]

    def upload(self, closing: Call = Call.CLOSE) -> None:
        """The client sends what the server collects; the stage closes."""
        collected = [
            event
            for state, event in self.server_moves
            if state is self.server and not isinstance(event, Call)
        ]
        self.lines.append(f"    C->>S: {collected[0].__name__}")
        self.server = next_server_state(self.server_moves, self.server, closing)

    def download(self, call: Call | None = None) -> None:
        """The server sends what the client accepts here (a new round only when it begins one)."""
        accepted = [
            event
            for state, event in self.client_moves
            if state is self.client and not isinstance(event, Call)
        ]
        fitting = [event for event in accepted if (event is RoundStart) == (call is Call.BEGIN)]
        if len(fitting) > 1:  # with shares to collect next, it is the message that clients answer by them
            unmasks = self.server is ServerState.UNMASK
            fitting = [
                event
                for event in fitting
                if (self.client_moves[self.client, event] is ClientState.READY) == unmasks
            ]
        event = fitting[0]
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
        masking = self.server
        self.upload()
        if self.server_moves[masking, Call.CLOSE] is self.server_moves[masking, Call.CLOSE_WHOLE]:
            self.unmask()
        else:
            self.branches(masking)
        self.lines.append("    Note over S: sum of the survivors")
        return self.lines

    def branches(self, masking: ServerState) -> None:
        """Shows the end of a round in which everybody's input is there beside that of one with dropouts."""
        missing, masked = self.server, self.client
        self.server = self.server_moves[masking, Call.CLOSE_WHOLE]
        if self.server is ServerState.READY:
            self.lines.append("    opt someone dropped out")
        else:
            self.lines.append("    alt everybody's input is there")
            self.unmask()
            self.lines.append("    else someone dropped out")
        self.server, self.client = missing, masked
        self.unmask()
        self.lines.append("    end")

    def unmask(self) -> None:
        """What is left of a round once the stage of masked inputs is closed."""
        while self.server is not ServerState.READY:
            self.download()
            self.upload()


def diagrams() -> str:
    """Returns the text between the markers."""
    parts = [
        f"### {title}\n\n```mermaid\n" + "\n".join(Walk(mode, shows_paths).run()) + "\n```"
        for title, mode, shows_paths in MODES
    ]
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
