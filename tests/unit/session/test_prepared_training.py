"""A training whose first release says how numbers are standardised: its bits, its end, what can go wrong."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Run, Target, composed, load_model, open_run, plan_training, train
from discreet.config import SpeedConfig, parse_config
from discreet.config.federation import federation_of
from discreet.engines.local import Opening
from discreet.engines.local import run as run_locally
from discreet.engines.local.work import Assignment, Worker, source_for
from discreet.errors import ConfigurationError
from discreet.models import model_file, read_model_file
from discreet.plan import Plan
from discreet.plan.public_model import public_model
from discreet.privacy.ledger import Completed, Intent, LedgerWriter
from discreet.report.prepared import prepared_facts
from discreet.rounds import RoundOrder, RunDirectory, contributions, read_record, resume_ledger
from discreet.rounds.preparing import PreparedBy, RecordsInUse, announced_map, prepared_from
from discreet.session.finish import finish
from discreet.verify import VerificationFailure, seal
from discreet.verify.evidence import gather
from discreet.verify.models import check_models
from tests.unit.session.test_evaluated_training import Killed, killed_at
from tests.unit.session.test_evaluation import hospitals

# Ages of adults, in a range that is far too wide.
WIDE: dict[str, Any] = {"ranges": {"age": (0, 900)}}


def planned(*, evaluate: dict[str, Any] | None = None, epsilon: float = 8.0, **changes: Any) -> Plan:
    settings: dict[str, Any] = {
        "rounds": 4,
        "local": {"kind": "single-step"},
        "privacy": {"clip_norm": 1.0},
        "standardise": {"kind": "private"},
    }
    public = hospitals(**WIDE).public(capacity=300)
    return plan_training(public, target=Target(epsilon), evaluate=evaluate, **{**settings, **changes})


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Run:
    plan = planned(evaluate={"every": 2, "epsilon": 8.0}, epsilon=20.0)
    return train(plan, hospitals(**WIDE), out=tmp_path_factory.mktemp("prepared") / "run", seed=1)


def released(run: Run) -> PreparedBy:
    found = prepared_from(run.record.directory.load_state().arrays)
    assert found is not None
    return found


def copied(run: Run, folder: Path) -> Path:
    folder.mkdir()
    for file in run.path.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


@pytest.mark.parametrize(
    ("name", "values"),
    [("evaluated_survivors", [3, 1]), ("evaluated_after", [3, 4]), ("prepared_survivors", [1])],
)
def test_a_state_that_counts_other_silos_than_the_ledger_is_found(
    prepared: Run, tmp_path: Path, name: str, values: list[int]
) -> None:
    """Fewer survivors, less noise, and narrower intervals than the sum has."""
    directory = RunDirectory(copied(prepared, tmp_path / "copy"))
    saved, entries = directory.load_state(), prepared.record.entries
    assert saved.arrays[name].tolist() != values
    led_to = directory.save_state({**saved.arrays, name: np.array(values)}, saved.made)
    directory.ledger.unlink()
    with LedgerWriter.open(directory.ledger) as ledger:
        for entry in entries:
            if isinstance(entry, Completed) and entry.release == 7:
                ledger.append(dataclasses.replace(entry, led_to=led_to))
            else:
                ledger.append(entry)
    with pytest.raises(VerificationFailure, match=r"state\.safetensors, counts"):
        check_models(gather(directory.path))


def test_release_0_says_where_the_ages_are(prepared: Run) -> None:
    center, scale = announced_map(prepared.plan, released(prepared))
    age = 450 * (center[0] + 1)
    assert age == pytest.approx(55, abs=5)
    # Uniform between 20 and 90: two standard deviations are 40 years, of a half-width of 450.
    assert 450 * scale[0] == pytest.approx(40, abs=10)


def test_it_helps_where_a_range_is_far_too_wide(prepared: Run, tmp_path: Path) -> None:
    plan = planned(epsilon=20.0, standardise=None)
    alone = train(plan, hospitals(**WIDE), out=tmp_path / "run", seed=1)
    assert prepared.metrics[-1]["auc"] > alone.metrics[-1]["auc"] - 0.01
    assert prepared.metrics[-1]["loss"] < alone.metrics[-1]["loss"] - 0.02


def test_a_run_is_verified_and_its_page_says_what_was_asked(prepared: Run) -> None:
    assert prepared.verify()
    page = (prepared.path / "report.html").read_text()
    center, scale = announced_map(prepared.plan, released(prepared)).ravel()
    ((low, high),) = prepared.plan.data.ranges.values()
    half = (high - low) / 2
    assert f"{low + half * (1 + center):.4g} ± {half * scale:.4g}" in page
    assert "7 planned releases (a preparation, 4 rounds, 2 evaluations)" in page
    assert "standardise a number, by histograms of" in page
    assert "training records asked what they are prepared by" in page
    lines = [line["release"] for line in prepared.metrics]
    assert lines == [*range(1, 8)]
    assert composed([prepared], delta=1e-5).epsilon == pytest.approx(20.0, rel=1e-2)


def test_the_page_says_the_noisy_mean_and_how_noisy_it_is(tmp_path: Path) -> None:
    plan = planned(epsilon=20.0, standardise=None, centre={"kind": "private"})
    run = train(plan, hospitals(**WIDE), out=tmp_path / "run", seed=1)
    (fact,) = prepared_facts(run.record)
    silos = federation_of(plan.data, by_silo=hospitals(**WIDE).by_silo).silos
    rows = np.concatenate([silo.train.features[:, :-1] for silo in silos])
    mean = rows.mean(axis=0) / plan.facts.feature_norm_bound
    told = re.search(r"age ([+-][\d.]+)", fact.value)
    noise = re.search(r"each of its 3 numbers ± ([\d.]+)", fact.meaning)
    assert told is not None
    assert noise is not None
    assert 0.0 < abs(announced_map(plan, released(run))[0, 0] - mean[0]) < 5.0 * float(noise[1]) < 0.02
    assert float(told[1]) == pytest.approx(mean[0], abs=0.02)
    assert fact.value in (page := (run.path / "report.html").read_text())
    assert fact.meaning in page


def test_the_page_says_where_directions_lead(tmp_path: Path) -> None:
    project = {"kind": "private-pca", "components": 1}
    plan = planned(epsilon=20.0, standardise=None, project=project, rounds=1)
    run = train(plan, hospitals(**WIDE), out=tmp_path / "run", seed=1, evaluate=False)
    (fact,) = prepared_facts(run.record)
    assert fact.value.startswith("1 direction of 3 features, most along sex = f +0.")
    assert re.search(r"means, each ± 0\.00\d+, and noisy second moments, each ± 0\.00\d+", fact.meaning)


def test_the_model_reads_records_as_its_file_says(prepared: Run) -> None:
    """Everybody who has the file gets the scores that the training measured."""
    federation = federation_of(prepared.plan.data, by_silo=hospitals(**WIDE).by_silo)
    frame = {"age": [25.0, 80.0, 55.0, 900.0], "sex": ["f", "m", "f", "m"]}
    alone = load_model(prepared.path / "model.safetensors")
    assert alone.prepares is not None
    assert alone.predict_proba(frame).tolist() == prepared.predict_proba(frame).tolist()
    held_out = federation.pooled_test()
    right = alone.probabilities(held_out.features).argmax(axis=1) == held_out.labels
    assert float(right.mean()) == pytest.approx(prepared.metrics[-1]["accuracy"])
    # Beyond three standard deviations nothing is told apart.
    far = alone.predict_proba({"age": [400.0, 900.0], "sex": ["f", "f"]})
    assert far[0].tolist() == far[1].tolist()


def test_what_a_column_adds_is_shown_for_ages_and_not_for_features(prepared: Run) -> None:
    (age,) = [shape for shape in prepared.shapes().shapes if shape.column == "age"]
    corners = [level.x for level in age.levels]
    assert corners[0] == 0.0
    assert corners[-1] == 900.0
    assert corners == sorted(corners)
    first, *_, high, end = (level.contribution for level in age.levels)
    # Beyond three standard deviations it is flat.
    assert high == end > first


def test_evaluations_ask_standardised_records(prepared: Run) -> None:
    lines = {line["release"]: line for line in prepared.metrics}
    assert lines[4]["held_out"]["accuracy"][0] == pytest.approx(lines[4]["accuracy"], abs=0.15)
    assert [one.after for one in prepared.evaluations] == [2, 4]


def test_a_worker_trains_on_prepared_records(prepared: Run) -> None:
    plan = prepared.plan
    federation = federation_of(plan.data, by_silo=hospitals(**WIDE).by_silo)
    records = {silo.name: silo.train for silo in federation.silos}
    announced = announced_map(plan, released(prepared))
    order = RoundOrder(2, 5, np.zeros(plan.grid.dimension), prepared=announced)
    found = Worker(Assignment(plan, records, seed=1, device="cpu")).train(order)
    mapped = RecordsInUse(plan, records).under(announced)
    for own, same in ((mapped, True), (records, False)):
        expected = contributions(plan, own, order, model=public_model(plan), randomness=source_for(1))
        for name in records:
            assert np.array_equal(found[name].values, expected[name].values) is same


@pytest.mark.slow
def test_workers_train_to_the_same_bits(prepared: Run, tmp_path: Path) -> None:
    speed = SpeedConfig(workers=2)
    again = train(prepared.plan, hospitals(**WIDE), out=tmp_path / "run", seed=1, speed=speed)
    found, expected = (run.record.directory.load_state().arrays for run in (again, prepared))
    assert found["prepared_sums"].tobytes() == expected["prepared_sums"].tobytes()
    assert found["parameters"].tobytes() == expected["parameters"].tobytes()


@pytest.mark.parametrize("release", [1, 2, 4])
def test_a_run_that_was_killed_goes_on_with_the_same_map(release: int, prepared: Run, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(Killed):
        train(prepared.plan, hospitals(**WIDE), out=out, seed=1, observe=killed_at(release))
    run = train(prepared.plan, hospitals(**WIDE), out=out, seed=1, opening=Opening.RESUME)
    assert released(run).sums.tobytes() == released(prepared).sums.tobytes()
    assert [entry.release for entry in run.record.entries if isinstance(entry, Intent)] == [*range(1, 8)]
    assert run.verify()


def test_a_preparation_whose_line_the_ledger_lacks_is_completed(prepared: Run, tmp_path: Path) -> None:
    """Its intent names the model and no map, which its state has."""
    out = tmp_path / "run"
    with pytest.raises(Killed):
        train(prepared.plan, hospitals(**WIDE), out=out, seed=1, observe=killed_at(1))
    ledger = out / "ledger.jsonl"
    opened_and_intent = ledger.read_bytes().splitlines(keepends=True)[:2]
    ledger.write_bytes(b"".join(opened_and_intent))
    resume_ledger(RunDirectory(out), prepared.plan, seeded=True).close()
    spent = read_record(out).spending
    assert (spent.lost, [one.release for one in spent.completed]) == ((), [1])


def test_a_preparation_that_may_have_been_seen_is_not_repeated(tmp_path: Path) -> None:
    """It stays charged, and records are used as they are read: asking again would cost its share again."""
    plan, out = planned(), tmp_path / "run"
    with pytest.raises(Killed):
        train(plan, hospitals(**WIDE), out=out, seed=1, observe=killed_at(1))
    lines = (out / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (out / "ledger.jsonl").write_bytes(lines[0])
    (out / "state.safetensors").unlink()
    (out / "metrics.jsonl").unlink()
    with LedgerWriter.open(out / "ledger.jsonl") as ledger:
        ledger.append(Intent(1, "0" * 64))
    run = train(plan, hospitals(**WIDE), out=out, seed=1, opening=Opening.RESUME)
    assert run.record.spending.lost == (1,)
    assert run.record.spending.charged == plan.releases == 5
    assert load_model(out).prepares is None
    assert run.guarantees[0].epsilon == plan.guarantees[0].epsilon


def test_a_silo_may_drop_out_of_the_preparation(tmp_path: Path) -> None:
    tables = {
        "data": {"source": "heart-disease", "record_capacity": 400, "standardise": {"kind": "private"}},
        "training": {"rounds": 2, "local": {"kind": "stable-steps"}},
        "privacy": {"epsilon": 20.0, "delta": 1e-5},
        "aggregation": {"min_survivors": 3},
        "run": {"seed": 1, "dropouts": [{"silo": "cleveland", "round": 1}]},
    }
    finish(run_locally(parse_config(tables, source="test"), tmp_path / "run"), None)
    run = open_run(tmp_path / "run")
    assert [len(entry.survivors) for entry in run.record.spending.completed] == [3, 4, 4]
    assert released(run).survivors == 3
    assert run.verify()


@pytest.mark.parametrize("kind", ["poisson", "quantile", "person"])
def test_other_trainings_are_prepared_too(kind: str, tmp_path: Path) -> None:
    changes: dict[str, dict[str, Any]] = {
        "poisson": {"sampling": {"kind": "poisson", "probability": 0.5}},
        "quantile": {"privacy": {"clip_norm": {"quantile": 0.5, "initial": 1.0}}},
        "person": {},
    }
    rules = WIDE | ({"person": {"column": "who", "most_records": 2}} if kind == "person" else {})
    plan = plan_training(
        hospitals(**rules).public(capacity=300),
        target=Target(8.0, unit="person" if kind == "person" else "record"),
        rounds=2,
        local={"kind": "single-step"},
        standardise={"kind": "private", "share": 0.3},
        **{"privacy": {"clip_norm": 1.0}, **changes[kind]},
    )
    run = train(plan, hospitals(**rules), out=tmp_path / "run", seed=1)
    assert 450 * (announced_map(plan, released(run))[0, 0] + 1) == pytest.approx(55, abs=15)
    assert run.verify()


def test_another_map_in_the_model_file_is_found(prepared: Run, tmp_path: Path) -> None:
    folder = copied(prepared, tmp_path / "copy")
    file = folder / "model.safetensors"
    read = read_model_file(file.read_bytes(), name="m")
    assert read.prepared is not None
    weights = prepared.record.directory.load_state().arrays["parameters"]
    file.write_bytes(model_file(prepared.model, weights, read.about, read.prepared + 0.01))
    seal(folder)
    with pytest.raises(VerificationFailure, match="and what prepares records"):
        open_run(folder).verify()


def test_a_map_that_does_not_fit_its_plan_is_refused(prepared: Run, tmp_path: Path) -> None:
    read = read_model_file((prepared.path / "model.safetensors").read_bytes(), name="m")
    weights = prepared.record.directory.load_state().arrays["parameters"]
    odd = tmp_path / "model.safetensors"
    odd.write_bytes(model_file(prepared.model, weights, read.about, np.zeros((2, 7))))
    with pytest.raises(ConfigurationError, match="two values must be announced for each of 1 numbers"):
        load_model(odd)


def test_a_forged_map_in_a_model_file_is_bounded(prepared: Run, tmp_path: Path) -> None:
    read = read_model_file((prepared.path / "model.safetensors").read_bytes(), name="m")
    weights = prepared.record.directory.load_state().arrays["parameters"]
    odd = tmp_path / "model.safetensors"
    odd.write_bytes(model_file(prepared.model, weights, read.about, np.array([[np.nan], [0.0]])))
    assert np.isfinite(load_model(odd).predict_proba({"age": [50.0], "sex": ["f"]})).all()


def test_a_preparation_whose_sum_was_altered_is_found(prepared: Run, tmp_path: Path) -> None:
    from safetensors.numpy import load, save

    folder = copied(prepared, tmp_path / "copy")
    arrays = load((folder / "state.safetensors").read_bytes())
    arrays["prepared_sums"] = arrays["prepared_sums"] + 1.0
    (folder / "state.safetensors").write_bytes(save(arrays))
    seal(folder)
    with pytest.raises(VerificationFailure):
        open_run(folder).verify()


def test_the_plan_of_a_run_says_who_was_asked(prepared: Run) -> None:
    document = json.loads((prepared.path / "plan.json").read_text())
    assert document["plan"]["config"]["data"]["standardise"]["share"] == 0.1
    assert "preparation" in document["plan"]
    altered = dataclasses.replace(prepared.plan, preparation=None)
    assert altered.digest() != prepared.plan.digest()
