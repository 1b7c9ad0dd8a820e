"""The server's half: a state machine without I/O, and the pure steps that it takes."""

from __future__ import annotations

from discreet.secagg.server.session import Accepted, Rejected, ServerSession, Verdict

__all__ = ["Accepted", "Rejected", "ServerSession", "Verdict"]
