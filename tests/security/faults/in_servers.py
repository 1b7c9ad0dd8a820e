"""Faults in what a server checks."""

from __future__ import annotations

from tests.security.faults.mutant import FLOWER, IMPOSTORS, Mutant, attack

IN_SERVERS = (
    Mutant(
        "anybody refuses in a silo's name",
        FLOWER + "members.py",
        "for silo, at in self._nodes.items() if at != node}",
        "for silo, at in self._nodes.items() if silo != name}",
        (attack("refusal_in_another_name"), IMPOSTORS),
    ),
    Mutant(
        "a name without its signature",
        FLOWER + "members.py",
        "return not foreign and (home in (None, node) or home not in connected)",
        "return True",
        (IMPOSTORS,),
    ),
    Mutant(
        "seeds in a run with secret noise",
        FLOWER + "engine.py",
        "        self._secret_noise = True\n",
        "        self._secret_noise = False\n",
        (attack("seeded_silo_among_secret_ones"),),
    ),
    Mutant(
        "a terminal's escapes from a node",
        FLOWER + "engine.py",
        'self._announce(f"{shown(name)} refused ({shown(code)}): {shown(reason)}")',
        'self._announce(f"{name} refused ({code}): {reason}")',
        (attack("forged_lines_in_the_servers_log"), IMPOSTORS),
    ),
    Mutant(
        "an authority signs further authorities",
        FLOWER + "certificates.py",
        "ca=True, path_length=0",
        "ca=True, path_length=None",
        ("tests/engines/flower/test_provision.py",),
    ),
    Mutant(
        "one folder for two hospitals",
        FLOWER + "scaffold.py",
        'folder = unicodedata.normalize("NFKC", silo).casefold()',
        "folder = silo",
        ("tests/engines/flower/test_provision.py",),
    ),
    Mutant(
        "readers hold the server's lock",
        FLOWER + "occupancy.py",
        "os.open(path, flags, 0o600)",
        "os.open(path, flags, 0o644)",
        ("tests/engines/flower/test_occupancy.py",),
    ),
)
