"""Secure aggregation: integers modulo 2^b in, the exact sum of the survivors out, or a typed abort.

State machines without I/O (`ClientSession`, `ServerSession`) carry the protocols; `SumProtocol.open` drives
them in one process. This package knows nothing of privacy, models or networks. To read it, begin with

* `terms`, `modes`, `agreement`: what the parties agree on, and the inequalities that it must satisfy;
* `transitions`, `messages`: who may say what when, and the bytes of it;
* `client`, `server`: the state machines, each with the pure steps that it takes;
* `binding`, `journal`: what every key and signature is tied to, and why nothing happens twice;
* `ideal`, `bonawitz`, `bell`: the protocols; `run`: the driver in one process, a model for engines;
* `hazmat`: fields, sharing, masks and keys. docs/threat-model.md says what all this is good for.
"""

from __future__ import annotations

from discreet.secagg.agreement import Agreement
from discreet.secagg.bell import Bell
from discreet.secagg.bonawitz import Bonawitz
from discreet.secagg.client import ClientSession
from discreet.secagg.codes import AbortCode
from discreet.secagg.ideal import Ideal
from discreet.secagg.identity import AllowList, Identity
from discreet.secagg.journal import FileJournal, Journal, MemoryJournal
from discreet.secagg.modes import Malicious, SemiHonest, SemiMalicious, TrustModel, default_threshold
from discreet.secagg.pairwise import Speed
from discreet.secagg.protocol import SumProtocol, SumRun, validate_terms
from discreet.secagg.server import Accepted, Rejected, ServerSession, Verdict
from discreet.secagg.terms import ClientId, RoundTerms, Stage, SumOutcome, SumTerms

__all__ = [
    "AbortCode",
    "Accepted",
    "Agreement",
    "AllowList",
    "Bell",
    "Bonawitz",
    "ClientId",
    "ClientSession",
    "FileJournal",
    "Ideal",
    "Identity",
    "Journal",
    "Malicious",
    "MemoryJournal",
    "Rejected",
    "RoundTerms",
    "SemiHonest",
    "SemiMalicious",
    "ServerSession",
    "Speed",
    "Stage",
    "SumOutcome",
    "SumProtocol",
    "SumRun",
    "SumTerms",
    "TrustModel",
    "Verdict",
    "default_threshold",
    "validate_terms",
]
