"""A grid in this process: hands every message straight to a ClientApp. For tests, research and benchmarks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, final

from flwr.app import Context, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from discreet.engines.flower.wire import NodeId

_RUN_ID = 1
_SERVER_NODE = 1

ClientCall = Callable[[Message, Context], Message]
Loses = Callable[[NodeId, Message], bool]


def _loses_nothing(_node: NodeId, _message: Message) -> bool:
    return False


@final
class LocalGrid:
    """Runs a ClientApp for every node, in order, as soon as a message is pushed.

    Flower's Message API itself (records, metadata, replies) is the real one.

    Args:
        client: the ClientApp.
        node_configs: each node's ``--node-config``, by node.
        run_config: what all share.
        loses: says which messages get lost on their way to a node.
    """

    def __init__(
        self,
        client: ClientCall,
        node_configs: Mapping[NodeId, Mapping[str, Any]],
        *,
        run_config: Mapping[str, Any] | None = None,
        loses: Loses = _loses_nothing,
    ) -> None:
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, _RUN_ID, _SERVER_NODE
        self._client = client
        self._loses = loses
        self._contexts = {
            node: Context(_RUN_ID, node, dict(config), RecordDict(), dict(run_config or {}))
            for node, config in node_configs.items()
        }
        self._replies: dict[str, Message] = {}
        self._numbers = itertools.count(1)

    def get_node_ids(self) -> Iterable[int]:
        """Returns all nodes."""
        return list(self._contexts)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Delivers messages and keeps the replies."""
        identifiers = []
        for message in messages:
            identifier = str(next(self._numbers))
            identifiers.append(identifier)
            message.metadata.__dict__["_message_id"] = identifier
            node = message.metadata.dst_node_id
            if not self._loses(node, message):
                self._replies[identifier] = self._client(message, self._contexts[node])
        return identifiers

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Returns the replies that are there, each once."""
        wanted = set(message_ids) & self._replies.keys()
        return [self._replies.pop(identifier) for identifier in sorted(wanted, key=int)]
