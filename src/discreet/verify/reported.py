"""Checking the report, whichever version says that it wrote it.

Whoever hands a run over says which versions wrote its report. So that word alone leaves nothing unchecked
that plan and ledger give; and what cannot be made again for it is named as an exception.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

from discreet.documents import shown
from discreet.errors import DiscreetError
from discreet.plan.follows import first_difference
from discreet.report import ReportInput, collect, render, report_json
from discreet.report.answered import Answer
from discreet.report.answers_csv import answers_csv
from discreet.statistics import Row
from discreet.verify.evidence import Evidence, read_stated, require_same
from discreet.verify.finding import Basis, Finding, VerificationFailure
from discreet.verify.signature import read_signature
from discreet.version import __version__

# What plan and ledger alone give, in the words of every version.
_CORE = ("version", "title", "seeded", "silos", "planned_rounds", "budget", "spent", "guarantees", "units",
         "plan_digest", "ledger_head", "signer")  # fmt: skip
_VERSION = re.compile(r"[\w.+!-]{1,40}")

Versions = tuple[tuple[str, str], ...]


def check_report(evidence: Evidence) -> Finding:
    """Makes the report again and compares it with ``report.json``, ``report.html`` and ``answers.csv``.

    Guarantee:
        By this version, all of ``report.json`` is compared, and the page byte for byte; the page of the same
        version over other packages may differ in the last digits, and is then an exception. By another
        version, guarantees, budget, what was spent, and whose plan and ledger it is are compared; whatever
        of the three files is not what this version writes is an exception.

    Raises:
        VerificationFailure: for a number that does not follow, and if no version is stated.
    """
    stated = read_stated(evidence.run, "report.json")
    versions = _versions_in(stated)
    signature = read_signature(evidence.run.directory.path)
    try:
        now = collect(evidence.run.directory.path, signer="" if signature is None else signature.public_key)
    except DiscreetError as error:
        raise VerificationFailure(f"the report must follow from the run's files; {error}") from None
    again = dataclasses.replace(now, versions=versions)
    if dict(versions)["discreet"] == __version__:
        if [name for name, _ in versions] != [name for name, _ in now.versions]:
            raise VerificationFailure("report.json must name the versions of what wrote it, and no others.")
        require_same(stated, report_json(again), "report.json")
        unlike = _by_this_version(evidence, stated, again, alike=versions == now.versions)
    else:
        unlike = _by_another_version(evidence, stated, again)
    return _finding(evidence, unlike, versions, now.versions)


def _versions_in(stated: Any) -> Versions:
    """Returns names and versions of what wrote the report, by its own word.

    Raises:
        VerificationFailure: if they are missing, or are no names and versions.
    """
    pairs = stated.get("versions") if isinstance(stated, dict) else None
    versions: Versions = ()
    if isinstance(pairs, list) and all(map(_is_version, pairs)):
        versions = tuple((name, version) for name, version in pairs)
    if "discreet" not in dict(versions) or len(dict(versions)) < len(versions):
        raise VerificationFailure(
            "report.json must name each version that wrote it once, that of discreet among them; "
            f"got {shown(str(pairs), 80)}."
        )
    return versions


def _is_version(pair: object) -> bool:
    """Says whether it is a name with a version, in which no sentence has room."""
    if not isinstance(pair, list) or len(pair) != 2:
        return False
    return all(isinstance(part, str) and _VERSION.fullmatch(part) for part in pair)


def _by_this_version(evidence: Evidence, stated: Any, again: ReportInput, *, alike: bool) -> list[str]:
    """Returns the page if it is not what this version writes; with the packages that are here, it must be."""
    # With the numbers of the report, which may differ from ours in their last digits.
    answers = stated["answers"] or stated["held_out"] or ()
    rows = [(answer["title"], tuple(Row(*row) for row in answer["rows"])) for answer in answers]
    if not _is_listed(evidence, rows):
        raise VerificationFailure("answers.csv must hold what report.json says; it holds something else.")
    if _is_page(evidence, again):
        return []
    if alike:
        raise VerificationFailure("report.html must show what report.json says; it shows something else.")
    return ["report.html"]


def _by_another_version(evidence: Evidence, stated: Mapping[str, Any], again: ReportInput) -> list[str]:
    """Checks what plan and ledger give; returns the files that are not what this version writes."""
    found = report_json(again)
    require_same(
        {name: stated.get(name) for name in _CORE}, {name: found[name] for name in _CORE}, "report.json"
    )
    answers: tuple[Answer, ...] = again.answers or again.held_out
    unlike = {
        "report.json": first_difference(dict(stated), found) is not None,
        "report.html": not _is_page(evidence, again),
        "answers.csv": not _is_listed(evidence, [(one.title, one.rows) for one in answers]),
    }
    return [name for name, differs in unlike.items() if differs]


def _is_page(evidence: Evidence, report: ReportInput) -> bool:
    return evidence.run.directory.file("report.html").read_bytes() == render(report).encode()


def _is_listed(evidence: Evidence, answers: Iterable[tuple[str, tuple[Row, ...]]]) -> bool:
    """Says whether the file of answers lists these; there must be none if there are none.

    Raises:
        VerificationFailure: for a file without answers.
    """
    listed, rows = evidence.run.directory.file("answers.csv"), list(answers)
    if rows:
        return listed.read_bytes() == answers_csv(rows).encode()
    if listed.exists():
        raise VerificationFailure("answers.csv must be of a run that has answers; this one has none.")
    return True


def _finding(evidence: Evidence, unlike: list[str], versions: Versions, now: Versions) -> Finding:
    answered = bool(evidence.run.plan.questions)
    origin = "the released sum" if answered else "what was measured on held-out records"
    if not unlike:
        files = "report.html, report.json" + (", answers.csv" if answered else "")
        return Finding(files, Basis.RECOMPUTED, f"every number, from plan, ledger and {origin}")
    here = dict(now)
    other = ", ".join(
        f"{name} {version}, here {here.get(name, 'none')}"
        for name, version in versions
        if here.get(name) != version
    )
    exception = f"{', '.join(unlike)} (written with {other})"
    if "report.json" in unlike:
        return Finding(
            "report.json", Basis.SEALED, "guarantees, budget, spending follow; the rest only as sealed",
            exception,
        )  # fmt: skip
    return Finding(
        "report.json", Basis.RECOMPUTED, f"every number; {', '.join(unlike)} only as sealed", exception
    )
