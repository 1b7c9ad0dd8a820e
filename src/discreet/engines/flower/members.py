"""Who takes part at the moment: silos by name, the nodes they sit behind, and who refused and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from discreet.engines.flower.wire import NodeId
from discreet.policy import RefusalCode
from discreet.secagg import ClientId

# A silo that met a protocol error or failed inside may come back; one that refused by its policy will not.
_PASSING = {str(RefusalCode.PROTOCOL), str(RefusalCode.INTERNAL)}


@dataclass(slots=True)
class Members:
    """The server's list of silos; it changes as they come and go."""

    refusals: dict[ClientId, str] = field(default_factory=dict)
    seeded: bool = False
    _nodes: dict[ClientId, NodeId] = field(default_factory=dict)

    @property
    def names(self) -> tuple[ClientId, ...]:
        """The silos that are in."""
        return tuple(self._nodes)

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """Their nodes."""
        return tuple(self._nodes.values())

    def node(self, name: ClientId) -> NodeId:
        """Returns the node of a silo that is in."""
        return self._nodes[name]

    def add(self, name: ClientId, node: NodeId, *, seeded: bool) -> None:
        """Takes a silo in; it has agreed to what it may have refused before."""
        self._nodes[name] = node
        self.refusals.pop(name, None)
        self.seeded = self.seeded or seeded

    def remove(self, name: ClientId) -> None:
        """Takes a silo out."""
        self._nodes.pop(name, None)

    def keep(self, names: Iterable[ClientId]) -> None:
        """Takes out everyone who is not in ``names``."""
        kept = set(names)
        self._nodes = {name: node for name, node in self._nodes.items() if name in kept}

    def refuse(self, name: ClientId, code: str, reason: str) -> None:
        """Takes a silo out that refused, and remembers why if asking again cannot help."""
        self.remove(name)
        if code not in _PASSING:
            self.refusals[name] = f"({code}) {reason}"

    def forget(self) -> Members:
        """Returns an empty list that remembers refusals only."""
        return Members(self.refusals, self.seeded)
