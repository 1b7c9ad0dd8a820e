"""The table ``aggregation``: how integers are summed, and whom the sum must withstand."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.kinds.fields import Section


class AggregationConfig(Section):
    """How integers are summed, and whom the sum must withstand.

    Attributes:
        protocol: ``ideal`` is an oracle for tests and research: it protects nothing from the server. ``none``
            is what a local schedule means: no sum is secret, and every silo has all of the noise.
        mode: what the server may do: lie (``malicious``), or only look (``semi-honest``). ``one-phase`` is
            ``semi-honest`` with a single exchange in a round in which every silo answers in time; besides, it
            takes the server's word that it discards late answers unread, or it could open them.
        min_survivors: fewer, and no silo helps to unmask; left out, every silo must survive.
        max_colluding: silos that may share their noise and keys with the server.
        bits: width of the ring; "auto" is the smallest in which no sum can wrap around.
        rotation: spread every update evenly by a public random rotation, for a narrower ring; a sum then
            wraps around with probability at most 2^-40 over the whole training.
        noise_first: add real Gaussian noise before the one rounding instead of integers after it. Rounding
            then costs no sensitivity, so that the grid is far coarser and messages are a third shorter; for
            rounded-gaussian.
    """

    protocol: Literal["bonawitz", "bell", "ideal", "none"] = "bonawitz"
    mode: Literal["malicious", "semi-honest", "one-phase"] = "malicious"
    min_survivors: Annotated[int, Field(ge=2)] | None = None
    max_colluding: Annotated[int, Field(ge=0)] = 0
    bits: Annotated[int, Field(ge=8, le=62)] | Literal["auto"] = "auto"
    rotation: bool = False
    noise_first: bool = False
