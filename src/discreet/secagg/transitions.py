"""The legal moves of client and server as data: (state, event) -> state. What is not listed is refused.

Events are the classes of `discreet.secagg.messages` that arrive, and the local calls of `Call`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from discreet.errors import LocalProtocolError, PeerProtocolError
from discreet.secagg.codes import AbortCode
from discreet.secagg.messages import (
    Advertise,
    Choices,
    Confirm,
    ConfirmSet,
    DeliveredShares,
    KeyList,
    KeyPaths,
    MaskedInput,
    Message,
    NeighborChoice,
    RoundStart,
    SealedShares,
    SurvivorSet,
    UnmaskShares,
)
from discreet.secagg.modes import Mode


class Call(Enum):
    """What the owner of a session does to it."""

    START = "start"
    SUBMIT = "submit"
    BEGIN = "begin round"
    CLOSE = "close stage"
    CLOSE_WHOLE = "close stage with nobody missing"


class ClientState(Enum):
    """Where a client is."""

    NEW = "new"
    ADVERTISED = "advertised"
    CHOSEN = "neighbours chosen"
    SHARED = "shared"
    READY = "ready"
    INVITED = "invited"
    MASKED = "masked"
    CONFIRMED = "confirmed"
    ABORTED = "aborted"


class ServerState(Enum):
    """Where the server is."""

    KEYS = "collecting keys"
    CHOICES = "collecting choices"
    SHARES = "collecting shares"
    READY = "ready"
    MASKED = "collecting masked inputs"
    CONFIRMS = "collecting confirmations"
    UNMASK = "collecting unmask shares"
    ABORTED = "aborted"


Event = type[Message] | Call
ClientTable = Mapping[tuple[ClientState, Event], ClientState]
ServerTable = Mapping[tuple[ServerState, Event], ServerState]


def client_table(mode: Mode, *, shows_paths: bool = False) -> ClientTable:
    """Returns the moves of a client; with ``shows_paths`` it learns its neighbours' keys only (ADR 45)."""
    table: dict[tuple[ClientState, Event], ClientState] = {
        (ClientState.NEW, Call.START): ClientState.ADVERTISED,
        (ClientState.SHARED, DeliveredShares): ClientState.READY,
        (ClientState.READY, RoundStart): ClientState.INVITED,
        (ClientState.INVITED, Call.SUBMIT): ClientState.MASKED,
        # A server may give a round up. A new invitation needs a later slot, so no input is ever masked twice.
        (ClientState.INVITED, RoundStart): ClientState.INVITED,
        (ClientState.MASKED, RoundStart): ClientState.INVITED,
    }
    if mode.chooses_neighbors:
        table[ClientState.ADVERTISED, KeyList] = ClientState.CHOSEN
        table[ClientState.CHOSEN, Choices] = ClientState.SHARED
    else:
        table[ClientState.ADVERTISED, KeyPaths if shows_paths else KeyList] = ClientState.SHARED
    if mode.confirms:
        # From CONFIRMED no second survivor set is legal: an honest client signs one smaller set a round (ADR
        # 42, step 1).
        table[ClientState.MASKED, SurvivorSet] = ClientState.CONFIRMED
        # READY, where nothing is released: one release a round (ADR 42, step 2).
        table[ClientState.CONFIRMED, ConfirmSet] = ClientState.READY
        table[ClientState.CONFIRMED, RoundStart] = ClientState.INVITED
    else:
        table[ClientState.MASKED, SurvivorSet] = ClientState.READY
    if mode.consents:
        # From MASKED only: who signed a smaller set releases for that one or not at all (ADR 42, step 2).
        table[ClientState.MASKED, ConfirmSet] = ClientState.READY
    return table


def server_table(mode: Mode) -> ServerTable:
    """Returns the moves of the server.

    Only the stage of masked inputs tells ``CLOSE_WHOLE`` from ``CLOSE``: with everybody's input there, a
    round may be over, or have its survivors confirmed already.
    """
    table: dict[tuple[ServerState, Event], ServerState] = {
        (ServerState.KEYS, Advertise): ServerState.KEYS,
        (ServerState.SHARES, SealedShares): ServerState.SHARES,
        (ServerState.SHARES, Call.CLOSE): ServerState.READY,
        # From nowhere else: there is one accumulator, so the open round has to end first.
        (ServerState.READY, Call.BEGIN): ServerState.MASKED,
        (ServerState.MASKED, MaskedInput): ServerState.MASKED,
        (ServerState.UNMASK, UnmaskShares): ServerState.UNMASK,
        (ServerState.UNMASK, Call.CLOSE): ServerState.READY,
    }
    if mode.chooses_neighbors:
        table[ServerState.KEYS, Call.CLOSE] = ServerState.CHOICES
        table[ServerState.CHOICES, NeighborChoice] = ServerState.CHOICES
        table[ServerState.CHOICES, Call.CLOSE] = ServerState.SHARES
    else:
        table[ServerState.KEYS, Call.CLOSE] = ServerState.SHARES
    if mode.confirms:
        table[ServerState.CONFIRMS, Confirm] = ServerState.CONFIRMS
        table[ServerState.CONFIRMS, Call.CLOSE] = ServerState.UNMASK
    # A malicious server could skip this state. It gains nothing: clients have no move that does.
    unmask = ServerState.CONFIRMS if mode.confirms else ServerState.UNMASK
    table[ServerState.MASKED, Call.CLOSE] = table[ServerState.MASKED, Call.CLOSE_WHOLE] = unmask
    if mode.consents:
        table[ServerState.MASKED, Call.CLOSE_WHOLE] = ServerState.UNMASK
    if not mode.double_masks:
        table[ServerState.MASKED, Call.CLOSE_WHOLE] = ServerState.READY
    return table


def next_client_state(table: ClientTable, state: ClientState, event: Event) -> ClientState:
    """Looks a move up.

    Raises:
        LocalProtocolError: if a call is not legal here: the caller has a bug.
        PeerProtocolError: if a message is not legal here: the server broke the order.
    """
    if (state, event) not in table:
        raise _illegal(state, event)
    return table[state, event]


def next_server_state(table: ServerTable, state: ServerState, event: Event) -> ServerState:
    """Looks a move up; raises as `next_client_state` does."""
    if (state, event) not in table:
        raise _illegal(state, event)
    return table[state, event]


def _illegal(state: ClientState | ServerState, event: Event) -> LocalProtocolError | PeerProtocolError:
    """Makes the error for a move that is not in the table."""
    code = AbortCode.ABORTED if state.name == "ABORTED" else AbortCode.OUT_OF_ORDER
    if isinstance(event, Call):
        return LocalProtocolError(code, f"{event.value!r} must be legal in state {state.value!r}; it is not.")
    return PeerProtocolError(code, f"{event.__name__} must be legal in state {state.value!r}; it is not.")
