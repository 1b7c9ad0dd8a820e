"""Released sums are compared with the records, where these are: up to the noise, and no further."""

from __future__ import annotations

import dataclasses
import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet import Run, open_run
from discreet.config import parse_config
from discreet.engines.flower.outcome import finished_run
from discreet.engines.local import run as run_locally
from discreet.privacy.ledger import Completed, LedgerWriter
from discreet.report import write_report
from discreet.rounds.judging import evaluated_from, held_out, noise_variance
from discreet.rounds.preparing import PreparedBy
from discreet.session.finish import finish, summarise
from discreet.session.public import plan_without_data
from discreet.verify import VerificationFailure, seal, summed
from discreet.verify.evidence import Evidence
from discreet.verify.remeasured import remeasure

DATA: dict[str, Any] = {"source": "heart-disease", "record_capacity": 400}


def carried_out(folder: Path, **tables: Any) -> Run:
    stated = {"data": DATA, "privacy": {"epsilon": 4.0, "delta": 1e-5}, "run": {"seed": 3}, **tables}
    finish(run_locally(parse_config(stated, source="test"), folder), None)
    return open_run(folder)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return carried_out(
        tmp_path_factory.mktemp("summed") / "run",
        data=DATA | {"standardise": {"kind": "private"}},
        training={"rounds": 2, "local": {"kind": "stable-steps"}},
        evaluate={"every": 1, "epsilon": 8.0, "mechanism": "discrete-laplace"},
        aggregation={"min_survivors": 3},
        # The last evaluation, and the preparation.
        run={"seed": 3, "dropouts": [{"silo": "cleveland", "round": 5}, {"silo": "hungary", "round": 1}]},
    )


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return carried_out(tmp_path_factory.mktemp("answered") / "run", ask=[{"kind": "table", "of": ["cp"]}])


def forge_last_evaluation(run: Run, better: float) -> None:
    """Moves so many records of the last histogram to where they are called rightly; all else follows."""
    directory, (*entries, last) = run.record.directory, run.record.entries
    saved = directory.load_state()
    plan = run.plan.evaluation
    assert plan is not None
    sums = saved.arrays["evaluated_sums"][-1].reshape(-1, 3)
    sums[[0, -1], [0, 1]] += better / 2
    sums[[0, -1], [1, 0]] -= better / 2
    assert isinstance(last, Completed)
    digest = directory.save_state(saved.arrays, saved.made)
    directory.ledger.unlink()
    with LedgerWriter.open(directory.ledger) as ledger:
        for entry in (*entries, dataclasses.replace(last, led_to=digest)):
            ledger.append(entry)
    lines = directory.read_metrics()
    lines[-1]["held_out"] = held_out(run.plan, evaluated_from(saved.arrays)[-1]).to_json()
    directory.metrics.write_bytes(b"")
    for line in lines:
        directory.append_metrics(line)
    summary = summarise(finished_run(directory))
    stated = json.loads(directory.file("result.json").read_text())
    directory.file("result.json").write_text(json.dumps(stated | {"held_out": summary["held_out"]}, indent=1))
    write_report(run.path)
    seal(run.path)


def test_released_sums_are_near_those_of_the_records(prepared: Run, answered: Run) -> None:
    told = "; 2 released sums within the noise; 1 evaluation of weights that no file keeps NOT COMPARED"
    assert prepared.verify(records=Path())[-1].detail.endswith(told)
    assert answered.verify(records=Path())[-1].detail == "1 released sum within the noise"


def test_a_histogram_that_silos_did_not_release_is_found_where_the_records_are(
    prepared: Run, tmp_path: Path
) -> None:
    before = prepared.metrics[-1]["held_out"]["accuracy"][0]
    forged = open_run(Path(shutil.copytree(prepared.path, tmp_path / "run")))
    forge_last_evaluation(forged, 40.0)
    after = open_run(forged.path)
    assert after.metrics[-1]["held_out"]["accuracy"][0] > before + 0.1
    assert after.verify()
    with pytest.raises(VerificationFailure, match="released in the evaluation after round 2; it is further"):
        after.verify(records=Path())


@pytest.mark.parametrize(
    ("deviations", "numbers", "refused"), [(6.5, 1, False), (7.5, 1, True), (3.0, 9, False), (4.2, 6, True)]
)
def test_one_number_may_not_be_as_far_off_as_all_of_them_together(
    monkeypatch: pytest.MonkeyPatch, deviations: float, numbers: int, refused: bool
) -> None:
    """Of 24 numbers the squares may come to 91 together, and one alone to 43."""
    ask = [{"kind": "table", "of": of} for of in (["sex", "cp"], ["exang", "restecg"])]
    stated = {"data": DATA, "privacy": {"epsilon": 4.0, "delta": 1e-5}, "ask": ask}
    plan = plan_without_data(parse_config(stated, source="test"))
    assert plan.facts.dimension == 24
    records: Any = dict.fromkeys(plan.facts.silos, SimpleNamespace(features=0, labels=0, persons=None))
    monkeypatch.setattr(summed, "asked_vector", lambda *_: 0.0)
    off = np.zeros(plan.facts.dimension)
    off[:numbers] = deviations * noise_variance(plan, len(records)) ** 0.5
    released = summed._Summed(plan, 1, off, records, "the answers")
    found = pytest.raises(VerificationFailure, match="released in the answers") if refused else nullcontext()
    with found:
        summed._require_near(released)


@pytest.mark.parametrize("deviations", [0.0, 4.0])
def test_a_sum_is_refused_once_noise_does_not_explain_it(
    prepared: Run, answered: Run, monkeypatch: pytest.MonkeyPatch, deviations: float
) -> None:
    """Every number is moved by so many deviations of its noise: of preparation, then answers."""
    preparation = prepared.plan.preparation
    assert preparation is not None
    for run, plan, survivors, name in (
        (prepared, preparation, 3, "prepared_from"),
        (answered, answered.plan, 4, "saved_parameters"),
    ):
        move, real = deviations * noise_variance(plan, survivors) ** 0.5, getattr(summed, name)

        def moved(held: Any, real: Any = real, move: float = move) -> Any:
            found = real(held)
            if isinstance(found, PreparedBy):
                return dataclasses.replace(found, sums=found.sums + move)
            return found + move

        with monkeypatch.context() as patch:
            patch.setattr(summed, name, moved)
            if deviations == 0.0:
                remeasure(Evidence(run.record), Path())
                continue
            with pytest.raises(VerificationFailure, match=r"released in the (preparation|answers)"):
                remeasure(Evidence(run.record), Path())
