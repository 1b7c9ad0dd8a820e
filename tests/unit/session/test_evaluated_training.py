"""A training that asks held-out records between rounds: its plan, its bits, its end, what can go wrong."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Arrays, Run, Target, composed, open_run, plan_training, train
from discreet.config import parse_config
from discreet.config.federation import federation_of
from discreet.engines.flower.outcome import finished_run
from discreet.engines.local import Opening
from discreet.engines.local import run as run_locally
from discreet.errors import ConfigurationError
from discreet.plan import Plan, composable_cost, parse_plan
from discreet.plan.assumptions import NO_CHOSEN_END
from discreet.plan.counted import parts
from discreet.plan.follows import require_follows
from discreet.plan.guaranteed import against
from discreet.plan.held_out import NOT_MEASURED, evaluation_text
from discreet.plan.order import Order
from discreet.plan.persons import for_persons
from discreet.privacy.assumptions import numbered
from discreet.privacy.ledger import Intent, LedgerWriter
from discreet.privacy.notation import epsilon_text
from discreet.privacy.units import Status
from discreet.released import Scores, model_card, score_file
from discreet.rounds import RoundReport, RunDirectory
from discreet.session.finish import finish, summarise
from discreet.session.public import plan_without_data
from discreet.statistics.evaluation import COMMONEST
from discreet.verify import VerificationFailure
from discreet.verify.derived import check_result
from discreet.verify.evidence import Evidence
from tests.unit.session.test_evaluation import SILOS, hospitals

LOCAL = {"kind": "single-step"}
SETTINGS: dict[str, Any] = {"rounds": 6, "local": LOCAL, "privacy": {"clip_norm": 1.0}}


def planned(evaluate: dict[str, Any] | None, *, epsilon: float = 8.0, **changes: Any) -> Plan:
    public = hospitals(**changes.pop("rules", {})).public(capacity=300)
    return plan_training(public, target=Target(epsilon), evaluate=evaluate, **{**SETTINGS, **changes})


def scores_of(run: Run) -> Scores:
    """Predicts what one silo holds, from a file."""
    path, table = run.path.parent / "rows.csv", next(iter(hospitals().by_silo.values()))
    rows = zip(*(table[name] for name in table), strict=True)
    path.write_text("\n".join(",".join(map(str, row)) for row in ([*table], *rows)))
    return score_file(run.released, path)


def weights(run: Run) -> Any:
    return run.record.directory.load_state().arrays["parameters"]


def refuses(tables: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    """Plans a table of two classes with changes, None for none, which must be refused in one line."""
    data = {
        "source": "csv:x.csv",
        "label": "ill",
        "classes": ["no", "yes"],
        "ranges": {"age": [20, 90]},
        "record_capacity": dict.fromkeys(SILOS, 300),
    }
    stated: dict[str, Any] = {"data": data, **tables}
    for key, table in changes.items():
        stated[key] = {**stated.get(key, {}), **table} if isinstance(table, dict) else table
    stated = {
        key: {own: one for own, one in table.items() if one is not None} if isinstance(table, dict) else table
        for key, table in stated.items()
        if table is not None
    }
    with pytest.raises(ConfigurationError, match=message) as refused:
        plan_without_data(parse_config(stated, source="test"))
    assert "\n" not in str(refused.value)


class Killed(Exception):
    pass


def killed_at(release: int) -> Any:
    def observe(report: RoundReport) -> None:
        if report.release == release:
            raise Killed

    return observe


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Run:
    plan = planned({"every": 2, "epsilon": 8.0, "by": "sex"})
    return train(plan, hospitals(), out=tmp_path_factory.mktemp("evaluated") / "run", seed=1)


@pytest.mark.parametrize(
    ("settings", "called"),
    [
        ({}, ""),
        ({"bins": 4}, ""),
        ({"bins": [0.2, 0.5]}, ""),
        ({"bins": 3}, "; the second class is called from 0.666667 on, for 'bins' have no edge at one half"),
        ({"bins": [0.1]}, "; the second class is called from 1 on, for 'bins' have no edge at one half"),
        ({"bins": 3, "threshold": 1 / 3}, "; the second class is called from 0.333333 on"),
    ],
)
def test_a_threshold_that_follows_from_the_bins_is_said(settings: dict[str, Any], called: str) -> None:
    plan = planned({"every": 6, "epsilon": 8.0, **settings})
    assert evaluation_text(plan) == f"after every 6 rounds, and after the last{called}"


@pytest.mark.parametrize(("rounds", "every"), [(6, 2), (5, 2), (1, 1), (7, 7), (9, 1), (10, 4)])
def test_which_releases_evaluate_is_fixed(rounds: int, every: int) -> None:
    order = Order(rounds, every)
    found = [order.evaluates(release) for release in range(1, order.releases + 1)]
    assert sum(found) == order.evaluations
    assert found[-1]
    assert [order.evaluated(count) for count in range(order.releases + 1)] == [0, *np.cumsum(found).tolist()]
    after = [place - number for number, place in enumerate(np.flatnonzero(found).tolist())]
    assert after == [*range(every, rounds, every), rounds]


def test_every_row_is_the_weaker_of_both_sides_and_never_their_sum() -> None:
    for epsilon in (0.5, 8.0, 20.0):
        plan = planned({"every": 2, "epsilon": epsilon})
        (alone, rounds), (asked, count) = parts(plan, plan.releases)
        assert (rounds, count, plan.releases) == (6, 3, 9)
        for row in plan.guarantees:
            shares = dict(plan.adversaries())[row.adversary]
            sides = [
                against(part, row.adversary, shares, rounds=releases).epsilon
                for part, releases in ((alone, rounds), (asked, count))
            ]
            assert row.epsilon == max(sides)
        own = plan.evaluation.spent(count) if plan.evaluation else None
        assert own is not None
        assert own.epsilon == pytest.approx(epsilon, rel=1e-2)
        assert own.epsilon <= epsilon
        assert plan.spent(plan.releases).epsilon == pytest.approx(max(8.0, epsilon), rel=1e-2)
        texts = plan.guarantees[0].assumptions
        assert any("never in both" in text for text in texts)
        assert any("held-out records than its record_capacity" in text for text in texts)


def test_a_small_epsilon_leaves_every_row_of_the_training_as_it_is() -> None:
    one, other = planned(None), planned({"every": 2, "epsilon": 2.0})
    assert [row.epsilon for row in one.guarantees] == [row.epsilon for row in other.guarantees]
    assert (one.grid, one.release) == (other.grid, other.release)


def test_what_composes_with_others_is_the_larger_curve_and_several_records_are_on_both_sides() -> None:
    one, other = planned(None), planned({"every": 2, "epsilon": 8.0})
    cost, both = composable_cost(one), composable_cost(other)
    assert both["mu"] >= cost["mu"]  # type: ignore[operator]
    assert both["mu"] < 1.2 * cost["mu"]  # type: ignore[operator]
    two, twice = for_persons(one)[0][1].epsilon, for_persons(other)[0][1].epsilon
    assert twice > 1.3 * two


def test_a_plan_is_read_back_and_altered_noise_is_refused() -> None:
    plan = planned({"every": 2, "epsilon": 0.7, "stop": {"patience": 2}})
    again = parse_plan(plan.document())
    assert again == plan
    assert again.digest() == plan.digest()
    require_follows(again)
    assert plan.evaluation is not None
    share = dataclasses.replace(plan.evaluation.release.share, silo_stddev=1.0)  # type: ignore[arg-type]
    quiet = dataclasses.replace(plan.evaluation.release, share=share)
    altered = dataclasses.replace(plan, evaluation=dataclasses.replace(plan.evaluation, release=quiet))
    with pytest.raises(ConfigurationError, match=r"evaluation\.release\.share"):
        require_follows(altered)
    document = json.loads(plan.document())
    del document["plan"]["evaluation"]
    from discreet.privacy.wire import digest

    document["digest"] = digest(document["plan"])
    with pytest.raises(ConfigurationError, match="if its config asks for one"):
        parse_plan(json.dumps(document).encode())


def test_evaluations_change_no_bit_of_the_training(evaluated: Run, tmp_path: Path) -> None:
    alone = train(planned(None), hospitals(), out=tmp_path / "run", seed=1)
    assert weights(alone).tobytes() == weights(evaluated).tobytes()
    assert composed([evaluated], delta=1e-5).epsilon == pytest.approx(8.0, rel=1e-2)


def test_evaluations_say_what_an_exact_measurement_says(tmp_path: Path) -> None:
    run = train(planned({"every": 2, "epsilon": 200.0, "bins": 50}), hospitals(), out=tmp_path / "r", seed=1)
    lines = [line for line in run.metrics if "held_out" in line]
    assert [one.after for one in run.evaluations] == [2, 4, 6]
    records = federation_of(run.plan.data, by_silo=hospitals().by_silo).pooled_test()
    for line, found in zip(lines, run.evaluations, strict=True):
        rows = {row.name: row for row in found.answer.rows}
        assert rows["units"].value == pytest.approx(len(records), abs=4)
        assert line["held_out"]["accuracy"][0] == rows["accuracy"].value
        assert rows["accuracy"].value == pytest.approx(line["accuracy"], abs=0.01)
        assert line["held_out"]["auc"][0] == pytest.approx(line["auc"], abs=0.03)


def test_a_run_is_verified_and_its_page_says_both(evaluated: Run) -> None:
    assert evaluated.verify()
    page = (evaluated.path / "report.html").read_text()
    assert "How good the model is, under the guarantee" in page
    assert "9 planned releases (6 rounds, 3 evaluations)" in page
    assert "sex = f: AUC" in page
    assert page.count(">ROC curve</figcaption>") == page.count(">Calibration</figcaption>") == 1
    listed = (evaluated.path / "answers.csv").read_text()
    assert "true-positive rate from 0.5 on" in listed
    assert '"is 0, called 1: count"' in listed
    assert json.loads((evaluated.path / "result.json").read_text())["held_out"]["accuracy"] is not None
    number = numbered(evaluated.record.guarantees)[NOT_MEASURED]
    assert f"**Publishing them breaks A{number}**" in model_card(evaluated.path)


@pytest.mark.parametrize(
    ("note", "refused"),
    [
        ("not private: exact functions of held-out records, which no guarantee covers", ""),
        (None, ""),
        ("covered by the guarantee", "metrics_note"),
    ],
    ids=["as written", "of an older run", "another"],
)
def test_exact_metrics_say_that_they_are(
    evaluated: Run, tmp_path: Path, note: str | None, refused: str
) -> None:
    copy = shutil.copytree(evaluated.path, tmp_path / "run")
    stated = json.loads((copy / "result.json").read_text())
    assert stated.pop("metrics_note").startswith("not private")
    (copy / "result.json").write_text(json.dumps(stated | ({} if note is None else {"metrics_note": note})))
    with pytest.raises(VerificationFailure, match=refused) if refused else nullcontext():
        check_result(Evidence(open_run(copy).record))


def test_an_altered_evaluation_is_found(evaluated: Run, tmp_path: Path) -> None:
    from discreet.verify import VerificationFailure, seal

    folder = tmp_path / "copy"
    folder.mkdir()
    for file in evaluated.path.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    lines[2]["held_out"]["accuracy"][0] += 0.01
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in lines))
    seal(folder)
    with pytest.raises(VerificationFailure, match="held_out"):
        open_run(folder).verify()


def test_no_earlier_evaluation_passes_for_the_last(evaluated: Run, tmp_path: Path) -> None:
    """Lines of the metrics can be left out, and the best evaluation kept; the state has all of them."""
    from discreet.verify import VerificationFailure, seal

    folder = tmp_path / "copy"
    folder.mkdir()
    for file in evaluated.path.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    lines = [line for line in evaluated.metrics if "held_out" not in line or line["release"] == 3]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in lines))
    result, first = json.loads((folder / "result.json").read_text()), evaluated.metrics[2]["held_out"]
    again = summarise(finished_run(RunDirectory(folder)))
    assert again["held_out"] == result["held_out"] != first
    (folder / "metrics.jsonl").write_bytes((evaluated.path / "metrics.jsonl").read_bytes())
    (folder / "result.json").write_text(json.dumps({**result, "held_out": first}, indent=1))
    seal(folder)
    with pytest.raises(VerificationFailure, match=r"result\.json: 'held_out"):
        open_run(folder).verify()


def test_a_threshold_is_an_edge_and_decides_who_is_called_so(tmp_path: Path) -> None:
    asked = {"every": 6, "epsilon": 300.0, "bins": [0.2, 0.5], "threshold": 0.2}
    run = train(planned(asked), hospitals(), out=tmp_path / "run", seed=1)
    records = federation_of(run.plan.data, by_silo=hospitals().by_silo).pooled_test()
    called = run.released.probabilities(records.features)[:, 1] >= 0.2
    (found,) = run.evaluations
    assert found.answer.grid is not None
    exact = [[(called[records.labels == label] == one).sum() for one in (0, 1)] for label in (0, 1)]
    cells = [[cell.value for cell in row[:2]] for _, row in found.answer.grid.rows[:2]]
    assert np.abs(np.subtract(cells, exact)).max() <= 2
    right = (called == records.labels).mean()
    assert run.metrics[-1]["held_out"]["accuracy"][0] == pytest.approx(right, abs=0.02)
    for file in ("answers.csv", "report.html"):
        assert "accuracy at 0.2" in (run.path / file).read_text()
    assert run.metrics[-1]["held_out"]["threshold"] == 0.2
    assert "evaluations under the guarantee call the second class from 0.2 on" in model_card(run.path)
    assert "--threshold 0.2" in scores_of(run).caveats[0]
    assert run.verify()
    with pytest.raises(ConfigurationError, match=r"'threshold' must be an edge of 'bins', 0\.2, 0\.5"):
        planned({**asked, "threshold": 0.3})


@pytest.mark.parametrize("release", [2, 3, 4, 9])
def test_a_run_that_was_killed_goes_on(release: int, tmp_path: Path) -> None:
    plan, out = planned({"every": 2, "epsilon": 8.0}), tmp_path / "run"
    with pytest.raises(Killed):
        train(plan, hospitals(), out=out, seed=1, observe=killed_at(release))
    run = train(plan, hospitals(), out=out, seed=1, opening=Opening.RESUME)
    assert [entry.release for entry in run.record.entries if isinstance(entry, Intent)] == [*range(1, 10)]
    assert [one.after for one in run.evaluations] == [2, 4, 6]
    assert run.verify()


@pytest.mark.parametrize("lost", [2, 3])
def test_a_release_that_may_have_been_seen_stays_charged(lost: int, tmp_path: Path) -> None:
    plan, out = planned({"every": 2, "epsilon": 8.0}), tmp_path / "run"
    with pytest.raises(Killed):
        train(plan, hospitals(), out=out, seed=1, observe=killed_at(lost - 1))
    with LedgerWriter.open(out / "ledger.jsonl") as ledger:
        ledger.append(Intent(lost, "0" * 64))
    run = train(plan, hospitals(), out=out, seed=1, opening=Opening.RESUME)
    assert run.record.spending.lost == (lost,)
    assert run.record.spending.charged == 9
    assert [one.after for one in run.evaluations] == ([2, 4, 6] if lost == 2 else [4, 6])
    page = (run.path / "report.html").read_text()
    assert f"{run.plan.order.name(lost)} was not repeated" in page
    table = page[page.index("<h3>Rounds</h3>") :].split("</table>")[0]
    named = re.findall(r"<tr><t[dh][^>]*>([^<]*)<", table[table.index("<tbody>") :])
    after = [f"evaluation after round {number}" for number in (2, 4, 6)]
    assert named == ["1", "2", after[0], "3", "4", after[1], "5", "6", after[2]]
    assert ("1 of 3 evaluations lost" in page) == (lost == 3)
    assert run.verify()
    result = json.loads((run.path / "result.json").read_text())
    assert result["evaluations"] == {"planned": 3, "completed": 5 - lost, "lost": lost - 2}
    result["evaluations"]["lost"] = 2
    (run.path / "result.json").write_text(json.dumps(result))
    with pytest.raises(VerificationFailure, match="evaluations"):
        check_result(Evidence(run.record))


def test_a_training_that_does_not_improve_ends_and_stays_ended(tmp_path: Path) -> None:
    # At this ε accuracies are exact to a unit, and a model that does not move cannot improve.
    still: dict[str, Any] = {"rounds": 8, "server": {"kind": "averaging", "learning_rate": 1e-9}}
    plan = planned({"every": 1, "epsilon": 300.0, "stop": {"patience": 2}}, **still)
    run = train(plan, hospitals(), out=tmp_path / "run", seed=1)
    charged = run.record.spending.charged
    assert 6 <= charged < plan.releases
    assert charged % 2 == 0
    assert run.verify()
    ledger = (run.path / "ledger.jsonl").read_bytes()
    again = train(plan, hospitals(), out=run.path, seed=1, opening=Opening.RESUME)
    assert again.record.spending.charged == charged
    assert (run.path / "ledger.jsonl").read_bytes() == ledger
    # The planned number is the bound that every row states, and that counts: results chose the end.
    assert run.guarantees[0].epsilon == plan.guarantees[0].epsilon
    budget, prefix = plan.spent(plan.releases), planned({"every": 1, "epsilon": 300.0}, **still)
    assert composed([run], delta=budget.delta).epsilon == pytest.approx(budget.epsilon, rel=1e-6)
    assert NO_CHOSEN_END not in budget.assumptions
    spent = prefix.spent(charged)
    assert (spent.status, NO_CHOSEN_END in spent.assumptions) == (Status.CONDITIONAL, True)
    assert spent.epsilon < 0.95 * budget.epsilon
    # So no file states the smaller ε of the releases that there were.
    assert {plan.spent(number) for number in (1, charged, plan.releases)} == {budget}
    assert {line["epsilon_spent"] for line in run.metrics} == {budget.epsilon}
    result = json.loads((run.path / "result.json").read_text())
    page = (run.path / "report.html").read_text()
    assert result["composable"] == composable_cost(plan)
    assert f"{charged} releases charged; all that is planned counts, for results may end" in page
    assert NO_CHOSEN_END not in page
    assert epsilon_text(spent.epsilon) not in page
    assert result["rounds"]["completed"] == charged // 2


def test_classes_of_arrays_are_counted(tmp_path: Path) -> None:
    chance = np.random.default_rng(3)
    rule = chance.normal(size=(5, 3))

    def silo() -> tuple[Any, Any]:
        rows = chance.normal(size=(200, 5)).astype(np.float32)
        return rows, (rows @ rule).argmax(axis=1)

    own = Arrays({name: silo() for name in SILOS}, num_classes=3, norm_bound=1.0)
    evaluate = {"every": 10, "epsilon": 100.0}
    plan = plan_training(own.public(capacity=200), target=Target(8.0), evaluate=evaluate)
    run = train(plan, own, out=tmp_path / "run", seed=1)
    line = run.metrics[-1]
    assert line["held_out"]["accuracy"][0] == pytest.approx(line["accuracy"], abs=0.03)
    assert line["held_out"]["auc"] is None
    answer = run.evaluations[-1].answer
    names = [row.name for row in answer.rows]
    assert names[:6] == ["units", "accuracy", COMMONEST, "recall of 0", "recall of 1", "recall of 2"]
    assert names[7] == "is 0, called 1: count"
    assert not answer.plots
    assert answer.grid is not None
    diagonal = sum(cells[place].value for place, (_, cells) in enumerate(answer.grid.rows[:3]))
    assert diagonal == pytest.approx(line["accuracy"] * answer.grid.rows[-1][1][-1].value, abs=6)
    assert run.verify()


@pytest.mark.parametrize("mechanism", ["rounded-gaussian", "discrete-laplace"])
def test_all_evaluations_together_satisfy_their_epsilon(mechanism: str, tmp_path: Path) -> None:
    plan = planned({"every": 2, "epsilon": 1.0, "mechanism": mechanism})
    assert plan.evaluation is not None
    assert plan.evaluation.spent(3).epsilon == pytest.approx(1.0, rel=1e-2)
    assert plan.evaluation.spent(1).epsilon < 0.7
    assert train(plan, hospitals(), out=tmp_path / "run", seed=1).verify()


def test_a_silo_may_drop_out_of_an_evaluation(tmp_path: Path) -> None:
    tables = {
        "data": {"source": "heart-disease", "record_capacity": 400},
        "training": {"rounds": 2, "local": {"kind": "stable-steps"}},
        "evaluate": {"every": 1, "epsilon": 5.0},
        "privacy": {"epsilon": 1.0, "delta": 1e-5},
        "aggregation": {"min_survivors": 3},
        "run": {"seed": 1, "dropouts": [{"silo": "cleveland", "round": 2}]},
    }
    result = run_locally(parse_config(tables, source="test"), tmp_path / "run")
    finish(result, None)
    run = open_run(tmp_path / "run")
    assert [len(entry.survivors) for entry in run.record.spending.completed] == [4, 3, 4, 4]
    first, last = (one.answer.rows[0].value for one in run.evaluations)
    assert first is not None
    assert last is not None
    # Cleveland's held-out records are not in the first sum.
    assert first < last
    assert run.verify()
    tables["run"] = {"dropouts": [{"silo": "cleveland", "round": 5}]}
    with pytest.raises(ConfigurationError, match="at most 4, all that is released"):
        run_locally(parse_config(tables, source="test"), tmp_path / "other")


def test_persons_are_on_one_side_with_all_their_records(tmp_path: Path) -> None:
    rules: dict[str, Any] = {"person": {"column": "who", "most_records": 2}}
    evaluate = {"every": 3, "epsilon": 8.0, "capacity": 150}
    public = hospitals(**rules).public(capacity=300)
    plan = plan_training(public, target=Target(8.0, unit="person"), rounds=3, local=LOCAL, evaluate=evaluate,
                         privacy={"clip_norm": 1.0})  # fmt: skip
    assert plan.evaluation is not None
    assert plan.evaluation.capacities == (150,) * 3
    run = train(plan, hospitals(**rules), out=tmp_path / "run", seed=1)
    assert run.evaluations[0].answer.about.endswith("shared evenly by their records")
    assert run.verify()


def test_records_of_a_feature_map_are_not_evaluated() -> None:
    images = np.zeros((20, 8, 8), dtype=np.float32), np.arange(20) % 2
    own = Arrays(dict.fromkeys(SILOS, images), num_classes=2, features="centred-pixels")
    plan_training(own.public(capacity=50), target=Target(8.0))
    with pytest.raises(
        ConfigurationError, match="transform must be left out where held-out records are asked"
    ):
        plan_training(own.public(capacity=50), target=Target(8.0), evaluate={"every": 1, "epsilon": 1.0})


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "the client unit": ({"privacy": {"unit": "client"}}, "without the client unit"),
    "fixed size": ({"training": {"sampling": {"kind": "fixed-size", "fraction": 0.5}}}, "without fixed-size"),
    "nothing held out": ({"data": {"test_fraction": 0.0}}, "test_fraction' must be above 0"),
    "a network": ({"model": {"name": "mlp"}}, "only the scores of linear heads are the same"),
    "a number": ({"data": {"label_range": [0.0, 1.0], "classes": None}}, "got a regression"),
    "no round": ({"evaluate": {"every": 7, "epsilon": 1.0}}, "'evaluate.every' must be at most the number"),
    "no column": ({"evaluate": {"every": 2, "epsilon": 1.0, "by": "height"}}, "'evaluate': .*'by' must name"),
    "no texts": ({"evaluate": {"every": 2, "epsilon": 1.0, "by": "age"}}, "'evaluate': .*'by' must name"),
    "a strange key": ({"evaluate": {"every": 2, "epsilon": 1.0, "delta": 1.0}}, "evaluate.delta"),
    "questions": (
        {"ask": [{"kind": "count"}], "training": None, "data": {"label": None, "classes": None}},
        "'evaluate' must be left out",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_parallel_or_not_public_is_refused_in_one_line(name: str) -> None:
    changes, message = REFUSED[name]
    tables: dict[str, Any] = {
        "training": {"rounds": 6, "local": {"kind": "single-step"}},
        "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip_norm": 1.0},
        "evaluate": {"every": 2, "epsilon": 0.5},
    }
    refuses(tables, changes, message)
