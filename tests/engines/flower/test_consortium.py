"""A consortium's project from the command line, as its README says, offline and without anybody's records."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from discreet.cli import main
from discreet.config import load_config, parse_config
from discreet.config.columns import PersonConfig
from discreet.engines.flower.scaffold import write_consortium
from discreet.engines.flower.service import ServerFolder, serve_training
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError, NotEnoughSurvivors
from discreet.session.public import plan_without_data
from discreet.silo.policy import SignedAllowList, load_key, load_policy
from discreet.silo.requests import Deliver, Request
from discreet.silo.silo import open_silo
from tests.engines.conftest import DirectWire, SmallConsortium

SILOS = ("north", "south", "west")


@dataclass(frozen=True)
class Done:
    """What a command printed."""

    stdout: str
    stderr: str


def discreet(*arguments: Path | str, expect: int = 0) -> Done:
    """Runs the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    code: str | int | None = 0
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "argv", ["discreet", *map(str, arguments)]),
    ):
        try:
            main()
        except SystemExit as stopped:
            code = stopped.code
    assert code == expect, err.getvalue()
    return Done(out.getvalue(), err.getvalue())


def write_records(path: Path, seed: int, count: int = 120) -> None:
    generator = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "blood_pressure", "sex", "sick"])
        for number in range(count):
            age = generator.uniform(20, 90)
            sick = int(age + generator.normal(0, 15) > 60)
            writer.writerow([f"{age:.0f}", f"{generator.uniform(90, 180):.0f}", "fm"[number % 2], sick])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The steps of the README up to the plan."""
    folder = tmp_path_factory.mktemp("new") / "study"
    discreet("new", folder, "--silos", ",".join(SILOS))
    consortium = discreet("silo", "keygen", folder / "consortium.key").stdout.strip()
    enrolled = []
    for silo in SILOS:
        public = discreet("silo", "keygen", folder / "silos" / silo / "identity.key").stdout.strip()
        enrolled.append(f"{silo}={public}")
        policy = folder / "silos" / silo / "policy.toml"
        policy.write_text(policy.read_text().replace("0" * 64, consortium))
    discreet(
        "consortium", "sign", folder / "consortium.key", *enrolled,
        "--out", folder / "server" / "allow-list.json",
    )  # fmt: skip
    for number, silo in enumerate(SILOS):
        write_records(folder / "silos" / silo / "records.csv", number)
    discreet("consortium", "plan", folder / "config.toml", "--out", folder / "server" / "plan.json")
    return folder


@pytest.mark.slow
def test_the_key_script_does_the_same(tmp_path: Path) -> None:
    write_consortium(tmp_path / "study", SILOS)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    script = ["/bin/sh", str(tmp_path / "study" / "make-keys.sh")]
    subprocess.run(script, check=True, env={**os.environ, "PATH": path})
    consortium = load_key(tmp_path / "study" / "consortium.key")
    signed = SignedAllowList.parse((tmp_path / "study" / "server" / "allow-list.json").read_bytes())
    identities = {
        silo: load_key(tmp_path / "study" / "silos" / silo / "identity.key").public_key for silo in SILOS
    }
    assert signed.verified(consortium.public_key).keys == identities
    policy = load_policy(tmp_path / "study" / "silos" / "south" / "policy.toml")
    assert policy.consortium.public_key == consortium.public_key.hex()


def test_the_project_trains_and_its_run_verifies(project: Path, direct_wire: type[DirectWire]) -> None:
    unfinished = discreet("consortium", "finish", project / "server", expect=2)
    assert "plan.json" in unfinished.stderr
    silos = {n: open_silo(project / "silos" / name / "policy.toml") for n, name in enumerate(SILOS)}
    try:
        serve_training(direct_wire(silos), ServerFolder(project / "server"), patience_seconds=0.1)
    finally:
        for silo in silos.values():
            silo.close()
    outcome = json.loads((project / "server" / "outcome.json").read_bytes())
    assert outcome["status"] == "completed"
    assert outcome["guarantee"]["epsilon"] == pytest.approx(1.0, abs=0.02)
    discreet("consortium", "finish", project / "server", "--sign", project / "consortium.key")
    run = project / "server" / "run"
    assert {"result.json", "report.html", "report.json", "manifest.json"} <= {
        path.name for path in run.iterdir()
    }
    found = json.loads(discreet("verify", run, "--json").stdout)["findings"]
    assert "model, state" in {finding["what"] for finding in found}
    again = discreet("consortium", "finish", project / "server", expect=2)
    assert "--sign" in again.stderr
    (run / "model.safetensors").write_bytes(b"another model")
    assert "model.safetensors" in discreet("verify", run, expect=2).stderr


def test_a_training_that_was_stopped_is_not_sealed(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    def nobody_masks(_: int, request: Request) -> Request | None:
        return None if isinstance(request, Deliver) and request.parameters else request

    wire = direct_wire(consortium.silos, nobody_masks)
    with pytest.raises(NotEnoughSurvivors):
        serve_training(wire, consortium.folder.server, patience_seconds=0.1)
    refused = discreet("consortium", "finish", consortium.folder.server.path, expect=2)
    assert "0 of 3 rounds are completed" in refused.stderr


def test_check_says_what_leaves_and_what_it_costs(project: Path) -> None:
    done = discreet(
        "check", project / "silos" / "south" / "policy.toml", project / "server" / "plan.json", "--json"
    )
    found = json.loads(done.stdout)
    assert found["cost"]["epsilon"] == pytest.approx(1.0, abs=0.01)
    assert any("masked" in line for line in found["released"])


def test_check_refuses_with_code_3_what_the_silo_would_refuse(project: Path, tmp_path: Path) -> None:
    policy = project / "silos" / "west" / "policy.toml"
    text = policy.read_text()
    policy.write_text(text.replace("max_epsilon_per_training = 1.5", "max_epsilon_per_training = 0.5"))
    try:
        done = discreet("check", policy, project / "server" / "plan.json", expect=3)
    finally:
        policy.write_text(text)
    assert "max_epsilon_per_training" in " ".join(done.stdout.split())


def test_check_finds_a_schema_mismatch_with_code_2(project: Path) -> None:
    records = project / "silos" / "west" / "records.csv"
    text = records.read_text()
    records.write_text(text.replace("blood_pressure", "pressure", 1))
    try:
        done = discreet(
            "check", project / "silos" / "west" / "policy.toml", project / "server" / "plan.json", expect=2
        )
    finally:
        records.write_text(text)
    assert "blood_pressure" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_plan_without_data_is_the_plan_of_a_simulation_with_it(project: Path, tmp_path: Path) -> None:
    """Facts from the schema alone equal the facts of a federation that was loaded."""
    config = load_config(project / "config.toml")
    pooled = tmp_path / "all.csv"
    with pooled.open("w", newline="") as file:
        writer = csv.writer(file)
        for number, silo in enumerate(SILOS):
            rows = list(csv.reader((project / "silos" / silo / "records.csv").read_text().splitlines()))
            writer.writerows([[*rows[0], "site"]] if number == 0 else [])
            writer.writerows([*row, silo] for row in rows[1:])
    data = config.data.model_dump(exclude_none=True)
    simulated = parse_config(
        {
            **config.model_dump(exclude_none=True),
            "data": {**data, "source": f"csv:{pooled}", "partition": {"kind": "column", "column": "site"}},
        }
    )
    assert prepare(simulated).plan.facts == plan_without_data(config).facts


@pytest.mark.parametrize(
    ("silos", "words"),
    [(("a", "b"), "at least 3"), (("a", "b", "a"), "distinct"), (("a", "b", "c/d"), "letters, digits")],
)
def test_a_consortium_needs_three_usable_names(tmp_path: Path, silos: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        write_consortium(tmp_path / "new", silos)


def test_a_folder_that_holds_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(ConfigurationError, match="new or empty"):
        write_consortium(tmp_path, SILOS)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_list_is_never_signed_with_an_older_serial(project: Path) -> None:
    public = discreet("silo", "keygen", project / "spare.key").stdout.strip()
    done = discreet(
        "consortium", "sign", project / "consortium.key", f"spare={public}",
        "--out", project / "server" / "allow-list.json", expect=2,
    )  # fmt: skip
    assert "--serial must be above 1" in done.stderr


def test_capacities_by_name_are_what_names_the_silos(project: Path) -> None:
    config = load_config(project / "config.toml")
    data = config.data.model_copy(update={"record_capacity": 300})
    with pytest.raises(ConfigurationError, match="record_capacity"):
        plan_without_data(config.model_copy(update={"data": data}))


def test_capacities_of_persons_are_asked_for_by_name(project: Path) -> None:
    config = load_config(project / "config.toml")
    person = PersonConfig(column="patient", capacity=300, most_records=5)
    data = config.data.model_copy(update={"record_capacity": None, "person": person})
    with pytest.raises(
        ConfigurationError, match=r"'data\.person\.capacity' must name every silo .* on persons"
    ):
        plan_without_data(config.model_copy(update={"data": data}))


def test_classes_that_are_texts_are_planned_as_at_a_silo() -> None:
    """The plan without records has the classes that each silo's table will be read with."""
    config = parse_config(
        {
            "data": {
                "source": "csv:own.csv",
                "label": "stage",
                "classes": ["none", "early", "late"],
                "ranges": {"age": [20, 90]},
                "record_capacity": dict.fromkeys(SILOS, 100),
                "test_fraction": 0.0,
            },
            "training": {"rounds": 2, "local": {"kind": "stable-steps", "learning_rate": 0.02, "steps": 2}},
            "privacy": {"epsilon": 2.0, "delta": 1e-5},
        }
    )
    plan = plan_without_data(config)
    assert plan.facts.num_classes == 3
    assert plan.config.data.classes == ("none", "early", "late")
