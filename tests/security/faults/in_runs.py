"""Faults in what reads runs and documents of others."""

from __future__ import annotations

from tests.security.faults.mutant import OWN_FILES, VERIFY, Mutant, attack

IN_RUNS = (
    # --- verification
    Mutant(
        "code without --own-code",
        VERIFY + "models.py",
        'elif ":" in data.source and not evidence.own_code:',
        "elif False:",
        (OWN_FILES, attack("code_named_by_a_run")),
    ),
    Mutant(
        "a manifest names any file",
        VERIFY + "manifest.py",
        "<= set(manifest.files) <= {*REQUIRED, *OPTIONAL}",
        "<= set(manifest.files)",
        (OWN_FILES, attack("file_outside_a_run")),
    ),
    Mutant(
        "links lead out of a run",
        "src/discreet/rounds/directory.py",
        "if not stat.S_ISREG(mode):",
        "if False:",
        (OWN_FILES, "tests/unit/rounds/test_links.py"),
    ),
    Mutant(
        "a file that the manifest does not fit",
        VERIFY + "manifest.py",
        "if _digests(directory, [name])[name] != stated:",
        "if False:",
        ("tests/unit/verify/test_verify.py",),
    ),
    Mutant(
        "a line of the metrics may be left out",
        VERIFY + "derived.py",
        "for release in completed.keys() - _cut_short(evidence):",
        "for release in ():",
        ("tests/unit/verify/test_verify.py",),
    ),
    # --- documents
    Mutant(
        "any depth",
        "src/discreet/documents.py",
        "for _ in range(MAX_DEPTH + 1):",
        "while True:",
        ("tests/unit/test_documents.py", "tests/security/test_decoders.py"),
    ),
    Mutant(
        "any integer",
        "src/discreet/documents.py",
        "not _SMALLEST <= value <= _LARGEST",
        "False",
        ("tests/unit/test_documents.py", "tests/security/test_decoders.py"),
    ),
)
