"""What everything else is checked against: plan and ledger, each whole by its own hashes; and how."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePath
from typing import Any

from discreet.documents import read_json, shown
from discreet.errors import ConfigurationError, LedgerError
from discreet.kinds.model_facts import names_own_code
from discreet.models.public_weights import agreed_file, sha256_of
from discreet.plan import Plan
from discreet.plan.follows import first_difference
from discreet.privacy.ledger import Aborted, Completed, Entry, Intent, Lost, Opened, Spending
from discreet.privacy.wire import Json
from discreet.released.public_map import agreed_weights
from discreet.rounds import RunRecord, measurements, read_record
from discreet.verify.finding import VerificationFailure

START = "result.json, start"
_SOURCES = frozenset({"secure", "seeded"})
# Of a reason or a code; no digit is in any, so that none can pass for a guarantee.
_WORDS = re.compile(r"[A-Za-z ,:-]{1,200}")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Plan and ledger of one run, read, found whole, and byte for byte as they are written.

    Attributes:
        run: plan and ledger.
        own_code: whether a model that is not bundled may be imported: a plan names whatever it likes.
        weights: the file of public weights that frozen layers are compared with; None compares none.
        features: the file of the public weights of the network that made the features of records; None looks
            for it beside them.
    """

    run: RunRecord
    own_code: bool = False
    weights: Path | None = None
    features: Path | None = None


def gather(
    path: Path, *, own_code: bool = False, weights: Path | None = None, measures: bool = False
) -> Evidence:
    """Reads plan and ledger and checks that they are whole and belong together.

    Args:
        path: of the run.
        own_code: as of `Evidence`.
        weights: a file of public weights, of the model or of its feature network as its hash says.
        measures: whether records are there, of which a feature network makes features.

    Raises:
        VerificationFailure: naming the first thing that is wrong.
    """
    try:
        run = read_record(path)
        spent = run.spending
    except (ConfigurationError, LedgerError) as error:
        raise VerificationFailure(str(error)) from None
    text = run.directory.plan.read_text(encoding="utf-8")
    if json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n" != text:
        raise VerificationFailure("plan.json must be as it was written; spaces or keys were altered.")
    if not run.directory.ledger.read_bytes().endswith(b"\n"):
        raise VerificationFailure("the last line of ledger.jsonl must be whole; it is torn or altered.")
    stated = json.loads(text)
    require_keys(stated, {"digest", "plan", "composable"}, "plan.json")
    require_same(stated["plan"], run.plan.to_json(), "plan.json")
    _require_plain_fields(run.entries)
    _require_terms(run.plan, spent)
    if weights is not None and _makes_features(run.plan, weights, measures=measures):
        return Evidence(run, own_code, features=weights)
    if weights is not None and not own_code and names_own_code(run.plan.model.name):
        raise VerificationFailure(
            "--weights must come with --own-code, which builds the network; it does not."
        )
    model = run.plan.model.pretrained
    if weights is not None and model is not None and model.file is not None:
        agreed_file(weights, PurePath(model.file).name, model.sha256)
    return Evidence(run, own_code, weights)


def _makes_features(plan: Plan, weights: Path, *, measures: bool) -> bool:
    """Says whether a file is that of the plan's feature network, and not that of its model.

    Raises:
        VerificationFailure: if the plan names neither, or no records are there to make features of.
    """
    model, features = plan.model.pretrained, plan.data.pretrained
    if model is None and features is None:
        raise VerificationFailure("--weights must be left out: the plan names no public weights.")
    if model is None and not measures:
        raise VerificationFailure(
            "--weights must come with --records, of which the feature network makes features; it does not. A "
            "head's own weights are checked without."
        )
    if model is None:
        agreed_weights(plan, weights)
        return True
    if features is None or not measures:
        return False
    return sha256_of(weights) == features.sha256


def _require_terms(plan: Plan, spent: Spending) -> None:
    """Checks that what was released is what the plan allows: rounds, silos, each once, survivors."""
    if spent.charged > plan.releases:
        raise VerificationFailure(
            f"the ledger must charge at most {plan.releases} releases; it charges {spent.charged}."
        )
    for release in spent.completed:
        asked = set(plan.asked(release.release)) & set(release.survivors)
        known = tuple(silo for silo in plan.facts.silos if silo in asked)
        if known != release.survivors or len(known) < plan.thresholds.min_survivors:
            raise VerificationFailure(
                f"release {release.release} must have at least {plan.thresholds.min_survivors} survivors, "
                "silos that the plan asks, each once and in its order; the ledger names "
                f"{shown(', '.join(release.survivors))}."
            )


def _require_plain_fields(entries: Iterable[Entry]) -> None:
    """Checks that fields which no other check is about have their form: none of them can state a number."""
    for line, entry in enumerate(entries, start=1):
        fields: dict[str, tuple[str | None, bool]] = {}
        match entry:
            case Opened(randomness=source):
                fields = {"randomness": (source, line == 1 and source in _SOURCES)}
            case Intent(started_from=digest, day=day, part=part):
                fields = {
                    "started_from": (digest, _is_digest(digest)),
                    "day": (day, day is None or _is_day(day)),
                    "part": (part, part is None),
                }
            case Completed(transcript=transcript, led_to=digest):
                fields = {
                    "transcript": (transcript, _is_digest(transcript)),
                    "led_to": (digest, digest is not None and _is_digest(digest)),
                }
            case Lost(reason=words) | Aborted(code=words):
                fields = {"reason": (words, _WORDS.fullmatch(words) is not None)}
        for name, (stated, right) in fields.items():
            if not right:
                raise VerificationFailure(
                    f"line {line} of the ledger must be one that a run writes; its {name!r} is "
                    f"{shown(str(stated), 80)!r}."
                )


def _is_digest(text: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{64}", text) is not None


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def stated_measurements(run: RunRecord) -> dict[str, dict[str, Any]]:
    """Returns what is stated to have been measured of the released model, by file; without what says nothing.

    Raises:
        VerificationFailure: if the result is not JSON, or its metrics are no table.
    """
    lines = {line["release"]: line for line in run.directory.read_metrics()}
    result = read_stated(run, "result.json").get("metrics") or {}
    if not isinstance(result, dict):
        raise VerificationFailure(f"result.json: metrics must be a table; got {shown(result)}.")
    stated = {
        "metrics.jsonl, last release": measurements(lines.get(run.released_after, {})),
        "result.json, metrics": result,
    }
    return {where: found for where, found in stated.items() if found}


def stated_start(run: RunRecord) -> dict[str, Any]:
    """Returns what is stated to have been measured of the public weights that a head began at, or nothing.

    Raises:
        VerificationFailure: if it is no table of numbers.
    """
    stated = read_stated(run, "result.json").get("start", {})
    if not isinstance(stated, dict) or not all(isinstance(one, float) for one in stated.values()):
        raise VerificationFailure(f"{START} must be a table of numbers; got {shown(str(stated), 80)}.")
    return stated


def read_stated(run: RunRecord, name: str) -> Any:
    """Returns what a file of a run states.

    Raises:
        VerificationFailure: if it is not JSON, or a table holds a key twice.
    """
    try:
        return read_json(run.directory.file(name).read_bytes(), finite=False)
    except ValueError as error:
        raise VerificationFailure(f"{name} must be JSON, as it was written; {error}") from None


def require_keys(stated: Mapping[str, Json], known: Collection[str], where: str) -> None:
    """Checks that a file says nothing that no check is about.

    Args:
        stated: what the file says.
        known: the keys that are checked.
        where: the file, for the message.

    Raises:
        VerificationFailure: naming the first further key.
    """
    further = sorted(set(stated) - set(known))
    if further:
        raise VerificationFailure(
            f"{where} must hold {', '.join(sorted(known)) or 'no number'} and nothing else; it has "
            f"{shown(further[0])!r}."
        )


def require_same(stated: Json, found: Json, where: str) -> None:
    """Checks that two pieces of JSON say the same, but for the rounding of floats.

    Args:
        stated: what the file says.
        found: what was worked out again.
        where: the file, for the message.

    Raises:
        VerificationFailure: naming the first value that differs.

    Example:
        >>> require_same({"a": [1, 2]}, {"a": [1, 3]}, "x")
        Traceback (most recent call last):
        discreet.verify.finding.VerificationFailure: x: 'a.1' is 2, and 3 here, by plan and ledger.
    """
    difference = first_difference(stated, found)
    if difference is not None:
        raise VerificationFailure(f"{where}: {difference}, by plan and ledger.")
