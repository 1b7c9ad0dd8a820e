"""`evaluate.keep = "best"`: which model is released, how it goes on, and what passes for it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Run, open_run, train
from discreet.config.federation import federation_of
from discreet.engines.local import Opening
from discreet.plan.held_out import evaluation_text
from discreet.privacy.ledger import Intent
from discreet.released import model_card
from discreet.rounds import RoundOrder, RunDirectory
from discreet.rounds.judging import Evaluated, best, held_out, said_of_released, stops
from tests.unit.session.test_evaluated_training import (
    LOCAL,
    Killed,
    killed_at,
    planned,
    weights,
)
from tests.unit.session.test_evaluation import hospitals

STRAYING: dict[str, Any] = {
    "rounds": 4,
    "server": {"kind": "averaging", "learning_rate": 60.0},
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A training at a rate at which noise throws the model about, that releases its best evaluation's."""
    plan = planned({"every": 1, "epsilon": 300.0, "keep": "best"}, epsilon=1.0, **STRAYING)
    return train(plan, hospitals(), out=tmp_path_factory.mktemp("kept") / "run", seed=2)


def test_the_model_of_the_best_evaluation_is_released(kept: Run, tmp_path: Path) -> None:
    lines = [line for line in kept.metrics if "held_out" in line]
    told = [line["held_out"]["accuracy"][0] for line in lines]
    chosen = lines[int(np.argmax(told))]
    assert chosen != lines[-1], "the last model must not be the best for this to be a test"
    arrays = kept.record.directory.load_state().arrays
    assert not np.array_equal(arrays["parameters"], arrays["kept"])
    records = federation_of(kept.plan.data, by_silo=hospitals().by_silo).pooled_test()
    found = kept.released.probabilities(records.features).argmax(axis=1)
    assert (found == records.labels).mean() == pytest.approx(chosen["accuracy"])
    result = json.loads((kept.path / "result.json").read_text())
    assert result["metrics"]["accuracy"] == chosen["accuracy"]
    # Its interval holds the choice: it is wider than that of one evaluation by itself.
    value, low, high = result["held_out"]["accuracy"]
    assert value == max(told)
    assert high - low > chosen["held_out"]["accuracy"][2] - chosen["held_out"]["accuracy"][1]
    assert (
        f"Released is the model after round {1 + int(np.argmax(told))}"
        in (kept.path / "report.html").read_text()
    )
    assert result["rounds"] == {
        "planned": 4, "completed": 4, "lost": 0, "aborted": 0, "kept": 1 + int(np.argmax(told))
    }  # fmt: skip
    assert kept.record.origin.completed == kept.released.origin.completed == result["rounds"]["kept"]
    said = f"this is the model after round {result['rounds']['kept']}"
    assert f"8 of 8 planned releases (4 rounds, 4 evaluations); {said}" in model_card(kept.path)
    assert kept.verify()
    last = train(planned({"every": 1, "epsilon": 300.0}, epsilon=1.0, **STRAYING), hospitals(),
                 out=tmp_path / "last", seed=2)  # fmt: skip
    assert weights(last).tobytes() == weights(kept).tobytes()
    assert "kept" not in last.record.directory.load_state().arrays


RARE = {"kind": "stable-steps", "learning_rate": 0.01, "steps": 2, "class_weights": [1, 9]}


@pytest.mark.parametrize(
    ("local", "asked"),
    [(RARE, {"bins": 2}), (LOCAL, {"bins": [0.1], "threshold": 0.1})],
    ids=["class weights", "a threshold"],
)
def test_a_model_that_names_nobody_is_not_the_best(local: Any, asked: dict[str, Any]) -> None:
    """Its accuracy is that of the commonest class, which class weights and a threshold give up."""
    stated = {"every": 2, "epsilon": 8.0, "keep": "best", "stop": {"patience": 1}, **asked}
    plan = planned(stated, local=local, privacy={"clip_norm": 1.0} if local is LOCAL else None)
    names_some = Evaluated(2, np.array([[1700.0, 20.0, 0.0], [200.0, 80.0, 0.0]]).ravel(), 3)
    names_nobody = Evaluated(4, np.array([[1890.0, 95.0, 0.0], [10.0, 5.0, 0.0]]).ravel(), 3)
    found = (names_some, names_nobody)
    one, other = (held_out(plan, evaluation) for evaluation in found)
    assert one.accuracy is not None
    assert other.accuracy is not None
    assert one.accuracy.value < other.accuracy.value
    assert best(plan, found) is names_some
    assert best(plan, (names_nobody, names_some)) is names_some
    assert stops(plan, found)
    assert not stops(plan, (names_nobody, names_some))
    said = said_of_released(plan, found)
    assert said is not None
    assert said.balanced is not None
    assert one.balanced is not None
    assert said.balanced.value == pytest.approx((1700 / 1900 + 80 / 100) / 2)
    assert said.balanced.low < one.balanced.low < one.balanced.high < said.balanced.high
    assert said.to_json()["balanced_accuracy"] == list(said.balanced)
    at = " at 0.1" if "threshold" in asked else ""
    assert [text.split(" 8")[0] for text in said.texts()[:2]] == [f"accuracy{at}", f"balanced accuracy{at}"]
    assert "best balanced accuracy" in evaluation_text(plan)
    usual = planned({"every": 2, "epsilon": 8.0, "keep": "best", "bins": 2})
    assert best(usual, found) is names_nobody
    assert "balanced" not in evaluation_text(usual)
    assert held_out(usual, names_some).to_json().keys() == {"accuracy", "auc"}


def test_a_run_that_keeps_its_best_model_goes_on_with_it(kept: Run, tmp_path: Path) -> None:
    with pytest.raises(Killed):
        train(kept.plan, hospitals(), out=tmp_path / "run", seed=2, observe=killed_at(7))
    again = train(kept.plan, hospitals(), out=tmp_path / "run", seed=2, opening=Opening.RESUME)
    one, other = (run.record.directory.load_state().arrays for run in (again, kept))
    assert one["kept"].tobytes() == other["kept"].tobytes()
    assert again.record.released_after == kept.record.released_after
    assert again.verify()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda arrays: arrays.update(kept=arrays["parameters"]), "must keep the model that release"),
        (lambda arrays: arrays.pop("kept"), "must keep a second model"),
        (lambda arrays: arrays.update(parameters=arrays["kept"]), "must hold the weights that release 8"),
        (lambda arrays: arrays.update(certified=np.zeros(3)), "must hold the arrays of its training"),
        (lambda arrays: arrays.update({"server.rounds": np.zeros(2)}), r"counts: 'rounds\.0' is \[0"),
    ],
    ids=["last", "none", "parameters", "further", "longer"],
)
def test_another_model_is_not_passed_off_as_the_best(
    kept: Run, tmp_path: Path, change: Callable[[Any], Any], said: str
) -> None:
    """The state is made anew around another model, and every digest that names it."""
    import shutil

    from safetensors.numpy import load, save

    from discreet.privacy.ledger import Completed, LedgerWriter
    from discreet.verify import VerificationFailure
    from discreet.verify.evidence import Evidence
    from discreet.verify.models import check_models

    folder = tmp_path / "copy"
    shutil.copytree(kept.path, folder)
    data = (folder / "state.safetensors").read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    arrays = load(data)
    change(arrays)
    forged = save(arrays, metadata=header["__metadata__"])
    (folder / "state.safetensors").write_bytes(forged)
    entries = list(kept.record.entries)
    (folder / "ledger.jsonl").unlink()
    with LedgerWriter.open(folder / "ledger.jsonl") as ledger:
        for entry in entries[:-1]:
            ledger.append(entry)
        assert isinstance(entries[-1], Completed)
        ledger.append(dataclasses.replace(entries[-1], led_to=hashlib.sha256(forged).hexdigest()))
    with pytest.raises(VerificationFailure, match=said):
        check_models(Evidence(open_run(folder).record))


def test_where_the_only_evaluation_is_lost_the_last_model_is_released_and_the_page_says_why(
    tmp_path: Path,
) -> None:
    plan, out = planned({"every": 2, "epsilon": 8.0, "keep": "best"}, rounds=2), tmp_path / "run"
    with pytest.raises(Killed):
        train(plan, hospitals(), out=out, seed=1, observe=killed_at(2), evaluate=False)
    from discreet.privacy.ledger import LedgerWriter

    weights = RunDirectory(out).load_state().arrays["parameters"]
    with LedgerWriter.open(out / "ledger.jsonl") as ledger:
        ledger.append(Intent(3, RoundOrder(3, 0, weights).context().hex()))
    run = train(plan, hospitals(), out=out, seed=1, opening=Opening.RESUME, evaluate=False)
    page = (run.path / "report.html").read_text()
    assert "Nothing was measured without noise. The evaluation after round 2 was lost and stays" in page
    assert "since no evaluation was completed" in page
    assert "3 planned releases (2 rounds, 1 evaluation)" in page
    assert run.verify()
