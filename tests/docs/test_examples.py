"""Every example works: configs plan, the notebook's cells run in order."""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from discreet.config import Config, load_config
from discreet.engines.local import prepare, run
from discreet.session import open_run

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True, scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The tables that examples name, in the current folder: made-up ones, and the bundled ones."""
    folder, before = tmp_path_factory.mktemp("examples"), Path.cwd()
    for name in ("src", "examples"):
        (folder / name).symlink_to(EXAMPLES.parent / name)
    for name in ("visits", "stays"):
        runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](folder / name)
    runpy.run_path(str(EXAMPLES / "follow_up.py"))["main"](folder / "runs" / "follow-up")
    os.chdir(folder)
    yield
    os.chdir(before)


def loaded(config: Path) -> Config:
    """Returns an example; one whose records are not bundled needs a folder that has them."""
    if "$DISCREET_DATA" in config.read_text() and "DISCREET_DATA" not in os.environ:
        pytest.skip("DISCREET_DATA must name a folder with the data sets of docs/results.md")
    return load_config(config)


@pytest.mark.parametrize("config", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_a_config_plans_and_keeps_its_target(config: Path) -> None:
    asked = loaded(config)
    plan = prepare(asked).plan
    assert asked.privacy.epsilon is None or plan.spent(plan.rounds).epsilon <= asked.privacy.epsilon


@pytest.mark.parametrize("name", ["digits", "clients", "visits", "stays", "abstracts"])
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    """Two rounds, or those that the plan works out; other tests run the heart example from end to end."""
    asked = loaded(EXAMPLES / f"{name}.toml")
    rounds = 2 if asked.training.rounds != "auto" else 20
    short = asked.model_copy(update={"training": asked.training.model_copy(update={"rounds": rounds})})
    result = run(short, tmp_path / name)
    assert len(result.spending.completed) == rounds
    if asked.data.label_range is None:
        assert result.metrics["accuracy"] > 0.1
    else:
        assert result.metrics["mae"] < 0.8 * result.metrics["constant_mae"]


def test_questions_are_answered(tmp_path: Path) -> None:
    """The bundled example's answers are near what its tables hold: 1,170 people, and shorter survival."""
    asked = load_config(EXAMPLES / "ask.toml")
    run(asked, tmp_path / "ask")
    count, stages, moments, *_, survival = open_run(tmp_path / "ask").answers
    (people,) = count.rows
    assert people.value == pytest.approx(1170, abs=60)
    assert stages.grid is not None
    assert stages.grid.header == ("standard", "new", "other or missing", "all")
    assert next(row.value for row in moments.rows if row.name == "age: mean") == pytest.approx(62, abs=5)
    curves = survival.plots[0].curves
    assert [curve.label for curve in curves] == ["standard", "new"]
    assert all(curve.points[0][1] == 1.0 and curve.points[5][1] < 1.0 for curve in curves)


@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    names: dict[str, Any] = {"__name__": "__notebook__"}
    printed = io.StringIO()
    for place, cell in enumerate(json.loads(notebook.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            source = compile("".join(cell["source"]), f"{notebook.name}, cell {place}", "exec")
            with contextlib.redirect_stdout(printed):
                exec(source, names)  # noqa: S102 (the notebook's own program)
    assert "PROVEN" in printed.getvalue()
    assert "one dropped out on purpose" in printed.getvalue()
