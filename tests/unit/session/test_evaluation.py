"""A released model, evaluated on the records that its training held out: same rules, one sum."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Frames, Run, Target, composed, plan_evaluation, plan_training, train
from discreet.config import Config, load_config, parse_config
from discreet.config.federation import federation_of
from discreet.errors import ConfigurationError
from discreet.kinds.questions import EvaluationQuestion
from discreet.plan.over_records import plan_over_records
from discreet.session.public import plan_without_data

SILOS = ("north", "south", "east")


def hospitals(rows: int = 300, **changes: Any) -> Frames:
    chance = random.Random(5)
    tables: dict[str, Any] = {}
    for silo in SILOS:
        ages = [chance.uniform(20, 90) for _ in range(rows)]
        sexes = [chance.choice("fm") for _ in range(rows)]
        ill = [int(age + chance.gauss(0, 18) > 55) for age in ages]
        who = [f"{silo}-{place // 2}" for place in range(rows)]
        tables[silo] = {"who": who, "age": ages, "sex": sexes, "ill": ill}
    rules: dict[str, Any] = {"ranges": {"age": (20, 90)}, "categories": {"sex": ["f", "m"]}} | changes
    return Frames(tables, label="ill", **rules)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    own = hospitals()
    plan = plan_training(own.public(capacity=300), target=Target(8.0))
    return train(plan, own, out=tmp_path_factory.mktemp("trained") / "run", seed=1)


def evaluated(trained: Run, out: Path, *, epsilon: float = 100.0, **changes: Any) -> Run:
    plan = plan_evaluation(trained.released, capacity=150, target=Target(epsilon), **changes)
    return train(plan, hospitals(), out=out, seed=2)


def numbers(run: Run) -> dict[str, Any]:
    (answer,) = run.answers
    return {row.name: row for row in answer.rows}


def test_it_says_what_an_exact_measurement_says(trained: Run, tmp_path: Path) -> None:
    held_out = federation_of(trained.plan.data, by_silo=hospitals().by_silo).pooled_test()
    chosen = trained.released.probabilities(held_out.features)
    found = numbers(evaluated(trained, tmp_path / "e", bins=50))
    assert found["units"].value == pytest.approx(len(held_out), abs=8)
    accuracy = (chosen.argmax(axis=1) == held_out.labels).mean()
    assert found["accuracy"].value == pytest.approx(accuracy, abs=0.03)
    positive, negative = chosen[held_out.labels == 1, 1], chosen[held_out.labels == 0, 1]
    area = (positive[:, None] > negative[None, :]).mean()
    assert found["AUC"].value == pytest.approx(area, abs=0.03)
    assert found["AUC"].low < area < found["AUC"].high


def test_groups_add_up_to_the_whole(trained: Run, tmp_path: Path) -> None:
    found = numbers(evaluated(trained, tmp_path / "e", by="sex"))
    parts = sum(found[f"sex = {sex}: units"].value for sex in ("f", "m", "other or missing"))
    assert parts == pytest.approx(found["units"].value, abs=15)
    assert found["sex = other or missing: AUC"].value is None
    assert "cannot be told" in found["sex = other or missing: AUC"].remark


def test_bins_of_the_training_are_groups_and_other_numbers_are_none(trained: Run, tmp_path: Path) -> None:
    own = hospitals(bins={"age": [40, 60]})
    plan = plan_training(own.public(capacity=300), target=Target(8.0), rounds=1)
    binned = train(plan, own, out=tmp_path / "t", seed=1)
    asked = plan_evaluation(binned.released, capacity=200, target=Target(100.0), by="age")
    found = numbers(train(asked, own, out=tmp_path / "e", seed=2))
    federation = federation_of(plan.data, by_silo=own.by_silo)
    for text in ("20 to 40", "40 to 60", "60 to 90"):
        place = federation.feature_names.index(f"age {text}")
        exact = (federation.pooled_test().features[:, place] > 0).sum()
        assert found[f"age = {text}: units"].value == pytest.approx(exact, abs=15)
    with pytest.raises(ConfigurationError, match=r"'by' must name .* cut into bins; got 'age'"):
        plan_evaluation(trained.released, capacity=150, target=Target(8.0), by="age")


@pytest.mark.parametrize("person", [False, True], ids=["record", "person"])
def test_each_record_is_on_one_side(person: bool) -> None:
    changes: dict[str, Any] = {"person": {"column": "who", "most_records": 5}} if person else {}
    own = hospitals(**changes)
    data = own.public(capacity=300)
    asked = data.model_copy(update={"asked": "held-out"})
    one, other = (federation_of(rules, by_silo=own.by_silo) for rules in (data, asked))
    for silo in SILOS:
        used, held, nobody = one.silo(silo).train, other.silo(silo).train, other.silo(silo).test
        assert len(nobody) == 0
        assert sorted(map(bytes, held.features)) == sorted(map(bytes, one.silo(silo).test.features))
        both = {bytes(row) for row in used.features} & {bytes(row) for row in held.features}
        assert not both
        assert len(used) + len(held) == 300


def test_a_training_and_its_evaluation_cost_the_larger_of_both(trained: Run, tmp_path: Path) -> None:
    run = evaluated(trained, tmp_path / "e", epsilon=0.5)
    both = composed([trained, run], delta=1e-5)
    alone = [composed([one], delta=1e-5).epsilon for one in (trained, run)]
    assert both.epsilon == max(alone)
    assert any("never in both" in text for text in both.assumptions)
    assert any("no exact measurement" in text for text in both.assumptions)
    assert not any("all of these trainings were decided" in text for text in both.assumptions)
    # Twice the same side adds up.
    assert composed([trained, run, run], delta=1e-5).epsilon == max(alone)
    assert composed([run, run], delta=1e-5).epsilon > 1.3 * alone[1]


def test_discrete_laplace_noise_tells_more_at_the_same_epsilon(trained: Run, tmp_path: Path) -> None:
    laplace = {"mechanism": "discrete-laplace"}
    runs = [evaluated(trained, tmp_path / f"{len(own)}", epsilon=1.0, privacy=own) for own in ({}, laplace)]
    wide, narrow = (numbers(run)["units"] for run in runs)
    assert narrow.high - narrow.low < 0.8 * (wide.high - wide.low)
    assert runs[1].verify()
    alone = composed([trained], delta=1e-5).epsilon
    assert composed([trained, runs[1]], delta=1e-5).epsilon == max(alone, 1.0)


def test_another_split_adds_up(trained: Run, tmp_path: Path) -> None:
    own = hospitals(split_seed=1)
    plan = plan_training(own.public(capacity=300), target=Target(8.0))
    other = train(plan, own, out=tmp_path / "other", seed=3)
    run = evaluated(trained, tmp_path / "e", epsilon=4.0)
    assert composed([other, run], delta=1e-5).epsilon > composed([other], delta=1e-5).epsilon + 1


def test_a_file_names_a_run_and_nothing_of_its_rules(trained: Run, tmp_path: Path) -> None:
    def read(more: str = "", question: str = "") -> Config:
        path = tmp_path / "evaluation.toml"
        path.write_text(
            f"[data]\nrecord_capacity = {{ north = 150, south = 150, east = 150 }}\n{more}\n"
            f'[[ask]]\nkind = "evaluation"\nmodel = "{trained.path}"\n{question}\n'
            "[privacy]\nepsilon = 1.0\ndelta = 1e-5\n"
        )
        return load_config(path)

    config = read()
    assert config.data.asked == "held-out"
    assert config.data.ranges == trained.plan.data.ranges
    (question,) = config.ask or ()
    assert isinstance(question, EvaluationQuestion)
    assert question.trained == trained.plan.digest()
    with pytest.raises(ConfigurationError, match=r"'data\.ranges' must be left out"):
        read("ranges = { age = [0, 1] }")
    with pytest.raises(ConfigurationError, match="must be a run's folder or a model file"):
        load_missing(tmp_path)
    with pytest.raises(ConfigurationError, match="must be evaluations of models of one training"):
        read(question='[[ask]]\nkind = "count"')


def load_missing(folder: Path) -> Config:
    path = folder / "missing.toml"
    path.write_text(
        '[data]\nrecord_capacity = 5\n[[ask]]\nkind = "evaluation"\nmodel = "nowhere"\n'
        "[privacy]\nepsilon = 1.0\ndelta = 1e-5\n"
    )
    return load_config(path)


def test_a_model_that_is_not_linear_is_not_scored_by_silos(trained: Run) -> None:
    from discreet.config.evaluated import evaluation

    for other in ("mlp", "ordinal"):
        with pytest.raises(ConfigurationError, match="a model must be 'logistic' to be evaluated"):
            evaluation({"config": {"model": {"name": other}}}, "0" * 64, np.zeros((1, 3)), {})
    with pytest.raises(ConfigurationError, match="it predicts a number"):
        evaluation({"config": {"data": {"label_range": [0, 9]}}}, "0" * 64, np.zeros((1, 3)), {})
    places = {"data": {}, "training": {"sampling": {"kind": "fixed-size"}}}
    with pytest.raises(ConfigurationError, match="it holds out places"):
        evaluation({"config": places}, "0" * 64, np.zeros((1, 3)), {})


def test_other_silos_or_features_than_the_trainings_are_refused(trained: Run) -> None:
    """Coins hang on the names of silos: under other names records of the training would be asked."""
    own = trained.released
    with pytest.raises(ConfigurationError, match="the training's own silos"):
        plan_evaluation(own, capacity={"north": 9, "south": 9, "west": 9}, target=Target(1.0))
    plan = plan_evaluation(own, capacity=9, target=Target(1.0))
    tables = plan.config.model_dump(mode="json", exclude_none=True)
    tables["ask"][0]["weights"] = [[1.0, 2.0]]
    with pytest.raises(ConfigurationError, match="a number for each of"):
        plan_without_data(parse_config(tables))


def test_scores_of_one_record_come_from_itself_alone() -> None:
    from discreet.kinds.blocks import Axis, Cells
    from discreet.kinds.variables import Score
    from discreet.statistics.contribution import block_sum

    source = np.random.default_rng(0)
    features = source.normal(size=(257, 40)).astype(np.float32)
    score = Score((tuple(source.normal(size=40).tolist()),), ("no", "yes"))
    block = Cells((Axis(score, tuple(np.linspace(0, 1, 60)[1:-1].tolist())),))
    labels = np.zeros(257, dtype=np.int64)
    whole = block_sum(block, features, labels, None)
    alone = sum(block_sum(block, row[None], labels[:1], None) for row in features)
    assert (whole == alone).all()


def test_a_bundled_source_is_evaluated_too() -> None:
    config = load_config(Path("examples/heart.toml"))
    data = config.data.model_copy(update={"asked": "held-out"})
    asked = Config.model_validate(
        {
            "data": data.model_dump(exclude_none=True),
            "ask": [
                {
                    "kind": "evaluation",
                    "weights": [[0.1] * 16],
                    "trained": "0" * 64,
                    "silos": ["cleveland", "hungary", "long_beach_va", "switzerland"],
                    "by": "sex",
                    "bins": 4,
                }
            ],
            "privacy": {"epsilon": 1.0, "delta": 1e-5},
        }
    )
    planned = plan_over_records(asked)
    assert planned.plan.facts.dimension == 4 * 3 * 3
    assert sum(len(silo.train) for silo in planned.federation.silos) == 194
