"""Attacks of a malicious server, and of clients, on the secure sum itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.errors import ProtocolAbort
from discreet.secagg import AllowList, Bell, Bonawitz, Malicious, SemiMalicious, binding
from tests.attacks.hospitals import module_of
from tests.attacks.outcome import Outcome

_CLIENTS, _FLOOR, _COLLUDING = 60, 56, 2


def sparse_world() -> Any:
    """Returns sixty clients on a sparse graph, and the server that they talk to."""
    world = module_of("secagg/conftest.py")
    protocol = Bell(SemiMalicious(), rounds_per_setup=1)
    threshold = protocol.sparsity(_CLIENTS, _FLOOR, _COLLUDING).threshold
    terms = world.make_terms(
        _CLIENTS, threshold=threshold, min_survivors=_FLOOR, max_colluding=_COLLUDING, length=5
    )
    return _opened(world, protocol, terms)


def small_world() -> Any:
    """Returns five clients on a complete graph, and the server that they talk to."""
    world = module_of("secagg/conftest.py")
    return _opened(world, Bonawitz(Malicious(), rounds_per_setup=2), world.make_terms())


def _opened(world: Any, protocol: Bell | Bonawitz, terms: Any) -> Any:
    keys = {name: one.public_key for name, one in world.make_identities(terms.clients).items()}
    return world.World(protocol.agreement(terms, AllowList(keys)))


def part_of_a_sparse_sum() -> Outcome:
    """The server tells a part of the clients that the others never drew anybody, and the others likewise."""
    lies = module_of("secagg/test_lying_about_draws.py")
    liar, opened = lies.open_part(sparse_world())
    now = "the part's sum is open" if opened else f"{len(liar.aborted)} of {_CLIENTS} clients abort"
    return Outcome(
        "S4: lies about who drew whom on a sparse graph", "opened the sum of 68 of 100", now, opened
    )


def key_in_another_writing() -> Outcome:
    """A colluder offers the victim's key with bit 255 set, which X25519 ignores."""
    world = small_world()
    offers = {name: world.read(data) for name, data in world.advertise().items()}
    victim, colluder = offers["client-0"], offers["client-4"]
    key = bytearray(victim.channel_key)
    key[-1] |= 0x80
    copied = _signed(world, replace(colluder, channel_key=bytes(key)))
    replies = {name: world.write(offer) for name, offer in offers.items()} | {"client-4": world.write(copied)}
    world.upload(replies)
    code = world.rejected("client-4")
    now = "accepted as another key" if code is None else f"refused: {code}"
    return Outcome(
        "S11: the victim's key in another writing", "accepted as distinct; no gain found", now, code is None
    )


def _signed(world: Any, offer: Any) -> Any:
    """Returns the offer with the signature that its sender makes for it."""
    content = binding.advertised_content(world.agreement, world.epoch, offer)
    identity = world.identities[world.names[offer.sender]]
    return replace(offer, signature=identity.sign(content))


def second_life_of_an_epoch() -> Outcome:
    """A client comes back from a crash, or an old copy of its memory, and is asked for keys again."""
    world = small_world().set_up()
    again = world.client("client-1")
    try:
        again.start()
        code = None
    except ProtocolAbort as abort:
        code = abort.code
    # The way back that kept the old keys is not part of the interface any more; its name is looked for.
    resumes = hasattr(again, "resume") or hasattr(again, "suspend")
    works = code is None or resumes
    now = "the same keys serve twice" if works else f"refused: {code}; only new keys lead back"
    return Outcome("S6: a client's session restored from a copy", "a single input opened", now, works)


ATTACKS = (part_of_a_sparse_sum, key_in_another_writing, second_life_of_an_epoch)
