"""One fault to plant, and where the lines and tests are that several faults name."""

from __future__ import annotations

from dataclasses import dataclass

POLICY = "src/discreet/silo/policy/"
SILO = "src/discreet/silo/"
FLOWER = "src/discreet/engines/flower/"
SECAGG = "src/discreet/secagg/"
VERIFY = "src/discreet/verify/"

LIARS = "tests/engines/flower/test_malicious_server.py"
IMPOSTORS = "tests/engines/flower/test_impostors.py"
REVIEW = "tests/unit/policy"
OWN_FILES = "tests/unit/verify/test_own_files.py"
# Quick ones first: the checklist alone can take minutes.
SUMS = tuple(
    f"tests/secagg/{name}" for name in ("unit", "test_consent.py", "test_lying_about_draws.py", "checklist")
)


def attack(name: str) -> str:
    """Returns the test that carries one attack out."""
    return f"tests/attacks/test_attacks.py::test_it_fails[{name}]"


@dataclass(frozen=True)
class Mutant:
    """One fault: ``old``, which stands once in ``file``, becomes ``new``; ``tests`` must see it."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
