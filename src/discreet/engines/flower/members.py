"""Who takes part at the moment: silos by name, the nodes they sit behind, and which nodes refused and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from discreet.documents import shown
from discreet.engines.flower.wire import NodeId
from discreet.secagg import ClientId
from discreet.silo.policy import RefusalCode

# A silo that met a protocol error, failed inside or was not reached may come back; one that refused by its
# policy will not.
_PASSING = {str(RefusalCode.PROTOCOL), str(RefusalCode.INTERNAL), str(RefusalCode.NO_SILO)}


@dataclass(slots=True)
class Members:
    """The server's list of silos; it changes as they come and go.

    A name belongs to the node whose advertisement carried that silo's signature. What another node says in
    its name counts for that other node alone, so that nobody can refuse for a silo or call it back.

    Attributes:
        refusals: why a node is not asked again, with the name that it gave.
        seeded: whether a silo rehearses with noise that anyone with its seed can remove.
    """

    refusals: dict[NodeId, str] = field(default_factory=dict)
    seeded: bool = False
    _nodes: dict[ClientId, NodeId] = field(default_factory=dict)
    _homes: dict[ClientId, NodeId] = field(default_factory=dict)

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
        """Takes a silo in whose signature came from ``node``; it has agreed to what it may have refused."""
        self._nodes[name] = node
        self._homes = {silo: at for silo, at in self._homes.items() if at != node} | {name: node}
        self.refusals.pop(node, None)
        self.seeded = self.seeded or seeded

    def title(self, node: NodeId) -> str:
        """Names a node for a person: its number, and the silo that signed there last, if one did."""
        silo = next((silo for silo, at in self._homes.items() if at == node), None)
        return f"node {node}" if silo is None else f"node {node}, where {silo} was,"

    def may_speak(self, node: NodeId, name: ClientId, connected: Collection[NodeId]) -> bool:
        """Says whether nothing speaks against ``node`` being the silo ``name``.

        It does not once the silo has signed at another node that is still connected, or another silo has
        signed at this one.
        """
        home = self._homes.get(name)
        foreign = any(at == node and silo != name for silo, at in self._homes.items())
        return not foreign and (home in (None, node) or home not in connected)

    def remove(self, name: ClientId) -> None:
        """Takes a silo out."""
        self._nodes.pop(name, None)

    def keep(self, names: Iterable[ClientId]) -> None:
        """Takes out everyone who is not in ``names``."""
        kept = set(names)
        self._nodes = {name: node for name, node in self._nodes.items() if name in kept}

    def refuse(self, node: NodeId, name: ClientId, code: str, reason: str) -> None:
        """Takes out who sits at ``node``, which refused, and remembers why if asking again cannot help."""
        self._nodes = {silo: at for silo, at in self._nodes.items() if at != node}
        if code not in _PASSING:
            self.refusals[node] = f"{shown(name)}: ({shown(code)}) {shown(reason)}"

    def forget(self) -> Members:
        """Returns an empty list that remembers refusals, and which silo signed at which node."""
        return Members(self.refusals, self.seeded, _homes=self._homes)
