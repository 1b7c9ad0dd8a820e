"""What the server keeps of a round: one accumulator, who is in it, and the shares that take the masks off."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from discreet.errors import PeerProtocolError
from discreet.secagg import binding
from discreet.secagg.agreement import SECRET_BYTES, Agreement
from discreet.secagg.codes import AbortCode
from discreet.secagg.hazmat import keys as keyring
from discreet.secagg.hazmat.prg import add_masks
from discreet.secagg.hazmat.secret import Secret
from discreet.secagg.messages import Confirm, MaskedInput, RoundStart, UnmaskShares
from discreet.secagg.packing import add_packed
from discreet.secagg.ring import RingVector, to_total, word_type
from discreet.secagg.server.recovery import Released, recover_all
from discreet.secagg.server.setup import ServerSetup
from discreet.secagg.wire import as_set


@dataclass(frozen=True, slots=True)
class RoundResult:
    """The outcome of a round.

    Attributes:
        total: the sum in ``[0, 2^bits)``, shape ``(length,)``.
        survivors: the numbers of the clients in it.
        transcript: the hash that every honest party agrees on.
        blamed: owner to holders whose released shares did not fit. Either may have lied: the owner when it
            dealt, the holder when it released.
    """

    total: npt.NDArray[np.uint64]
    survivors: tuple[int, ...]
    transcript: bytes
    blamed: dict[int, tuple[int, ...]]


@dataclass(slots=True)
class ServerRound:
    """A round in progress."""

    agreement: Agreement
    setup: ServerSetup
    start: RoundStart
    digest: bytes
    accumulator: RingVector
    arrived: set[int] = field(default_factory=set)
    signed_inputs: dict[int, bytes] = field(default_factory=dict)
    signatures: dict[int, bytes] = field(default_factory=dict)
    released: dict[int, dict[int, bytes]] = field(default_factory=dict)

    @classmethod
    def begin(cls, agreement: Agreement, setup: ServerSetup, start: RoundStart) -> ServerRound:
        """Opens a round with an empty accumulator."""
        digest = binding.round_digest(setup.digest, setup.sharers, start)
        empty = np.zeros(agreement.terms.length, dtype=word_type(agreement.terms.bits))
        return cls(agreement, setup, start, digest, empty)

    @property
    def survivors(self) -> tuple[int, ...]:
        """Everyone whose masked input is in the accumulator."""
        return tuple(sorted(self.arrived))

    @property
    def dropouts(self) -> tuple[int, ...]:
        """Everyone invited whose masked input is not."""
        return tuple(index for index in self.start.roster if index not in self.arrived)

    def add_masked(self, sender: int, masked: MaskedInput, *, threads: int) -> None:
        """Adds a masked input; one of the wrong size or unsigned leaves the accumulator as it was."""
        # Masked under another digest, an input cancels with nobody's masks and spoils the sum for all.
        self._require_digest(masked.round_digest)
        content = binding.input_content(self.agreement.mode, self.digest, self.start.roster)
        if content:
            # Before the sum: the accumulator cannot give an input back.
            self.agreement.identities.verify(self.agreement.name(sender), content, masked.consent)
        add_packed(self.accumulator, masked.packed, self.agreement.terms.bits, threads=threads)
        self.arrived.add(sender)
        # Last: a signature without an input would be one too many beside the survivors, and all would abort.
        if content:
            self.signed_inputs[sender] = masked.consent

    def add_confirmation(self, sender: int, confirmation: Confirm) -> None:
        """Takes a signature on the survivor set."""
        self._require_digest(confirmation.round_digest)
        content = binding.confirmed_content(self.digest, self.survivors)
        # Passed on, a wrong signature would make every client abort.
        self.agreement.identities.verify(self.agreement.name(sender), content, confirmation.signature)
        self.signatures[sender] = confirmation.signature

    def add_released(self, sender: int, released: UnmaskShares) -> None:
        """Takes the shares that a client releases: exactly those that the survivor set asks of it."""
        self._require_digest(released.round_digest)
        shares = dict(released.shares)
        # Both kinds of share, or another one, is a client that does not follow the protocol.
        if {peer: len(share) for peer, share in shares.items()} != self._expected_sizes(sender):
            raise PeerProtocolError(
                AbortCode.BAD_SHARE, "a client must release one share of the agreed kind for every owner."
            )
        for owner, share in shares.items():
            self.released.setdefault(owner, {})[sender] = share

    def finish(self, threads: int) -> RoundResult:
        """Takes off every mask that does not cancel.

        Raises:
            NotEnoughSurvivors: if a secret has too few shares; the accumulator is then still masked.
            PeerProtocolError: if a secret cannot be recovered so that it fits its commitment.
        """
        owners = [index for index in self.start.roster if self._num_released(index)]
        recovered = recover_all([self._released(owner) for owner in owners], self.agreement.terms.threshold)
        plus, minus = self._mask_keys(recovered.secrets)
        # What clients added is subtracted, and the other way round.
        add_masks(self.accumulator, minus, plus, threads=threads)
        # Of use only to somebody who breaks into the server and has recorded masked inputs.
        for secret in recovered.secrets.values():
            secret.wipe()
        survivors = self.survivors
        total = to_total(self.accumulator, self.agreement.terms.bits)
        return RoundResult(
            total, survivors, binding.transcript_hash(self.digest, survivors), recovered.blamed
        )

    def _num_released(self, owner: int) -> int:
        """Returns how many secrets of a client are released: the seed of a survivor, else its mask key."""
        return self.agreement.num_seeds if owner in self.arrived else 1

    def _expected_sizes(self, sender: int) -> dict[int, int]:
        """Returns whose shares a client must release, and how many bytes of them."""
        peers = self.setup.graph[sender].owners & as_set(self.start.roster)
        sizes = {peer: SECRET_BYTES * self._num_released(peer) for peer in peers}
        return {peer: size for peer, size in sizes.items() if size}

    def _released(self, owner: int) -> Released:
        """Collects the shares of one client's secrets and how to tell the right secrets."""
        verify = self._fits_commitment if owner in self.arrived else self._fits_mask_key
        holders = tuple(sorted(self.setup.graph[owner].holders))
        return Released(owner, holders, self.released.get(owner, {}), lambda secret: verify(owner, secret))

    def _fits_mask_key(self, owner: int, secret: bytes) -> bool:
        """Compares a recovered private key with the advertised public key."""
        # Wrong shares recover some other key. Its masks would not fit and turn the sum into noise that nobody
        # notices.
        return keyring.public_key(Secret(secret)) == self.setup.offers[owner].mask_keys[self.start.slot]

    def _fits_commitment(self, owner: int, seed: bytes) -> bool:
        """Compares a recovered self seed with the advertised commitment."""
        slot, offer = self.start.slot, self.setup.offers[owner]
        made = binding.commitment(self.agreement, seed, epoch=self.setup.epoch, client=owner, slot=slot)
        return made == offer.commitments[slot]

    def _mask_keys(self, secrets: dict[int, Secret]) -> tuple[list[bytes], list[bytes]]:
        """Returns the keys of the masks that survivors added, and of those that they subtracted."""
        added: list[bytes] = []
        subtracted: list[bytes] = []
        if self.agreement.mode.double_masks:
            added += (
                keyring.derive(secrets[owner], self.digest, binding.self_purpose(owner))
                for owner in self.survivors
            )
        slot, offers = self.start.slot, self.setup.offers
        for gone in self.dropouts:
            # Between two dropouts there is nothing to take off, and a survivor's other masks must stay on.
            peers = sorted(self.setup.graph[gone].maskers & self.arrived)
            agreed = keyring.agree(secrets[gone], {peer: offers[peer].mask_keys[slot] for peer in peers})
            for peer in peers:
                key = keyring.derive(agreed[peer], self.digest, binding.pair_purpose(gone, peer))
                (added if peer < gone else subtracted).append(key)
        return added, subtracted

    def _require_digest(self, round_digest: bytes) -> None:
        if round_digest != self.digest:
            raise PeerProtocolError(
                AbortCode.WRONG_ROUND, "messages must be made for the open round; one is not."
            )
