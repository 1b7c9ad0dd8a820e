"""The card says what is known, leaves blank what is not, and shows every name as it is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet.privacy.notation import epsilon_text
from discreet.quality import Quality
from discreet.quality.intervals import percents
from discreet.released import model_card
from discreet.report import collect
from discreet.report.wording import accuracy_text
from discreet.session import Frames, Run, Target, plan_training, train
from tests.unit.released.conftest import Said


def rows(card: str, section: str) -> list[list[str]]:
    """The cells of the first table of a section, its header left out."""
    lines = card.split(f"## {section}\n")[1].split("\n## ", maxsplit=1)[0].splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("| ---"))
    table = lines[first + 1 :]
    end = next((place for place, line in enumerate(table) if not line.startswith("|")), len(table))
    return [line[2:-2].split(" | ") for line in table[:end]]


def test_a_card_says_what_plan_ledger_and_metrics_do(run: Run) -> None:
    card = model_card(run.path)
    assert card.startswith("---\nlicense:  # to be filled in\nlibrary_name: discreet\n")
    assert "pipeline_tag: tabular-classification\n" in card
    assert "> **Simulation.**" in card
    assert run.plan.digest() in card
    assert rows(card, "Data") == [
        ["age", "number from 20 to 90; what lies outside is clipped"],
        ["weight", "number from 40 to 120; what lies outside is clipped"],
        ["sex", "one of f, m; anything else counts as none of them"],
    ]
    assert "east 130, north 130, west 130" in card
    shown = rows(card, "Privacy")
    assert [row[1] for row in shown] == [epsilon_text(one.epsilon) for one in run.guarantees]
    assert [row[3].split(":")[0] for row in shown] == [one.status.value for one in run.guarantees]
    quality = collect(run.path).quality
    assert quality is not None
    measured = dict(rows(card, "Evaluation"))
    assert measured["Records"] == str(quality.records)
    assert measured["Accuracy"] == percents(quality.accuracy)
    assert measured["Base rate: always the commonest class"] == accuracy_text(quality.against.base_rate)
    assert isinstance(quality, Quality)
    assert measured["Calibration error"].endswith(quality.sureness.words)
    assert dict(row[:2] for row in rows(card, "Training"))["Probabilities"] == "not calibrated"
    assert "Accuracy, silo east, of " in card
    assert "not private: no guarantee covers them" in card
    assert "@software{discreet," in card


def test_names_cannot_change_the_card(tmp_path: Path) -> None:
    nasty = "a|b <script>[x](y) `z`"
    frames = Frames(
        {nasty: _some(nasty), "b": _some(nasty), "c": _some(nasty)},
        label="ill",
        ranges={nasty: (0, 1)},
        categories={"sex": ("# f", "m\n## Privacy")},
    )
    plan = plan_training(frames.public(capacity=20), target=Target(8.0), rounds=1)
    card = model_card(train(plan, frames, out=tmp_path / "run", evaluate=False).path)
    assert "<script>" not in card.replace(r"\<script", "")
    assert "> **Simulation.**" not in card
    assert card.count("\n## Privacy") == 1
    assert rows(card, "Data")[0][0] == r"a\|b \<script\>\[x\](y) \`z\`"
    assert "Nothing was measured" in card


def _some(column: str) -> dict[str, Any]:
    return {column: [0.5] * 6, "sex": ["# f"] * 6, "ill": [0, 1] * 3}


def test_a_card_needs_the_folder_but_no_code(run: Run, tmp_path: Path, discreet: Callable[..., Said]) -> None:
    file = run.path / "model.safetensors"
    said = discreet("export", file, "--card", tmp_path / "card.md", expect=2)
    assert "--card needs the folder of a run" in said.err
    copy = Path(shutil.copytree(run.path, tmp_path / "run"))
    (copy / "model.safetensors").unlink()
    discreet("export", copy, "--card", tmp_path / "card.md")
    assert (tmp_path / "card.md").read_text(encoding="utf-8") == model_card(run.path)
    again = discreet("export", copy, "--card", tmp_path / "card.md", expect=2)
    assert "--card must be a new file" in again.err
