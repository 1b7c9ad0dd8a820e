"""A program's whole way: frames, plan, training, verification, report, prediction."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import runpy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.config import SpeedConfig, parse_data
from discreet.config.data import DataConfig
from discreet.config.federation import federation_of
from discreet.errors import ConfigurationError, DataError
from discreet.plan.guaranteed import guarantees_for
from discreet.session import Frames, Run, Target, open_run, plan_training, train
from tests.docs.blocks import blocks

EXAMPLES = Path(__file__).parents[3] / "examples"
EXAMPLE, OWN_NETWORK = EXAMPLES / "program.py", EXAMPLES / "own_network.py"
PUBLIC: dict[str, Any] = {"label": "ill", "ranges": {"age": (20, 90)}, "categories": {"sex": ("f", "m")}}


def table(count: int, seed: int) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    age = draw.integers(20, 90, count)
    return {
        "age": age,
        "sex": draw.choice(["f", "m"], count),
        "ill": (age + draw.normal(0, 8, count) > 55).astype(int),
    }


@pytest.fixture(scope="module")
def frames() -> Frames:
    return Frames({name: table(90, seed) for seed, name in enumerate(("west", "north", "east"))}, **PUBLIC)


@pytest.fixture(scope="module")
def finished(frames: Frames, tmp_path_factory: pytest.TempPathFactory) -> Run:
    plan = plan_training(frames.public(capacity=100), target=Target(4.0), rounds=3)
    return train(plan, frames, out=tmp_path_factory.mktemp("program") / "run", seed=3)


def test_labels_that_make_no_sense_are_refused_at_once() -> None:
    for label in (["ill", "ill"], ["ill"]):
        with pytest.raises(ConfigurationError, match="label must be a column, or a list of 2 to 8 different"):
            Frames({"west": {}}, label=label)


def test_frames_take_the_rules_of_files() -> None:
    tables = {
        name: {"g1": [0.5, None], "g2": [1, 2], "born": ["1.5.1980", ""], "ill": [0, 1]}
        for name in ("a", "b", "c")
    }
    born = {"from": "1900-01-01", "to": "2020-12-31", "order": "dmy"}
    both = Frames(
        tables, label="ill", ranges={"g*": (-4, 4)}, dates={"born": born}, missing="indicator", drop=["g2"]
    )
    data = both.public(capacity=10)
    assert data.ranges == {"g1": (-4.0, 4.0)}
    found = federation_of(data, by_silo=tables)
    assert found.feature_names == ("g1", "g1 missing", "born", "born missing", "constant")
    plan = plan_training(data, target=Target(4.0), rounds=1)
    assert plan.facts.feature_shape == (5,)
    with pytest.raises(DataError, match="must be named where no header is read"):
        plan_training(data.model_copy(update={"ranges": {"g*": (-4.0, 4.0)}}), target=Target(4.0))


def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(EXAMPLE), run_name="__main__")
    printed = capsys.readouterr().out
    assert "PROVEN" in printed
    assert "recomputed" in printed
    low, high = names["run"].predict_proba(names["patients"])[:, 1]
    assert low < 0.5 < high


def test_the_front_page_shows_the_example() -> None:
    (shown,) = (
        block.text
        for block in blocks((EXAMPLES.parent / "docs" / "index.md").read_text(encoding="utf-8"))
        if block.language == "python"
    )
    assert shown.strip() in EXAMPLE.read_text(encoding="utf-8")


def test_the_example_of_ones_own_network_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.warns(UserWarning, match="'__main__:small_network': this program itself defines it"):
        names = runpy.run_path(str(OWN_NETWORK), run_name="__main__")
    printed = capsys.readouterr().out
    assert "PROVEN" in printed
    assert "model, state: recomputed" in printed
    assert names["run"].plan.config.model.name == "__main__:small_network"
    assert names["run"].metrics[-1]["accuracy"] > 0.85


def test_a_run_is_what_a_command_would_have_written(finished: Run) -> None:
    assert {"plan.json", "ledger.jsonl", "result.json", "report.html", "manifest.json"} <= {
        path.name for path in finished.path.iterdir()
    }
    assert finished.verify()[0].subject == "ledger.jsonl"
    result = json.loads((finished.path / "result.json").read_text())
    assert result["plan"] == finished.plan.digest()
    assert result["metrics"]["accuracy"] == finished.metrics[-1]["accuracy"]


def test_the_plan_that_runs_is_the_plan_that_was_made(frames: Frames, finished: Run) -> None:
    again = plan_training(frames.public(capacity=100), target=Target(4.0), rounds=3)
    assert finished.plan.digest() == again.digest()
    assert finished.plan.guarantees == again.guarantees


def test_without_a_seed_noise_is_secret_and_with_one_the_run_says_so(
    frames: Frames, finished: Run, tmp_path: Path
) -> None:
    plan = plan_training(frames.public(capacity=100), target=Target(4.0), rounds=1)
    secret = train(plan, frames, out=tmp_path / "run")
    assert not secret.record.seeded
    assert "SIMULATION" not in str(secret)
    assert finished.record.seeded
    assert "SIMULATION" in finished._repr_html_()


def test_planning_opens_no_table() -> None:
    class Sealed:
        # Names of columns are public, and the one thing that is looked at.
        columns = ("age", "sex", "ill")

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"a table was asked for {name}")

    sealed = Frames({"north": Sealed(), "east": Sealed(), "south": Sealed()}, **PUBLIC)
    assert plan_training(sealed.public(capacity=50), target=Target(1.0)).facts.silos == (
        "east",
        "north",
        "south",
    )


def test_predictions_are_the_models_at_the_same_features(frames: Frames, finished: Run) -> None:
    data = frames.public(capacity=100)
    records = federation_of(data, by_silo=frames.tables).silo("east").train.features
    by_array = finished.predict_proba(records)
    weights = next(finished.model.parameters()).detach().numpy().astype(np.float64).ravel()
    expected = 1 / (1 + np.exp(-(records.astype(np.float64) @ weights)))
    np.testing.assert_allclose(by_array[:, 1], expected, atol=1e-6)
    np.testing.assert_array_equal(finished.predict(records), (expected > 0.5).astype(int))


def test_a_frame_is_read_for_predictions_as_it_was_for_training(frames: Frames, finished: Run) -> None:
    whole = Frames(frames.tables, test_fraction=0.0, **PUBLIC)
    rows = federation_of(whole.public(capacity=100), by_silo=frames.tables).silo("east").train.features
    np.testing.assert_array_equal(finished.predict_proba(frames.tables["east"]), finished.predict_proba(rows))


def test_frames_are_read_as_a_file_of_the_same_cells_is(frames: Frames, tmp_path: Path) -> None:
    lines = ["sex,ill,hospital,age"]
    for silo, columns in frames.tables.items():
        lines += [
            f"{s},{i},{silo},{a}"
            for s, i, a in zip(columns["sex"], columns["ill"], columns["age"], strict=True)
        ]
    (tmp_path / "all.csv").write_text("\n".join(lines) + "\n")
    data = frames.public(capacity=100)
    table = {
        "source": f"csv:{tmp_path / 'all.csv'}",
        "partition": {"kind": "column", "column": "hospital"},
    }
    from_file = federation_of(parse_data({**data.model_dump(exclude_none=True), **table}))
    from_memory = federation_of(data, by_silo=frames.tables)
    assert from_file.silo_names == from_memory.silo_names
    for one, other in zip(from_file.silos, from_memory.silos, strict=True):
        np.testing.assert_array_equal(one.train.features, other.train.features)
        np.testing.assert_array_equal(one.test.labels, other.test.labels)


def test_a_silo_without_a_row_takes_part(frames: Frames, tmp_path: Path) -> None:
    empty: dict[str, list[Any]] = {name: [] for name in ("age", "sex", "ill")}
    some = Frames({**frames.tables, "none": empty}, **PUBLIC)
    plan = plan_training(some.public(capacity=100), target=Target(4.0), rounds=1)
    with pytest.warns(UserWarning, match="none"):
        run = train(plan, some, out=tmp_path / "run", seed=1)
    assert run.record.spending.completed[0].survivors == ("east", "none", "north", "west")


def test_other_records_than_planned_are_refused_before_anything_is_written(
    frames: Frames, tmp_path: Path
) -> None:
    plan = plan_training(frames.public(capacity=100), target=Target(4.0), rounds=1)
    fewer = Frames({name: frames.tables[name] for name in ("north", "east")}, **PUBLIC)
    with pytest.raises(
        ConfigurationError, match=r"'facts\.silos' must be .*'west'.*; got \('east', 'north'\)"
    ):
        train(plan, fewer, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("other", [{"ranges": {"age": (0, 1)}}, {"classes": ["1", "0"]}, {"id": "age"}])
def test_frames_that_state_something_else_than_the_plan_are_refused(
    frames: Frames, tmp_path: Path, other: dict[str, Any]
) -> None:
    plan = plan_training(frames.public(capacity=100), target=Target(4.0), rounds=1)
    (name,) = other
    with pytest.raises(ConfigurationError, match=f"'{name}' of the records must be the plan's"):
        train(plan, Frames(frames.tables, **{**PUBLIC, **other}), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("seed", [-1, "seven", 1.5])
def test_a_seed_that_is_none_is_one_line(frames: Frames, tmp_path: Path, seed: Any) -> None:
    plan = plan_training(frames.public(capacity=100), target=Target(4.0), rounds=1)
    with pytest.raises(ConfigurationError, match="seed must be a whole number"):
        train(plan, frames, out=tmp_path / "run", seed=seed)


def test_tables_and_capacities_of_another_kind_are_one_line(frames: Frames) -> None:
    with pytest.raises(ConfigurationError, match=r"tables must be given by silo.*got list"):
        Frames([{"age": [1]}], **PUBLIC)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"tables must be given by silo.*got none"):
        Frames({}, **PUBLIC)
    for none in (1.5, 0, True, "many", {"west": 1, "north": 0, "east": 1}):
        with pytest.raises(ConfigurationError, match="capacity must be a whole number from 1, the most rec"):
            frames.public(capacity=none)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": -1.0}, "epsilon must be a number above 0; got -1"),
        ({"epsilon": "8"}, "epsilon must be a number above 0; got '8'"),
        ({"epsilon": math.nan}, "epsilon must be a number above 0; got nan"),
        ({"delta": 2}, "delta must be a number above 0 and below 1; got 2"),
        ({"unit": "row"}, "unit must be one of record, person, client; got 'row'"),
        ({"against": "nobody"}, "against must be one of members, outsiders; got 'nobody'"),
    ],
)
def test_a_target_that_is_none_is_told_where_it_is_made(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Target(**{"epsilon": 1.0, **wrong})


def test_what_is_none_of_the_things_that_are_taken_is_told_at_once(frames: Frames, tmp_path: Path) -> None:
    public, out = frames.public(capacity=100), tmp_path / "run"
    with pytest.raises(
        ConfigurationError, match=r"public\(capacity=...\) of Frames or Arrays .*; got Frames"
    ):
        plan_training(frames, target=Target(1.0))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"target must be a Target, such as .*; got 8\.0"):
        plan_training(public, target=8.0)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"training\.rounds.*got 0"):
        plan_training(public, target=Target(1.0), rounds=0)
    with pytest.raises(ConfigurationError, match="runs must be runs"):
        discreet.composed(["runs/a"], delta=1e-5)  # type: ignore[list-item]
    plan = plan_training(public, target=Target(4.0), rounds=1)
    for given, message in (
        ({"plan": "plan.json"}, "plan must be a plan, as of plan_training or load_plan, .*; got str"),
        ({"records": frames.tables}, "records must be Frames or Arrays; got dict"),
        ({"out": None}, "out must be the directory of the run; got NoneType"),
        ({"speed": {"workers": 2}}, "speed must be a SpeedConfig; got dict"),
        ({"observe": 3}, "observe must be a function of a RoundReport; got int"),
        ({"evaluate": {"every": 2}}, "evaluate must be True, False or None; got {'every': 2}"),
    ):
        stated: dict[str, Any] = {"plan": plan, "records": frames, "out": out, **given}
        with pytest.raises(ConfigurationError, match=message):
            train(**stated)
    assert not out.exists()


def test_frames_and_plan_must_belong_together(frames: Frames, tmp_path: Path) -> None:
    plan = plan_training(frames.public(capacity=100), target=Target(4.0), rounds=1)
    with pytest.raises(ConfigurationError, match="none were given for 'memory'"):
        train(plan, out=tmp_path / "run")
    with pytest.raises(DataError, match="records in memory must come from a program"):
        federation_of(frames.public(capacity=100))


def test_a_finished_run_is_resumed_without_a_change(finished: Run, frames: Frames) -> None:
    before = {path.name: path.read_bytes() for path in finished.path.iterdir()}
    again = train(finished.plan, frames, out=str(finished.path), seed=3, opening="resume")
    assert {path.name: path.read_bytes() for path in finished.path.iterdir()} == before
    again.verify()
    with pytest.raises(ConfigurationError, match=r"must be new or empty; .*opening=.resume. in Python"):
        train(finished.plan, frames, out=finished.path)
    with pytest.raises(ConfigurationError, match="must be one of new, overwrite, resume; got 'again'"):
        train(finished.plan, frames, out=finished.path, opening="again")


def test_cells_that_cannot_be_used_are_a_warning_with_counts(frames: Frames, tmp_path: Path) -> None:
    tables = dict(frames.tables)
    tables["east"] = {**tables["east"], "sex": ["?", *tables["east"]["sex"][1:]]}
    plan = plan_training(frames.public(capacity=100), target=Target(4.0), rounds=1)
    with pytest.warns(UserWarning, match=r"column 'sex': 1 of \d+ cells"):
        train(plan, Frames(tables, **PUBLIC), out=tmp_path / "run", seed=1)


def test_cells_of_many_columns_are_one_warning_a_silo_and_kind_with_the_worst_first(tmp_path: Path) -> None:
    names, tables = [f"c{n}" for n in range(8)], {}
    for shift, silo in enumerate(("west", "north", "east")):
        outside = {name: (n + shift) % 7 + 1 for n, name in enumerate(names)}
        cells = {name: [9.0] * count + [0.0] * (21 - count) for name, count in outside.items()}
        tables[silo] = {**cells, "ill": ([0, 1] * 11)[:21]}
    both = Frames(tables, label="ill", ranges=dict.fromkeys(names, (0, 1)))
    plan = plan_training(both.public(capacity=30), target=Target(epsilon=2.0, delta=1e-5), rounds=1)
    with pytest.warns(UserWarning, match="cells are outside") as told:
        train(plan, both, out=tmp_path / "run", seed=1)
    found = [(one.filename, str(one.message)) for one in told if "outside" in str(one.message)]
    assert [file for file, _ in found] == [__file__] * 3
    for (_, said), silo, worst in zip(sorted(found), sorted(tables), ("c4", "c5", "c6"), strict=True):
        assert re.search(rf"{silo}, column '{worst}': 7 of 21 cells are outside \[0, 1\]", said)
        assert said.endswith(" Likewise 7 more columns, none worse: 'c0', 'c1', 'c2' and 4 more.")


def test_opening_a_directory_that_is_no_run_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"plan\.json must be readable"):
        open_run(tmp_path)


def test_a_foreign_model_is_not_imported_without_leave(finished: Run, tmp_path: Path) -> None:
    document = json.loads((finished.path / "plan.json").read_text())
    assert document["plan"]["config"]["model"]["name"] == "logistic"
    config = finished.plan.config.model_copy(
        update={"model": finished.plan.config.model.model_copy(update={"name": "evil:make"})}
    )
    record = dataclasses.replace(finished.record, plan=dataclasses.replace(finished.plan, config=config))
    with pytest.raises(ConfigurationError, match=r"'evil:make'.*own_code=True"):
        _ = Run(record).model


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranges": {"age": (90, 20)}}, "low < high"),
        ({"label": "sick"}, "no column 'sick'"),
        ({"ranges": {"aeg": (20, 90)}}, "Did you mean 'age'"),
        ({"test_fraction": 1.5}, "test_fraction"),
        ({"ranges": {"age": "wide"}}, "ranges"),
        ({"ranges": ["age"]}, "ranges must be by column, as in"),
        ({"drop": "sex"}, "drop must be a list of columns; got 'sex'"),
        ({"id": "patient"}, "no column 'patient'. There are: age, sex, ill"),
        ({"person": {"column": "patient", "most_records": 2}}, "no column 'patient'"),
        ({"bins": {"height": 4}}, "'height' has no range"),
    ],
)
def test_a_mistake_is_one_clear_line_where_it_is_made(
    frames: Frames, change: dict[str, Any], message: str
) -> None:
    with pytest.raises((ConfigurationError, DataError), match=message):
        Frames(frames.tables, **{**PUBLIC, **change})


def test_where_every_silo_sends_by_itself_nothing_is_said_of_sums(frames: Frames) -> None:
    public, alone = frames.public(capacity=100), {"kind": "local", "pace": {"west": 4}}
    plan = plan_training(public, target=Target(4.0), schedule=alone)
    assert plan.aggregation.protocol == "none"
    by_name = plan_training(
        public, target=Target(4.0), schedule={"kind": "local"}, silos={"west": {"pace": 4}}
    )
    stated = plan_training(public, target=Target(4.0), schedule=alone, aggregation={"protocol": "none"})
    assert plan.digest() == by_name.digest() == stated.digest()
    with pytest.raises(ConfigurationError, match="leave 'aggregation' out"):
        plan_training(public, target=Target(4.0), schedule=alone, aggregation={"min_survivors": 3})


TABLES = ["local", "server", "sampling", "schedule", "segments", "silos", "aggregation"]
TABLES += ["privacy", "evaluate", "standardise"]
STEPS = {"kind": "stable-steps", "learning_rate": 0.1, "steps": "each"}


def test_silos_and_segments_are_the_tables_of_a_config(frames: Frames) -> None:
    public, rarer = frames.public(capacity=100), {"kind": "poisson", "probability": 0.25}
    own = plan_training(
        public, target=Target(4.0), rounds=3, local=STEPS, silos={"west": {"sampling": rarer}}
    )
    least = {one: guarantees_for(own, one)[-1].epsilon for one in own.facts.silos}
    assert least["west"] < least["north"] == least["east"]
    segments: list[dict[str, Any]] = [{"rounds": 3, "noise_scale": 2.0}, {"rounds": 2}]
    plan = plan_training(public, target=Target(4.0), local=STEPS, segments=segments)
    assert plan.rounds == 5
    early, late = (plan.at(release).noise_multiplier for release in (3, 4))
    assert early == pytest.approx(2 * late)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"silos": {"nowhere": {"learning_rate": 0.01}}}, "'silos.nowhere' must name a silo of the plan"),
        ({"silos": {"west": {"step": 3}}}, "unknown key 'silos.west.step'. Did you mean 'steps'"),
        ({"segments": [{"rounds": 3, "noise": 2.0}]}, "unknown key 'training.segments.0.noise'"),
        ({"segments": [{"rounds": 3}], "rounds": 5}, "'rounds' must be left out where 'segments' state them"),
    ],
)
def test_a_mistake_in_silos_or_segments_is_one_line(
    settings: dict[str, Any], message: str, frames: Frames
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)) as caught:
        plan_training(frames.public(capacity=100), target=Target(4.0), **{"local": STEPS, **settings})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [True, "private"])
@pytest.mark.parametrize("name", TABLES)
def test_what_is_no_table_is_one_line_that_names_it(frames: Frames, name: str, given: Any) -> None:
    settings = {"local": STEPS, "rounds": 2, name: given}
    with pytest.raises(ConfigurationError, match=f"{name}'.* got {given!r}") as caught:
        plan_training(frames.public(capacity=100), target=Target(4.0), **settings)
    assert "\n" not in str(caught.value)


def test_a_network_must_say_how_it_is_trained(frames: Frames) -> None:
    with pytest.raises(ConfigurationError, match="'local' must say how"):
        plan_training(frames.public(capacity=100), target=Target(4.0), model="mlp")


def test_plans_and_runs_are_shown_in_notebooks_with_names_escaped(frames: Frames) -> None:
    named = Frames(dict.fromkeys(("<b>", "south", "west"), table(0, 0)), **PUBLIC)
    plan = plan_training(named.public(capacity=50), target=Target(1.0))
    page = plan._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert repr(plan).startswith("Plan('training', ")
    assert "\n" not in repr(plan)
    assert str(plan).count("PROVEN") == len(plan.guarantees)


def test_public_names_are_at_the_front_door() -> None:
    assert discreet.Frames is Frames
    assert discreet.open_run is open_run


def test_records_beyond_the_capacity_weaken_what_a_program_is_shown(frames: Frames, tmp_path: Path) -> None:
    """The plan's status stays; a run that knows the records says what is left of it, and no file does."""
    plan = plan_training(frames.public(capacity=20), target=Target(4.0), rounds=1)
    with warnings.catch_warnings(record=True, action="always") as told:
        run = train(plan, frames, out=tmp_path / "run", seed=1)
    assert str(told[-1].message).startswith("A1 FAILS HERE: ")
    assert run.failing.startswith("A1 FAILS HERE")
    assert run.failing in str(run)
    assert "A1 FAILS HERE" in run._repr_html_()
    again = open_run(tmp_path / "run")
    assert again.failing == ""
    assert not any(
        b"FAILS HERE" in path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()
    )


def test_a_missing_capacity_of_persons_is_asked_for_by_its_own_key() -> None:
    person = {"column": "who", "capacity": 50, "most_records": 2}
    data = {"source": "memory", "label": "ill", "ranges": {"age": [20, 80]}, "person": person}
    said = r"'data\.person\.capacity' must name every silo .* on persons, as in \{ north = 500"
    with pytest.raises(ConfigurationError, match=said):
        plan_training(DataConfig.model_validate(data), target=Target(1.0, unit="person"))


def test_a_config_trains_through_the_same_door_and_paths_are_texts(tmp_path: Path) -> None:
    config = discreet.load_config(str(EXAMPLES / "heart.toml"))
    config = config.model_copy(update={"run": config.run.model_copy(update={"dropouts": (), "seed": 5})})
    training = config.training.model_copy(update={"rounds": 2})
    config = config.model_copy(update={"training": training})
    run = train(config, out=str(tmp_path / "run"), compare=False, speed=SpeedConfig(workers=1))
    assert run.verify()
    assert run.record.seeded
    assert {"result.json", "report.html", "manifest.json"} <= {path.name for path in run.path.iterdir()}
    assert not (run.path / "comparison.json").exists()
    run.plan.save(str(tmp_path / "plan.json"))
    assert discreet.load_plan(str(tmp_path / "plan.json")).digest() == run.plan.digest()


def test_values_of_a_program_are_one_short_line(finished: Run, frames: Frames) -> None:
    config = discreet.load_config(EXAMPLES / "heart.toml")
    shown = (finished, finished.record, finished.plan, finished.guarantees[0], finished.released, frames,
             frames.public(capacity=100), config, discreet.prepare(config))  # fmt: skip
    for value in shown:
        assert len(repr(value)) < 300
        assert "\n" not in repr(value)
    assert str(config) == repr(config)
