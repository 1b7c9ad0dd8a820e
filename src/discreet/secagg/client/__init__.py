"""The client's half: a state machine without I/O, and the pure steps that it takes."""

from __future__ import annotations

from discreet.secagg.client.session import ClientSession

__all__ = ["ClientSession"]
