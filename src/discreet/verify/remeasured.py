"""Checking what a run says of its records, where these are: measurements anew, and released sums."""

from __future__ import annotations

from functools import partial
from pathlib import Path, PurePath
from typing import Any

from discreet.arrays import Floats
from discreet.config.data import DataConfig
from discreet.config.federation import federation_of
from discreet.data import Federation
from discreet.data.map_answers import require_planned_map
from discreet.documents import read_json
from discreet.engines.local.measure import measure, quality_of
from discreet.errors import ConfigurationError
from discreet.models import flatten
from discreet.plan import Plan
from discreet.plan.order import count_of
from discreet.privacy.units import NeighboringRelation
from discreet.quality import quality_json
from discreet.rounds.preparing import ToMeasure
from discreet.verify.evidence import START, Evidence, require_same, stated_measurements, stated_start
from discreet.verify.finding import Basis, Finding, VerificationFailure
from discreet.verify.models import built_model, may_build, prepared_of, saved_parameters
from discreet.verify.summed import check_sums, not_compared


def remeasure(evidence: Evidence, folder: Path) -> Finding:
    """Loads the records that the plan names from ``folder`` and measures the released model again.

    Sums that were released, over held-out records or before the first round, must lie within their noise. Of
    evaluations these are the ones of the released weights; how many others there were is told.

    Raises:
        VerificationFailure: if the measurements differ, or cannot be repeated without code of the run's own.
    """
    if not may_build(evidence):
        raise VerificationFailure(
            f"the model must be bundled to be measured, or imported by --own-code; the plan names "
            f"{evidence.run.plan.model.name!r}. Leave --records out, or add --own-code if you trust "
            "it."
        )
    try:
        exchanged = evidence.run.plan.release.neighboring is NeighboringRelation.REPLACE_ONE
        federation = federation_of(_data_in(folder, evidence, evidence.run.plan), exchanged=exchanged)
    except ConfigurationError as error:
        made_by = evidence.run.plan.data.pretrained is not None and evidence.features is None
        knob = " The weights of the feature network may lie elsewhere: give --weights FILE." * made_by
        raise VerificationFailure(f"--records must name the folder of the records; {error}{knob}") from None
    _require_planned_map(evidence.run.plan, federation)
    summed = check_sums(evidence, federation, partial(_data_in, folder, evidence))
    stated, found = stated_measurements(evidence.run), ""
    if summed:
        found = f"{count_of(summed, 'released sum')} within the noise"
    if not (stated or found):
        raise VerificationFailure("metrics.jsonl must hold measurements of the last release; it holds none. "
                                  "Leave --records out.")  # fmt: skip
    told = [found] if found else []
    if stated:
        told.insert(0, _remeasure(evidence, federation, stated))
    if others := not_compared(evidence):
        told.append(f"{count_of(others, 'evaluation')} of weights that no file keeps NOT COMPARED")
    return Finding("held-out records", Basis.RECOMPUTED, "; ".join(told))


def _require_planned_map(plan: Plan, federation: Federation) -> None:
    if federation.map_answers is None:
        return
    try:
        require_planned_map(str(plan.data.transform), plan.facts.map_answers, federation.map_answers)
    except ConfigurationError as error:
        raise VerificationFailure(f"features must be made as in training; {error}") from None


def _remeasure(evidence: Evidence, federation: Federation, stated: dict[str, dict[str, Any]]) -> str:
    """Measures the released model on held-out records; returns what was compared."""
    of_start = _remeasure_start(evidence, federation)
    federation = ToMeasure(evidence.run.plan, federation).after(prepared_of(evidence.run))
    model, parameters = built_model(evidence), _final_parameters(evidence)
    measured = measure(model, federation, parameters)
    for where, said in stated.items():
        require_same(said, dict(measured), where)
    found = f"{len(measured)} measurements of the released model"
    data, file = evidence.run.plan.data, evidence.run.directory.evaluation
    quality = quality_of(model, federation, parameters, classes=data.classes, labels=data.labels)
    again = None if quality is None else quality_json(quality)
    if file.exists():
        require_same(read_json(file.read_bytes()), again, "evaluation.json")
        found += ", and all of evaluation.json"
    elif again is not None:
        raise VerificationFailure(
            "evaluation.json must be there, for the released model was measured; it is missing."
        )
    return found + of_start


def _remeasure_start(evidence: Evidence, federation: Federation) -> str:
    """Measures the public weights that a head began at, if given; returns what was compared."""
    said = stated_start(evidence.run)
    if not said:
        return ""
    if evidence.weights is None:
        return ", those of the public weights alone NOT COMPARED (--weights FILE compares)"
    model = built_model(evidence)
    used = ToMeasure(evidence.run.plan, federation).after(None)
    require_same(said, dict(measure(model, used, flatten(model))), START)
    return f", {len(said)} of the public weights alone"


def _data_in(folder: Path, evidence: Evidence, plan: Plan) -> DataConfig:
    """Returns a plan's data table with the folder that it leaves out of its files, since it is private."""
    data = plan.with_own_files(lambda name: str(_weights_in(folder, evidence, name))).data
    update: dict[str, object] = {}
    if not isinstance(data.source, str):
        update["source"] = {silo: _source_in(folder, one) for silo, one in data.source.items()}
    elif data.source.startswith(("csv:", "parquet:", "npz:")):
        update["source"] = _source_in(folder, data.source)
    elif ":" in data.source and not evidence.own_code:
        raise VerificationFailure(
            f"the records must be a file or bundled, or be made by code that --own-code imports; the plan "
            f"names {data.source!r}. Leave --records out, or add --own-code if you trust it."
        )
    if (data.transform or "").startswith("network:") and not evidence.own_code:
        raise VerificationFailure(
            f"features must be made by bundled code, or by code that --own-code imports; the plan names "
            f"{data.transform!r}. Leave --records out, or add --own-code if you trust it."
        )
    return data.model_copy(update=update)


def _weights_in(folder: Path, evidence: Evidence, name: str) -> Path:
    """Returns where public weights lie: where it was said, or beside the records."""
    return _inside(folder, name) if evidence.features is None else evidence.features


def _source_in(folder: Path, source: str) -> str:
    """Returns a source of files that lie in ``folder``."""
    scheme, _, name = source.partition(":")
    several = "/" if name.endswith("/") else ""
    return f"{scheme}:{_inside(folder, name.removesuffix('/'))}{several}"


def _inside(folder: Path, name: str) -> Path:
    """Returns the path of a file that a run names, which must lie in ``folder`` itself.

    Raises:
        VerificationFailure: if the name leads elsewhere.
    """
    if not name or PurePath(name).name != name or name == ".." or "$" in name:
        raise VerificationFailure(f"the plan must name a file of {folder} without a folder; got {name!r}.")
    return folder / name


def _final_parameters(evidence: Evidence) -> Floats:
    """Returns the released weights; the initial ones if no release is completed."""
    saved = saved_parameters(evidence.run)
    return flatten(built_model(evidence)) if saved is None else saved
