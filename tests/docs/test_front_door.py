"""What the pages at the root say exists: links, commands with their options, make targets."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference_pages as reference

from tests.docs.blocks import blocks

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_and_their_options_exist(page: Path) -> None:
    known = {name: {o for p in command.params for o in p.opts} for name, command in reference.commands()}
    lines = [line for block in blocks(page.read_text(encoding="utf-8")) if block.language == "sh"
             for line in block.text.splitlines() if line.startswith("discreet ")]  # fmt: skip
    for line in lines:
        words = shlex.split(line.partition("|")[0], comments=True)
        words = [word for word in words if word not in ("-v",)]
        name = " ".join(words[:3]) if " ".join(words[:3]) in known else " ".join(words[:2])
        assert name in known, line
        used = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert used - {"--help"} <= known[name], line


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    named = re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.M)
    assert set(named) <= targets


def test_the_sample_in_the_readme_has_the_rows_that_a_run_prints() -> None:
    """The claims of the sample are those of the example's plan; its measurements vary from run to run."""
    from discreet.config import load_config
    from discreet.engines.local import prepare
    from discreet.plan import judged
    from discreet.privacy.notation import epsilon_text

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    plan = prepare(load_config(ROOT / "examples" / "heart.toml")).plan
    shown = re.findall(r"^(.+?)  +([\d.]+)  1e-5  PROVEN  (\w+ \([\d.]+ %\))  A1", readme, re.M)
    claims = {
        (row.adversary.describe(), epsilon_text(row.epsilon), judged(plan, row).short)
        for row in plan.guarantees[:4]
    }
    assert claims <= set(shown)
    assert len(shown) == 5
    assert str(judged(plan, plan.spent(plan.rounds))) in " ".join(readme.split())
    for done in (1, 2, 3, 4, plan.rounds):
        (line,) = [line for line in readme.splitlines() if line.startswith(f"round {done}/{plan.rounds} ")]
        assert "ε" not in line, "an ε of some rounds is no guarantee"


def test_the_program_in_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)

    def patients() -> dict[str, Any]:
        age, pressure = draw.uniform(20, 90, 120), draw.uniform(80, 220, 120)
        return {"age": age, "pressure": pressure, "disease": (age + pressure > 210).astype(int)}

    names: dict[str, Any] = {name: patients() for name in ("north", "east", "south", "new_patients")}
    (program,) = [
        block.text
        for block in blocks((ROOT / "README.md").read_text(encoding="utf-8"))
        if block.language == "python"
    ]
    exec(program, names)  # noqa: S102 (the page's own program)
    assert names["risk"].shape == (120,)
    assert (tmp_path / "runs" / "python" / "report.html").is_file()
