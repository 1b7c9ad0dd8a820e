"""The ClientApp: carries bytes between Flower and the silo's own process, and knows nothing of either.

Flower starts a new process for every message and runs whatever app the server's side submitted. Records,
keys, policy and ledger are therefore in another process, which the data owner started from the installed
package (``discreet silo serve``); code in a submitted app can ask it, but not change what it answers.
"""

from __future__ import annotations

from pathlib import Path

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from discreet.engines.flower.grid_wire import MESSAGE_TYPE, from_content, to_content
from discreet.errors import ConfigurationError
from discreet.silo.connection import ask
from discreet.silo.requests import Refused, encode

SOCKET_KEY = "silo-socket"
REHEARSAL_KEY = "rehearsal"
_TIMEOUT_SECONDS = 3600.0


def relay(message: Message, context: Context) -> Message:
    """Hands one message to the silo and its answer back."""
    try:
        answer = ask(silo_socket(context), from_content(message.content), timeout_seconds=_TIMEOUT_SECONDS)
    except (ConfigurationError, ConnectionError, TimeoutError) as error:
        where = f"node {context.node_id}"
        answer = encode(Refused(where, "no-silo", f"its SuperNode cannot reach a silo: {error}"))
    return Message(to_content(answer), reply_to=message)


def silo_socket(context: Context) -> Path:
    """Returns the socket of this node's silo.

    A real node names it in its own ``--node-config``. In Flower's simulation nodes have numbers only, and
    the silos are rehearsed by the ServerApp.

    Raises:
        ConfigurationError: if neither is there.
    """
    own = context.node_config.get(SOCKET_KEY)
    if own:
        return Path(str(own))
    folder, number = context.run_config.get(REHEARSAL_KEY), context.node_config.get("partition-id")
    if folder and number is not None:
        return rehearsal_socket(Path(str(folder)), int(number))
    raise ConfigurationError(
        f"the SuperNode must name its silo: --node-config '{SOCKET_KEY}=\"/path/to/silo.sock\"'."
    )


def rehearsal_socket(folder: Path, number: int) -> Path:
    """Returns the socket of a rehearsed silo."""
    return folder / f"{number}.sock"


app = ClientApp()
app.query(MESSAGE_TYPE.removeprefix("query."))(relay)
