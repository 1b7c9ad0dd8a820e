"""Faults in secure aggregation."""

from __future__ import annotations

from tests.security.faults.mutant import SECAGG, SUMS, Mutant, attack

PATHS = ("tests/secagg/test_key_paths.py", "tests/secagg/unit/test_merkle.py")

IN_SUMS = (
    Mutant(
        "boxes for whoever shared nothing",
        SECAGG + "server/setup.py",
        "                if receiver in by_receiver:\n                    by_receiver[receiver].append(",
        "                if True:\n                    by_receiver.setdefault(receiver, []).append(",
        ("tests/secagg/checklist/test_08_to_16_terms_and_server.py",),
    ),
    Mutant(
        "the same key in another writing",
        SECAGG + "offers.py",
        "if not all(map(keyring.is_canonical, keys)):",
        "if False:",
        (attack("key_in_another_writing"), *SUMS),
    ),
    Mutant(
        "the same key twice",
        SECAGG + "offers.py",
        "if len(set(public)) != len(public) or not seen.isdisjoint(public):",
        "if False:",
        SUMS,
    ),
    Mutant(
        "draws in no digest",
        SECAGG + "binding.py",
        '_hash(b"graph", digest_of_keys, choices.body())',
        "digest_of_keys",
        SUMS,
    ),
    Mutant(
        "sharers in no digest",
        SECAGG + "binding.py",
        "index_set(sharers), start.body())",
        "start.body())",
        SUMS,
    ),
    Mutant(
        "survivors that masked for no round",
        SECAGG + "client/rounds.py",
        "if tuple(signer for signer, _ in shown.attested) != attesting:",
        "if False:",
        SUMS,
    ),
    Mutant(
        "a client declared gone", SECAGG + "client/rounds.py", "if me not in survivors:", "if False:", SUMS
    ),
    Mutant(
        "survivors that nobody invited",
        SECAGG + "client/rounds.py",
        "if not as_set(survivors) <= current.roster:",
        "if False:",
        SUMS,
    ),
    Mutant(
        "a sum below the floor",
        SECAGG + "client/rounds.py",
        '    agreement.require_floor(len(survivors), "sent their masked input")\n',
        "",
        SUMS,
    ),
    Mutant(
        "a confirmation of a stranger",
        SECAGG + "client/rounds.py",
        "if signer not in alive:",
        "if False:",
        SUMS,
    ),
    Mutant(
        "a confirmation of nobody",
        SECAGG + "client/rounds.py",
        "        agreement.identities.verify(agreement.name(signer), content, signature)\n    terms",
        "    terms",
        SUMS,
    ),
    Mutant(
        "one confirmation too few",
        SECAGG + "client/rounds.py",
        "if not len(confirmations.signatures) >= quorum:",
        "if not len(confirmations.signatures) >= quorum - 1:",
        SUMS,
    ),
    Mutant(
        "both kinds of share",
        SECAGG + "client/rounds.py",
        "share[SECRET_BYTES:] if peer in alive",
        "share if peer in alive",
        SUMS,
    ),
    Mutant(
        "too few holders",
        SECAGG + "client/setup.py",
        "    require_holders(agreement, place.graph.holders & sharers)\n",
        "",
        SUMS,
    ),
    Mutant(
        "shares named for another round",
        SECAGG + "server/rounds.py",
        "        self._require_digest(released.round_digest)\n",
        "",
        ("tests/secagg/test_what_comes_first.py",),
    ),
    Mutant(
        "a signature without its input",
        SECAGG + "server/rounds.py",
        "        add_packed(self.accumulator, masked.packed, self.agreement.terms.bits, threads=threads)\n",
        "        self.signed_inputs[sender] = masked.consent\n"
        "        add_packed(self.accumulator, masked.packed, self.agreement.terms.bits, threads=threads)\n",
        ("tests/secagg/test_what_comes_first.py",),
    ),
    Mutant(
        "a body read before its turn",
        SECAGG + "client/session.py",
        "            self._move(kind)\n            reply =",
        "            decode(data, self._agreement.digest, self._memory.epoch)\n"
        "            self._move(kind)\n            reply =",
        ("tests/secagg/test_what_comes_first.py",),
    ),
    Mutant(
        "keys that lead to no root",
        SECAGG + "client/keys.py",
        "if reached != keys.root:",
        "if False:",
        PATHS,
    ),
    Mutant(
        "keys of others than neighbours",
        SECAGG + "client/keys.py",
        "if {one.offer.sender for one in keys.shown} != near.maskers | {me}:",
        "if False:",
        PATHS,
    ),
    Mutant(
        "a root in no digest",
        SECAGG + "binding.py",
        "index_set(members), root)",
        "index_set(members))",
        PATHS,
    ),
    Mutant(
        "nodes that are leaves",
        SECAGG + "merkle.py",
        '_LEAF, _NODE = b"\\x00", b"\\x01"',
        '_LEAF = _NODE = b""',
        PATHS,
    ),
)
