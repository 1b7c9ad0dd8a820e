"""The report of a short run and the explorer around the example, and a browser to open them in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from discreet.config import load_config, parse_config
from discreet.config.about import AboutConfig
from discreet.config.evaluate import EvaluateConfig
from discreet.engines.flower.engine import FlowerEngine
from discreet.engines.local import prepare, run
from discreet.models import build_model, flatten
from discreet.randomness import SeededRandom
from discreet.report import write_report
from discreet.report.exploration import explore
from discreet.report.explorer import render
from discreet.report.owner import write_owner_page
from discreet.rounds import RoundOrder
from discreet.silo.policy import load_policy
from discreet.silo.state import SiloState
from tests.browser.chrome import EXECUTABLE, Browser, Page
from tests.engines.conftest import DirectWire, make_consortium, small_config

ROOT = Path(__file__).parents[2]
ARTEFACTS = ROOT / "build" / "browser"
PAGES = ("report", "explorer", "owner", "additive", "answers", "watched")
QUESTIONS: dict[str, Any] = {
    "name": "six questions",
    "data": {"source": "heart-disease", "record_capacity": 400},
    "ask": [
        {"kind": "count"},
        {"kind": "table", "of": ["sex", "cp"]},
        {"kind": "table", "of": ["age"]},
        {"kind": "moments", "of": ["age", "thalach", "trestbps"], "components": 2},
        {"kind": "linear-regression", "outcome": "thalach", "on": ["age", "sex", "cp"]},
        {"kind": "survival", "time": "age", "event": "exang", "by": "sex", "title": "How long " + "w" * 60},
        {"kind": "logistic-regression", "outcome": "exang", "on": ["sex", "cp"], "title": "Odds " + "w" * 60},
    ],
    "privacy": {"epsilon": 4.0, "delta": 1e-5},
}


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages by name."""
    folder = tmp_path_factory.mktemp("pages")
    # With numbers of its own, so that local steps can be turned as well.
    prepared = prepare(load_config(ROOT / "tests" / "support" / "tuned_heart.toml"))
    explorer = folder / "explorer.html"
    explorer.write_text(render(explore(prepared.config, prepared.plan)), encoding="utf-8")
    short = prepared.config.training.model_copy(update={"rounds": 4})
    result = run(prepared.config.model_copy(update={"training": short}), folder / "run")
    owner = owners_page(folder / "consortium")
    additive = run(load_config(ROOT / "examples" / "heart_additive.toml"), folder / "additive")
    asked = short.model_copy(update={"rounds": 2}), EvaluateConfig(every=1, epsilon=4.0)
    watched = prepared.config.model_copy(update=dict(zip(("training", "evaluate"), asked, strict=True)))
    return {
        "report": write_report(result.directory.path),
        "explorer": explorer,
        "owner": owner,
        "watched": write_report(run(watched, folder / "watched").directory.path),
        "additive": write_report(additive.directory.path),
        "answers": write_report(run(parse_config(QUESTIONS), folder / "answers").directory.path),
    }


def owners_page(folder: Path) -> Path:
    """The page of a silo that took part in a round, and is asked for more by a plan with long words."""
    made = make_consortium(folder, small_config())
    facts, wire = made.plan.facts, DirectWire(made.silos)
    proposal = made.folder.server.proposal()
    engine = FlowerEngine(proposal, wire, SeededRandom(1), patience_seconds=0.05, announce=lambda _: None)
    engine.open()
    start = flatten(build_model("logistic", facts.feature_shape, facts.num_classes, seed=0))
    engine.sum_round(RoundOrder(1, 1, start))
    for silo in made.silos.values():
        silo.close()
    path = made.folder.policy("cleveland")
    about = AboutConfig(
        controller="University Hospital " + "W" * 80, purpose="To find out whether " + "x" * 200
    )
    config = made.plan.config.model_copy(update={"about": about, "name": "a second training " + "y" * 90})
    waiting = dataclasses.replace(made.plan, config=config)
    SiloState(load_policy(path)).keep_pending(waiting)
    return write_owner_page(
        load_policy(path), path, datetime(2026, 11, 23, tzinfo=UTC), folder / "owner.html"
    )


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests; skips where there is none."""
    if EXECUTABLE is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def visit(browser: Browser, files: dict[str, Path]) -> Iterator[Callable[..., Page]]:
    """Opens a page by name in a new tab, which is closed after the test."""
    opened: list[Page] = []

    def go(name: str, **settings: Any) -> Page:
        opened.append(Page(browser, files[name], **settings))
        return opened[-1]

    yield go
    for page in opened:
        page.close()
