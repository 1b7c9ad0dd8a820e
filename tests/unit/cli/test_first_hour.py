"""The first hour: a look at the machine, seven questions, a config that plans."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from discreet.cli import doctor as doctor_module
from discreet.cli.app import app, main
from discreet.cli.doctor import Observation
from discreet.config import load_config
from discreet.config.about import AboutConfig
from discreet.engines.local import prepare
from discreet.errors import EXIT_BAD_REQUEST

Command = Callable[..., tuple[int, str, str]]

TABLE = """hospital,age,pressure,sex,disease
north,50,120,female,0
north,61,150,male,1
south,47,110,male,0
south,70,160,female,1
east,55,130,female,0
east,66,140,male,1
"""
FEATURES = "age=20:90,pressure=80:220,sex=female|male"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Runs ``discreet`` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["discreet", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


def test_the_doctor_names_versions_and_leaves_nothing_behind(command: Command, tmp_path: Path) -> None:
    code, out, _ = command("doctor", "--json")
    assert code == 0
    found = {row["what"]: row["value"] for row in json.loads(out)}
    assert torch.__version__ in found["torch"]
    assert {"Python", "libraries", "Flower", "processor", "free memory", "clock", "this folder"} <= set(found)
    assert not list(tmp_path.iterdir())
    assert "fine" in command("doctor")[1]


def test_the_doctor_fails_for_what_must_be_mended(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        doctor_module, "observe", lambda: (Observation("clock", "1970", fit=False, advice="set it"),)
    )
    code, out, _ = command("doctor")
    assert code == 1
    assert "mend: set it" in out


@pytest.mark.parametrize("source", ["heart-disease", "digits"])
def test_the_config_of_a_bundled_federation_plans(command: Command, source: str, tmp_path: Path) -> None:
    silos = ["--silos", "5"] if source == "digits" else []
    code, _, err = command("init", "own.toml", "--source", source, "--epsilon", "0.5", *silos)
    assert code == 0, err
    plan = prepare(load_config(tmp_path / "own.toml")).plan
    assert plan.config.privacy.epsilon == 0.5
    assert len(plan.facts.silos) == (5 if silos else 4)


def test_the_config_of_a_table_plans(command: Command, tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text(TABLE)
    options = ("--source", "csv:patients.csv", "--silos", "hospital", "--label", "disease")
    code, _, err = command("init", *options, "--features", FEATURES, "--epsilon", "2", "--capacity", "64")
    assert code == 0, err
    assert "columns: hospital, age, pressure, sex, disease" in err
    plan = prepare(load_config(tmp_path / "discreet.toml")).plan
    assert plan.facts.silos == ("east", "north", "south")
    assert plan.capacities == (64, 64, 64)
    assert plan.facts.dimension == 5  # two numbers, two indicators, the constant


def test_a_label_of_texts_is_named_by_its_classes(command: Command, tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text(TABLE.replace(",0\n", ",no\n").replace(",1\n", ",yes\n"))
    options = ("--source", "csv:patients.csv", "--silos", "hospital", "--label", "disease", "--epsilon", "2")
    code, _, err = command("init", *options, "--features", FEATURES, "--classes", "no|yes")
    assert code == 0, err
    prepared = prepare(load_config(tmp_path / "discreet.toml"))
    assert prepared.plan.config.data.classes == ("no", "yes")
    assert sum(len(silo.train) + len(silo.test) for silo in prepared.federation.silos) == 6
    code, _, err = command(
        "init", "pq.toml", *options[2:], "--source", "parquet:p.parquet", "--features", FEATURES
    )
    assert code == 0, err
    assert load_config(tmp_path / "pq.toml").data.label == "disease"


def test_the_config_of_a_folder_plans_and_is_asked_for_no_silos(command: Command, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    for silo, separator in (("east", ","), ("north", ";"), ("south", ";")):
        (tmp_path / "tables" / f"{silo}.csv").write_text(TABLE.replace(",", separator))
    options = ("--source", "csv:tables/", "--label", "disease", "--features", FEATURES, "--epsilon", "2")
    code, _, err = command("init", *options)
    assert code == 0, err
    assert "columns: hospital, age, pressure, sex, disease" in err
    prepared = prepare(load_config(tmp_path / "discreet.toml"))
    assert prepared.plan.facts.silos == ("east", "north", "south")
    assert prepared.plan.config.data.separator == {"north": ";", "south": ";"}


def test_the_config_of_arrays_plans(command: Command, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((30, 4)), y=np.arange(30) % 5)
    options = ("--source", "npz:a.npz", "--silos", "3", "--epsilon", "2")
    code, _, err = command("init", *options, "--classes", "5")
    assert code == 0, err
    assert prepare(load_config(tmp_path / "discreet.toml")).plan.facts.num_classes == 5
    code, _, err = command("init", "other.toml", *options, "--classes", "no|yes")
    assert code == EXIT_BAD_REQUEST
    assert "must be a number, how many there are; got 'no|yes'" in err


def test_the_seven_questions_are_asked_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "patients.csv").write_text(TABLE)
    answers = ["csv:patients.csv", "hospital", "disease", FEATURES, "1.5", "to find the ill early", ""]
    result = CliRunner().invoke(app, ["init"], input="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    assert [line for line in result.output.splitlines() if line[:2] in {f"{n}." for n in range(1, 9)}] != []
    config = load_config(tmp_path / "discreet.toml")
    assert config.data.label == "disease"
    assert config.data.ranges == {"age": (20.0, 90.0), "pressure": (80.0, 220.0)}
    assert config.data.categories == {"sex": ("female", "male")}
    assert config.privacy.epsilon == 1.5
    assert config.about == AboutConfig(purpose="to find the ill early")
    assert "\n# why_epsilon = " in (tmp_path / "discreet.toml").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--features", "age=old"), "NAME=LOW:HIGH"),
        (("--features", "age=20:old"), "two numbers"),
        (("--features", FEATURES, "--epsilon", "-1"), "'privacy.epsilon'"),
        (("--source", "csv:absent.csv"), "readable file"),
    ],
)
def test_a_bad_answer_gets_one_line_and_no_file(
    command: Command, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    (tmp_path / "patients.csv").write_text(TABLE)
    given = ("--source", "csv:patients.csv", "--silos", "hospital", "--label", "disease", "--epsilon", "1")
    code, _, err = command("init", *given, *options)
    assert code == EXIT_BAD_REQUEST
    assert message in err
    assert not (tmp_path / "discreet.toml").exists()


def test_a_config_is_never_replaced(command: Command, tmp_path: Path) -> None:
    (tmp_path / "discreet.toml").write_text("mine")
    code, _, err = command("init", "--source", "heart-disease", "--epsilon", "1")
    assert code == EXIT_BAD_REQUEST
    assert "must not exist yet" in err
    assert (tmp_path / "discreet.toml").read_text() == "mine"
