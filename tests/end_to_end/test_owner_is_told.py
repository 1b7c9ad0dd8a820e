"""What a run tells the owner of the records: on the terminal and in --json, at the end again, in no file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from discreet.cli.app import app
from discreet.errors import ConfigurationError
from discreet.verify import verify

Run = Callable[..., Result]

CONFIG = """
name = "t"
[data]
source = "csv:{folder}/t.csv"
label = "ill"
classes = ["no", "yes"]
ranges = {{ age = [20, 40] }}
partition = {{ kind = "column", column = "site", names = ["north", "south", "west"] }}
record_capacity = {capacity}
[training]
rounds = 2
local = {{ kind = "stable-steps", learning_rate = 0.05, steps = 2 }}
[privacy]
epsilon = 1.0
delta = 1e-5
[run]
compare = false
seed = 3
"""


@pytest.fixture
def go(tmp_path: Path) -> Run:
    rows = [f"{['north', 'south'][n % 2]},{20 + n},{['no', 'yes'][n % 3 % 2]},p{n // 2}" for n in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["site,age,ill,who", *rows]))

    def run(*options: str, capacity: int = 40, persons: bool = False) -> Result:
        config = CONFIG.format(folder=tmp_path, capacity=capacity)
        if persons:
            person = f'person = {{ column = "who", capacity = {capacity}, most_records = 3, most_silos = 2 }}'
            config = config.replace(f"record_capacity = {capacity}", person)
            config = config.replace("[privacy]", '[privacy]\nunit = "person"')
        (tmp_path / "t.toml").write_text(config)
        return CliRunner().invoke(
            app, ["run", str(tmp_path / "t.toml"), "--out", str(tmp_path / "out"), *options]
        )

    return run


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_the_last_lines_repeat_what_became_of_the_records_and_no_file_holds_it(
    go: Run, tmp_path: Path
) -> None:
    result = go()
    assert result.exit_code == 0, result.output
    closing = one_line(result.stdout.partition("Look at the records")[2])
    assert "39 of 60 cells are outside [20, 40] and are clipped to it" in closing
    assert "silo 'west': NO TRAINING RECORD is its own" in closing
    assert "FAILS" not in result.stdout
    for file in (tmp_path / "out").iterdir():
        assert b"clipped to it" not in file.read_bytes(), file
        assert b"NO TRAINING RECORD" not in file.read_bytes(), file


def test_the_warnings_are_in_the_json_and_not_in_the_file(go: Run, tmp_path: Path) -> None:
    result = go("--json", capacity=10)
    found = json.loads(result.stdout)
    assert any("clipped to it" in line for line in found["warnings"])
    assert found["warnings"][-1].startswith("A1 FAILS HERE: north held ")
    assert "warnings" not in json.loads((tmp_path / "out" / "result.json").read_text())


def test_a_capacity_that_was_exceeded_stands_beside_the_status(go: Run) -> None:
    shown = go(capacity=10).stdout
    assert "PROVEN, but A1 FAILS" in shown
    # Two steps of one record: twice ε, and (1 + e) δ = 3.72e-5.
    assert "knows its own noise, ε 2.000, δ 3.72e-5 in place of ε 1.000, δ 1e-5" in one_line(shown)


def test_a_capacity_of_persons_that_was_exceeded_stands_there_too(go: Run) -> None:
    shown = one_line(go(capacity=10, persons=True).stdout)
    found = re.search(r"(A\d+) FAILS HERE: north held 10 more, south held 10 more than the capacity", shown)
    assert found is not None
    assert f"PROVEN, but {found[1]} FAILS" in shown


@pytest.mark.parametrize("persons", [False, True])
def test_quiet_says_what_fails(go: Run, persons: bool) -> None:
    assert "FAILS" not in go("--quiet", persons=persons).output
    failing = go("--quiet", "--overwrite", capacity=10, persons=persons)
    assert failing.stdout == ""
    assert re.match(r"A\d+ FAILS HERE: north held ", failing.stderr.splitlines()[-1])


def test_intervals_are_about_persons_where_persons_are_protected(go: Run, tmp_path: Path) -> None:
    shown = one_line(go("--quiet", persons=True).output + go("--overwrite", persons=True).stdout)
    assert re.search(r"\d+ held-out records of \d+ persons, not private", shown)
    told = CliRunner().invoke(app, ["evaluate", str(tmp_path / "out"), str(tmp_path / "t.csv")])
    assert re.search(r"records +│ +60 of 30 persons", told.output)
    rows = [line.rpartition(",")[0] for line in (tmp_path / "t.csv").read_text().splitlines()]
    (tmp_path / "nameless.csv").write_text("\n".join(rows))
    told = CliRunner().invoke(app, ["evaluate", str(tmp_path / "out"), str(tmp_path / "nameless.csv")])
    assert re.search(r"records +│ +60\n", told.output)
    assert "there is no column 'who', so every row is taken for another person's" in one_line(told.output)


def test_the_base_rate_stands_beside_every_accuracy(go: Run, tmp_path: Path) -> None:
    shown = one_line(go().stdout)
    lines = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    rate = lines[-1]["base_rate"]
    assert 0.5 <= rate < 1.0
    assert shown.count(f"base rate {rate:.3f}") == 2
    assert "always the commonest class (base rate)" in shown
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["final"]["base_rate"] == rate
    assert json.loads((tmp_path / "out" / "result.json").read_text())["metrics"]["base_rate"] == rate


def test_what_accuracy_hides_is_said_and_warned_of_in_the_end(go: Run, tmp_path: Path) -> None:
    shown = one_line(go().stdout)
    found = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    recall = found["classes"][1]["recall"][0]
    assert f"{found['records']} held-out records, not private: balanced accuracy" in shown
    assert f"recall {100 * recall:.1f} % (" in shown
    assert found["against"]["verdict"] != "above", "so few records say nothing for any model"
    warned = "that of always naming the commonest class"
    assert warned in shown
    assert warned in (tmp_path / "out" / "report.html").read_text()


def test_evaluation_switched_off_leaves_no_file(go: Run, tmp_path: Path) -> None:
    go()
    config = (tmp_path / "t.toml").read_text().replace("[run]", "[run]\nevaluate = false")
    (tmp_path / "off.toml").write_text(config)
    result = CliRunner().invoke(app, ["run", str(tmp_path / "off.toml"), "--out", str(tmp_path / "off")])
    assert result.exit_code == 0, result.output
    assert "held-out records, not private" not in one_line(result.stdout)
    assert not (tmp_path / "off" / "evaluation.json").exists()
    assert "How good is it" not in (tmp_path / "off" / "report.html").read_text()


def test_resuming_a_finished_run_changes_nothing_and_says_so(go: Run, tmp_path: Path) -> None:
    assert go().exit_code == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    result = go("--resume")
    assert result.exit_code == 0, result.output
    assert "is finished; nothing was changed" in result.stderr
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before
    # Another config is still refused, and a result that was lost is written again.
    assert isinstance(go("--resume", capacity=41).exception, ConfigurationError)
    (tmp_path / "out" / "result.json").unlink()
    assert go("--resume").exit_code == 0
    assert (tmp_path / "out" / "ledger.jsonl").read_bytes() == before["ledger.jsonl"]
    again = json.loads((tmp_path / "out" / "result.json").read_text())
    assert again["metrics"] == json.loads(before["result.json"])["metrics"]


PERSONS = """
name = "p"
[data]
source = "csv:{folder}/p.csv"
label = "ill"
classes = ["no", "yes"]
ranges = {{ age = [20, 80] }}
partition = {{ kind = "column", column = "site", names = ["north", "south", "west"] }}
person = {{ column = "who", capacity = {capacity}, most_records = 2 }}
[training]
rounds = 2
local = {{ kind = "stable-steps", learning_rate = 0.05, steps = 2 }}
[privacy]
unit = "person"
epsilon = 1.0
delta = 1e-5
[run]
compare = false
seed = 3
"""


def of_persons(folder: Path, *options: str, capacity: int) -> Result:
    rows = [f"p{n // 2},{['north', 'south', 'west'][n // 2 % 3]},{20 + n % 60},{['no', 'yes'][n % 2]}"
            for n in range(120)]  # fmt: skip
    (folder / "p.csv").write_text("\n".join(["who,site,age,ill", *rows]))
    (folder / "p.toml").write_text(PERSONS.format(folder=folder, capacity=capacity))
    return CliRunner().invoke(app, ["run", str(folder / "p.toml"), "--out", str(folder / "out"), *options])


def test_a_capacity_of_persons_that_was_exceeded_stands_beside_the_status(tmp_path: Path) -> None:
    shown = of_persons(tmp_path, capacity=10)
    assert shown.exit_code == 0, shown.output
    assert "PROVEN, but A32 FAILS" in shown.stdout
    assert "A32 FAILS HERE: " in shown.stdout
    assert "FAILS" not in of_persons(tmp_path, "--overwrite", capacity=60).stdout


def test_held_out_records_are_told_with_their_persons(tmp_path: Path) -> None:
    shown = one_line(of_persons(tmp_path, capacity=60).stdout)
    quality = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert 0 < quality["persons"] < quality["records"]
    assert f"{quality['records']} held-out records of {quality['persons']} persons, not private" in shown
    assert list(verify(tmp_path / "out"))
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"{quality['records']} held-out records of {quality['persons']} persons" in page
    assert "Person capacity" in page
    assert "public upper bounds on the training persons of each silo" in page


@pytest.mark.parametrize("persons", [False, True])
def test_what_fails_is_said_even_where_nothing_is_to_be_printed(
    go: Run, tmp_path: Path, persons: bool
) -> None:
    run = of_persons(tmp_path, "--quiet", capacity=10) if persons else go("--quiet", capacity=10)
    assert run.stdout == ""
    failing = [line for line in run.stderr.splitlines() if "FAILS HERE" in line]
    assert len(failing) == 1
    assert failing[0].startswith("A32 FAILS HERE" if persons else "A1 FAILS HERE")
