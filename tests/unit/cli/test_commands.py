"""The command line: JSON that parses, help with an example, and one line for every mistake."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.errors import EXIT_BAD_REQUEST

HEART = str(Path(__file__).parents[2] / "support" / "tuned_heart.toml")

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs ``discreet`` in this process and returns exit code, output and error output."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["discreet", *arguments])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_a_plan_as_json_names_every_adversary(command: Command) -> None:
    code, out, _ = command("plan", HEART, "--json")
    assert code == 0
    document = json.loads(out)
    adversaries = [row["adversary"]["type"] for row in document["plan"]["guarantees"]]
    assert adversaries[:4] == ["ReleasedModels", "Member", "AggregationServer", "ServerWithColluders"]
    assert adversaries.count("WithoutSecureAggregation") == 4
    assert document["composable"]["mu"] > 0.0


def test_a_sweep_prints_a_table_and_draws_it(command: Command, tmp_path: Path) -> None:
    plot = tmp_path / "sweep.svg"
    code, out, _ = command(
        "plan", HEART, "--sweep", "local.learning_rate=0.03,0.5", "rounds=5,10", "--plot", str(plot)
    )
    assert code == 0
    assert "refused (1)" in out
    assert out.count("1.000") == 2
    assert plot.read_text().startswith("<?xml")
    code, out, _ = command("plan", HEART, "--sweep", "rounds=5,10", "--json")
    assert [row["settings"] for row in json.loads(out)] == [{"rounds": 5}, {"rounds": 10}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plan", HEART, "rounds=5"), "belong to --sweep"),
        (("plan", HEART, "--sweep"), "--sweep must be followed by settings"),
        (("plan", HEART, "--sweep", "roundz=5"), "a sweep must name a key"),
        (("plan", HEART, "--sweep", "rounds=5", "--plot", "x.bmp"), "--plot must end in"),
        (("plan", "absent.toml"), "must be a readable file"),
        (("run", HEART, "--resume"), "--resume must say which training"),
        (("run", HEART, "--resume", "--overwrite", "--out", "x"), "exclude each other"),
        (("report", "absent"), "must be readable"),
        (("fly",), "No such command 'fly'"),
    ],
)
def test_a_mistake_gets_exit_code_2(command: Command, arguments: tuple[str, ...], message: str) -> None:
    code, _, err = command(*arguments)
    assert code == EXIT_BAD_REQUEST
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize("verb", ["run", "plan", "report"])
def test_every_verb_has_help_with_an_example(command: Command, verb: str) -> None:
    code, out, _ = command(verb, "--help")
    assert code == 0
    assert f"discreet {verb}" in out


def test_a_run_as_json_is_one_document_and_its_report_can_be_made_again(
    command: Command, tmp_path: Path
) -> None:
    out_dir = tmp_path / "run"
    code, out, _ = command("run", HEART, "--out", str(out_dir), "--json")
    assert code == 0
    result = json.loads(out)
    assert result["randomness"] == "secure"
    assert result["rounds"] == {"planned": 8, "completed": 8, "lost": 0, "aborted": 0}
    assert {"plan.json", "ledger.jsonl", "metrics.jsonl", "model.safetensors"} <= set(result["files"])
    assert json.loads((out_dir / "result.json").read_text())["plan"] == result["plan"]
    (out_dir / "report.html").unlink()
    code, out, _ = command("report", str(out_dir))
    assert code == 0
    assert (out_dir / "report.html").exists()
