"""Every check of a finished run, cheapest first; the first thing that is wrong ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from safetensors import SafetensorError

from discreet.errors import DiscreetError
from discreet.own_code import require_leave
from discreet.verify.derived import check_metrics, check_result
from discreet.verify.evidence import Evidence, gather
from discreet.verify.finding import Basis, Finding, VerificationFailure
from discreet.verify.manifest import check_manifest, foreign_files, half_written
from discreet.verify.models import check_models, check_plan
from discreet.verify.quality import check_quality
from discreet.verify.remeasured import remeasure
from discreet.verify.reported import check_report
from discreet.verify.signature import check_signature

Check = Callable[[Evidence], Finding]
T = TypeVar("T")

_CHECKS: tuple[Check, ...] = (check_plan, check_models, check_metrics, check_result, check_report)
# What reading a file raises that has not the form in which it is written.
_OTHER_FORM = (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, SafetensorError,
               TypeError, ValueError)  # fmt: skip


def verify(
    path: str | Path,
    *,
    key: str | None = None,
    records: str | Path | None = None,
    own_code: bool = False,
    weights: str | Path | None = None,
) -> Iterator[Finding]:
    """Checks the run in ``path`` step by step and yields what was found right.

    Guarantee:
        If it ends without an error, plan and ledger are whole and belong together; every guarantee, noise
        level and budget in plan, metrics, result and report is what they give; and every file is byte for
        byte the one that was sealed. Measurements on held-out records are checked only as sealed, unless
        ``records`` is given. Who made the run is shown by a signature only, checked with a ``key`` that is
        known from elsewhere. A report that says that other versions wrote it has the guarantees, budget and
        spending that plan and ledger give; what of it this version does not write alike, a finding names as
        its ``exception``: that is only as it was sealed.

        No code is imported but this package's own, and no file opened outside ``path``, ``records`` and
        ``weights``, unless ``own_code`` is true.

    Args:
        path: the directory of a run.
        key: public key, in hexadecimal, by which the run must be signed.
        records: folder of the records that the plan names; measures the released model on them again.
        own_code: import what the plan names: a model that is not bundled (``module:factory``), and with
            ``records`` a source that is code (``module:function``). Without it, noise, grid and guarantees
            follow from what the plan states of its model, which is taken at its word, and weights are checked
            only as sealed; the finding says so.
        weights: the file of public weights that the plan names. Those of the model are compared with its
            frozen layers, which takes ``own_code``, or with where a linear head began. Without it they are
            taken at the model's word, and the finding says so. Those of a feature network make the features
            of ``records``; without it that file is looked for in the same folder. All else that is frozen,
            such as A of an adapter, follows from the plan's seed either way.

    Raises:
        VerificationFailure: for the first thing that is wrong.
        ConfigurationError: if ``own_code`` is no bool, or ``weights`` no path.
    """
    require_leave(own_code, weights)
    path = Path(path)
    file = None if weights is None else Path(weights)
    evidence = _typed(partial(gather, path, own_code=own_code, weights=file, measures=records is not None))
    yield Finding(
        "ledger.jsonl", Basis.CHAINED, f"{len(evidence.run.lines)} lines, each with the hash of the last"
    )
    check_manifest(path, evidence.run.head)
    yield Finding("manifest.json", Basis.CHAINED, "every file, byte for byte; bound to the last ledger line")
    yield check_signature(path, key)
    if others := foreign_files(path):
        yield Finding(
            "other files",
            Basis.NONE,
            f"{_some(others)}: no part of a run and under no seal; NOT COMPARED with anything",
        )
    if left := half_written(path):
        yield Finding(
            "half-written files",
            Basis.NONE,
            f"{_some(left)}: left behind by a write that was killed; under no seal, and no part of the run. "
            "Remove them",
        )
    for check in _CHECKS:
        yield _typed(partial(check, evidence))
    if records is not None:
        yield _typed(partial(remeasure, evidence, Path(records)))
    elif evidence.run.directory.evaluation.exists():
        yield _typed(partial(check_quality, evidence))


def _some(names: list[str]) -> str:
    return f"{', '.join(names[:5])}{f' and {len(names) - 5} more' if names[5:] else ''}"


def _typed(step: Callable[[], T]) -> T:
    """Carries a check out; whatever a file of another form ends in is a failure of the run, in one line."""
    try:
        return step()
    except VerificationFailure:
        raise
    except DiscreetError as error:
        raise VerificationFailure(str(error)) from error
    except _OTHER_FORM as error:
        raise VerificationFailure(
            f"every file of the run must have the form in which it is written; one has not "
            f"({type(error).__name__}: {error})."
        ) from error
