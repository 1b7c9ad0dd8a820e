"""Every check of a finished run, cheapest first; the first thing that is wrong ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from discreet.verify.derived import check_metrics, check_report, check_result
from discreet.verify.evidence import Evidence, gather
from discreet.verify.finding import Basis, Finding
from discreet.verify.manifest import check_manifest
from discreet.verify.models import check_models, check_plan, remeasure
from discreet.verify.signature import check_signature

Check = Callable[[Evidence], Finding]
_CHECKS: tuple[Check, ...] = (check_plan, check_models, check_metrics, check_result, check_report)


def verify(
    path: Path, *, key: str | None = None, records: Path | None = None, own_code: bool = False
) -> Iterator[Finding]:
    """Checks the run in ``path`` step by step and yields what was found right.

    Guarantee:
        If it ends without an error, plan and ledger are whole and belong together; every guarantee, noise
        level and budget in plan, metrics, result and report is what they give; and every file is byte for
        byte the one that was sealed. Measurements on held-out records are checked only as sealed, unless
        ``records`` is given. Who made the run is shown by a signature only, checked with a ``key`` that is
        known from elsewhere.

    Args:
        path: the directory of a run.
        key: public key, in hexadecimal, by which the run must be signed.
        records: folder of the records that the plan names; measures the released model on them again.
        own_code: import a model that is not bundled (``module:factory``); without it, what needs the model
            (noise, grid, weights) is checked only as sealed, and the finding says so.

    Raises:
        VerificationFailure: for the first thing that is wrong.
    """
    evidence = gather(path, own_code=own_code)
    yield Finding(
        "ledger.jsonl", Basis.CHAINED, f"{len(evidence.lines)} lines, each with the hash of the last"
    )
    check_manifest(path, evidence.head)
    yield Finding("manifest.json", Basis.CHAINED, "every file, byte for byte; bound to the last ledger line")
    yield check_signature(path, key)
    for check in _CHECKS:
        yield check(evidence)
    if records is not None:
        yield remeasure(evidence, records)
