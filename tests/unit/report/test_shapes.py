"""What a model says, column by column: against its own log-odds, record by record."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from discreet.arrays import Floats
from discreet.config import parse_config
from discreet.data import TableRules
from discreet.data.bins import Bins
from discreet.data.columns import Categories, Column, Contrast, Days, Numeric
from discreet.data.frames import table_of
from discreet.data.table_source import TableSchema
from discreet.engines.local import run
from discreet.errors import ConfigurationError, LedgerError
from discreet.plan.weight_noise import WeightNoise
from discreet.report import collect, write_report
from discreet.report.html import Html
from discreet.report.model_says import model_says
from discreet.report.shapes import NORMAL_95, Form, Shape, Shapes, model_shapes, shapes_of, shown
from discreet.rounds import read_record
from tests.unit.report.conftest import CONFIG

ADDITIVE: tuple[Column, ...] = (
    Bins("age", 0.0, 100.0, (20.0, 50.0), missing=True),
    Categories("pain", ("none", "some", "much"), missing=True),
    Contrast("sex", "m", "f"),
)
MIXED: tuple[Column, ...] = (
    Numeric("age", 20.0, 80.0),
    Numeric("chol", 100.0, 400.0, not_measured=0.0),
    Days("seen", date(2020, 1, 1), date(2020, 12, 31)),
    Categories("pain", ("some", "much"), baseline="none"),
    Contrast("sex", "m", "f"),
)
NOISE = WeightNoise(0.5, proven=True)


def rules_over(
    columns: tuple[Column, ...], classes: tuple[str, ...] = ("no", "yes"), bound: float = 2.0
) -> TableRules:
    return TableRules(TableSchema("ill", classes, columns, silo=None), bound)


def weights_for(rules: TableRules, outputs: int = 1) -> Floats:
    features = sum(len(column.names) for column in rules.schema.columns) + 1
    return np.random.default_rng(4).normal(size=(outputs, features))


def added(shape: Shape, cell: str) -> float:
    """What a column's curve says of a cell."""
    if cell == "" and shape.missing is not None:
        return shape.missing.contribution
    match shape.form:
        case Form.STEPS:
            number = float(cell)
            levels = [at for at in shape.levels if isinstance(at.x, tuple) and at.x[0] <= number]
            return levels[-1].contribution
        case Form.BARS:
            return {str(at.x): at.contribution for at in shape.levels}[cell]
        case _:
            days = shape.form is Form.DAYS
            place = float(date.fromisoformat(cell).toordinal()) if days else float(cell)
            where = [float(at.x) for at in shape.levels if isinstance(at.x, float)]
            return float(np.interp(place, where, [at.contribution for at in shape.levels]))


def sums(rules: TableRules, shapes: Shapes, outcome: str, cells: Mapping[str, list[str]]) -> Floats:
    """The curves' sum for each record, and the constant."""
    curves = {shape.column: shape for shape in shapes.of(outcome)}
    constant = shapes.constants[shapes.outcomes.index(outcome)].contribution
    rows = zip(*(cells[name] for name in rules.used), strict=True)
    return np.array(
        [
            constant + sum(added(curves[name], cell) for name, cell in zip(rules.used, row, strict=True))
            for row in rows
        ]
    )


def logits(rules: TableRules, weights: Floats, cells: Mapping[str, list[str]]) -> Floats:
    features, _ = rules.features(table_of(cells, rules.used, name="the records"))
    return np.asarray(features.astype(np.float64) @ weights.T)


def test_over_bins_and_texts_the_curves_add_up_to_the_log_odds_of_every_record() -> None:
    rules = rules_over(ADDITIVE)
    weights = weights_for(rules)
    shapes = shapes_of(rules, weights, NOISE)
    cells = {
        "age": ["3", "20", "49.5", "99", "", "100"],
        "pain": ["none", "some", "much", "", "some", ""],
        "sex": ["m", "f", "f", "m", "m", "f"],
    }
    assert shapes.factors == (1.0, 1.0)
    assert sums(rules, shapes, "yes", cells) == pytest.approx(logits(rules, weights, cells)[:, 0], rel=1e-5)


def test_over_numbers_they_do_so_up_to_one_factor_a_record() -> None:
    rules = rules_over(MIXED)
    weights = weights_for(rules)
    shapes = shapes_of(rules, weights, NOISE)
    cells = {
        "age": ["20", "50", "80", "33"],
        "chol": ["0", "250", "400", "120"],
        "seen": ["2020-01-01", "2020-07-01", "2020-12-31", "2020-03-03"],
        "pain": ["none", "none", "much", "some"],
        "sex": ["m", "f", "f", "m"],
    }
    curves = {shape.column: shape for shape in shapes.shapes}
    assert curves["chol"].missing is not None
    assert curves["chol"].missing.x == "not measured"
    coded = {**cells, "chol": ["", *cells["chol"][1:]]}
    factors = logits(rules, weights, cells)[:, 0] / sums(rules, shapes, "yes", coded)
    low, high = shapes.factors
    assert np.all(factors >= low * (1 - 1e-6))
    assert np.all(factors <= high * (1 + 1e-6))
    # The longest complete record, and almost the shortest.
    assert factors[2] == pytest.approx(low, rel=1e-5)
    typical, least = 1 + 3 / 3 + 2 / 3 + 1, 1 + 1
    assert high == pytest.approx(math.sqrt(typical / least))


def test_of_several_classes_a_curve_is_against_their_mean() -> None:
    rules = rules_over(ADDITIVE, ("a", "b", "c"))
    weights = weights_for(rules, outputs=3)
    shapes = shapes_of(rules, weights, NOISE)
    assert shapes.outcomes == ("a", "b", "c")
    cells = {"age": ["3", "77"], "pain": ["none", ""], "sex": ["m", "f"]}
    found = logits(rules, weights, cells)
    against = found - found.mean(axis=1, keepdims=True)
    for place, outcome in enumerate(shapes.outcomes):
        assert sums(rules, shapes, outcome, cells) == pytest.approx(against[:, place], rel=1e-4)
    # The norm of a class's coefficients, 1 - 1/3 and twice -1/3.
    alone = shapes_of(rules_over(ADDITIVE), weights[:1], NOISE)
    ratio = (shapes.constants[0].band or 0.0) / (alone.constants[0].band or 1.0)
    assert ratio == pytest.approx(math.sqrt(2 / 3))


def test_a_band_is_the_noise_of_the_combination_of_weights() -> None:
    rules = rules_over(MIXED)
    shapes = shapes_of(rules, weights_for(rules), NOISE)
    length = 2.0 / math.sqrt(1 + 3 / 3 + 2 / 3 + 1)
    whole = NORMAL_95 * 0.5 * length
    curves = {shape.column: shape for shape in shapes.shapes}
    assert [at.band for at in curves["age"].levels] == pytest.approx([whole, 0.0, whole])
    assert [at.band for at in curves["pain"].levels] == pytest.approx([whole, whole, 0.0])
    assert curves["chol"].missing is not None
    assert curves["chol"].missing.band == pytest.approx(whole)
    assert shapes_of(rules, weights_for(rules), None).shapes[0].levels[0].band is None


def test_the_largest_columns_come_first_and_a_report_lists_the_others() -> None:
    columns = tuple(Numeric(f"c{number:04d}", 0.0, 1.0) for number in range(2000))
    rules = rules_over(columns, ("a", "b", "c"))
    shapes = shapes_of(rules, weights_for(rules, outputs=3), NOISE)
    own = [shape.spread for shape in shapes.of("b")]
    assert own == sorted(own, reverse=True)
    few = shown(shapes, columns=12, outcomes=2)
    assert [len(few.largest.of(outcome)) for outcome in ("a", "b", "c")] == [12, 12, 0]
    drawn = {shape.column for shape in few.largest.shapes}
    assert len(few.others) == 2000 - len(drawn)
    page = model_says(few)
    assert page.count("<figure>") == 24
    assert page.count("<details>") == 3
    assert "the first 2 are drawn" in page
    assert len(page) < 700_000


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (NOISE, "cannot amplify noise"),
        (WeightNoise(0.5, proven=False), "not proven for this training"),
        (None, "No band is drawn"),
    ],
)
def test_the_page_says_what_a_band_rests_on(noise: WeightNoise | None, words: str) -> None:
    rules = rules_over(MIXED)
    page = model_says(shown(shapes_of(rules, weights_for(rules), noise), columns=12, outcomes=12))
    assert words in page
    assert ('class="band"' in page) == (noise is not None)
    assert ('class="whisker"' in page) == (noise is not None)
    assert "one common factor" in page


def test_names_and_texts_are_escaped() -> None:
    hostile = "<script>&\"'"
    rules = rules_over((Categories(hostile, (hostile, "other")), Bins("b" + hostile, 0.0, 1.0, (0.5,))))
    page = model_says(shown(shapes_of(rules, weights_for(rules), NOISE), columns=12, outcomes=12))
    assert isinstance(page, Html)
    assert "<script" not in page


def test_a_long_list_of_texts_shows_its_largest_bars() -> None:
    rules = rules_over((Categories("country", tuple(f"country {n}" for n in range(60))),))
    page = model_says(shown(shapes_of(rules, weights_for(rules), NOISE), columns=12, outcomes=12))
    assert page.count('class="bar"') == 20
    assert "and 40 texts with smaller ones" in page


def test_a_run_is_shown_with_the_weights_that_its_ledger_names(finished: Path, directory: Path) -> None:
    shapes = model_shapes(read_record(finished))
    assert shapes.outcomes == ("1",)
    assert {shape.column for shape in shapes.shapes} >= {"age", "chol", "cp"}
    state = directory / "state.safetensors"
    data = bytearray(state.read_bytes())
    data[-1] ^= 1
    state.write_bytes(bytes(data))
    with pytest.raises(LedgerError, match=r"state\.safetensors must be the state that the ledger names"):
        model_shapes(read_record(directory))
    assert collect(directory).shapes is None


def test_a_report_shows_them_and_its_json_holds_them(directory: Path) -> None:
    page = write_report(directory).read_text(encoding="utf-8")
    assert "What the model says" in page
    held = json.loads((directory / "report.json").read_text(encoding="utf-8"))["shapes"]
    curve = held["largest"]["shapes"][0]
    first = model_shapes(read_record(directory)).shapes[0]
    assert curve["column"] == first.column
    assert curve["levels"][0]["contribution"] == first.levels[0].contribution


def test_a_network_has_no_curves(tmp_path: Path) -> None:
    config = CONFIG | {
        "model": {"name": "mlp"},
        "training": {"rounds": 1, "local": {"kind": "single-step"}},
        "privacy": CONFIG["privacy"] | {"clip_norm": 1.0},
        "run": {"seed": 5},
    }
    run(parse_config(config), tmp_path / "run")
    with pytest.raises(ConfigurationError, match="must be linear over the columns of a table"):
        model_shapes(read_record(tmp_path / "run"))
    page = write_report(tmp_path / "run").read_text(encoding="utf-8")
    assert "What the model says" not in page


def test_nothing_is_shown_before_a_round_is_completed(directory: Path) -> None:
    ledger = directory / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(ConfigurationError, match="a round must be completed"):
        model_shapes(read_record(directory))
    assert collect(directory).shapes is None
