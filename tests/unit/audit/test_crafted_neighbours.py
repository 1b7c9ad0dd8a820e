"""``discreet audit --crafted``, the coins that follow records, and what counts as a neighbour."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.audit import CraftedSettings, neighbours
from discreet.audit.crafted_files import TableFile, places_of
from discreet.audit.crafted_records import crafted_rows
from discreet.audit.following import FollowingCoins, aligned
from discreet.cli.app import app
from discreet.data import Records
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.models import build_model
from discreet.randomness import SeededRandom
from discreet.rounds import train_silo
from tests.unit.audit.audited_configs import HEART

FEW = ["--crafted", "--trials", "8"]


def records(*labels: int) -> Records:
    return Records(np.array(labels, np.float32)[:, None], np.array(labels, np.int64))


def places(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int64)


@pytest.mark.parametrize(
    ("one", "other", "numbered"),
    [
        ((5, 6, 7), (5, 7), ((0, 1, 2), (0, 2))),
        ((5, 6, 7), (6, 7), ((0, 1, 2), (1, 2))),
        ((5, 6), (5, 6, 7), ((0, 1), (0, 1, 2))),
        ((5, 6, 7), (5, 9, 7), ((0, 1, 2), (0, 1, 2))),
        ((5, 6), (5, 6), ((0, 1), (0, 1))),
        ((5,), (), ((0,), ())),
        ((5, 6, 7, 8), (5, 7), None),
        ((5, 6, 7), (7, 6, 5), None),
    ],
)
def test_records_keep_their_number_wherever_one_is_missing(
    one: tuple[int, ...], other: tuple[int, ...], numbered: tuple[tuple[int, ...], ...] | None
) -> None:
    found = aligned(records(*one), records(*other))
    assert (found and tuple(tuple(side.tolist()) for side in found)) == numbered


def test_every_record_keeps_its_coins_when_another_leaves() -> None:
    whole, fewer = FollowingCoins(3, places(0, 1, 2, 3, 4)), FollowingCoins(3, places(0, 1, 3, 4))
    kept = [0, 1, 3, 4]
    coins = whole.bernoulli(5, 0.5)
    assert coins[kept].tolist() == fewer.bernoulli(4, 0.5).tolist()
    entered = np.flatnonzero(coins)
    steps = dict(zip(entered.tolist(), whole.integers_below(len(entered), 100).tolist(), strict=True))
    others = np.array(kept)[coins[kept]]
    assert [steps[number] for number in others.tolist()] == fewer.integers_below(len(others), 100).tolist()
    assert whole.words(9).tolist() == fewer.words(9).tolist()
    assert whole.derive("noise").uniform(7).tolist() == fewer.derive("noise").uniform(7).tolist()


def test_a_slot_keeps_its_place_in_a_permutation() -> None:
    whole, fewer = FollowingCoins(3, places(0, 1, 2)), FollowingCoins(3, places(0, 2))
    # Slots: records first, then the empty ones; without record 1 its slot is empty and comes last.
    of_whole, of_fewer = whole.permutation(3), np.array([0, 2, 1])[fewer.permutation(3)]
    assert of_whole.tolist() == of_fewer.tolist()


def test_kinks_are_where_the_first_layer_vanishes() -> None:
    model = build_model("mlp", (12, 12), 3, seed=0)
    rows = dict(crafted_rows(model, (12, 12), None, SeededRandom(1)))
    assert np.abs(rows["as large as float32"]).max() > 1e38
    dense = next(layer for layer in model.modules() if hasattr(layer, "in_features"))
    weight = dense.weight.detach().double().numpy()  # type: ignore[operator]
    seen = weight @ rows["cancellation in the first layer"].ravel().astype(np.float64)
    assert np.abs(seen).max() < 1e-4 * np.abs(rows["cancellation in the first layer"]).max()


def test_bounded_rows_stay_within_their_bound() -> None:
    model = build_model("logistic", (9,), 2, seed=0)
    for _, row in crafted_rows(model, (9,), 1.0, SeededRandom(1)):
        assert np.linalg.norm(row.astype(np.float64)) <= 1.0


def test_a_table_is_written_as_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age,sick\n41,0\n52,1\n")
    table = TableFile.read(path, label="sick", used=("age",))
    source = table.rows(places(1, 0)).write(tmp_path / "own")
    assert Path(source.removeprefix("csv:")).read_text().split() == ["age,sick", "52,1", "41,0"]
    assert len({name for name, _ in table.altered(0)}) > 10


@pytest.mark.parametrize(("count", "most", "found"), [(3, 9, [0, 1, 2]), (9, 3, [0, 4, 8]), (9, 1, [4])])
def test_places_are_spread(count: int, most: int, found: list[int]) -> None:
    assert places_of(count, most) == found


def test_the_demo_keeps_its_claims() -> None:
    result = CliRunner().invoke(app, ["audit", str(HEART), *FEW, "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.output)
    assert document["exceeded"] is False
    assert 0.3 < max(found["largest"] for found in document["findings"]) <= 1.0


def test_the_exit_code_is_one_when_neighbours_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = train_silo

    def of_a_few(*arguments: Any, records: Records, **named: Any) -> Any:
        if len(records) > 3:
            raise PrivacyViolation("planted")
        return honest(*arguments, records=records, **named)

    monkeypatch.setattr(neighbours, "train_silo", of_a_few)
    result = CliRunner().invoke(app, ["audit", str(HEART), *FEW], env={"COLUMNS": "200"})
    assert result.exit_code == 1
    assert "fails with PrivacyViolation; the neighbour sends" in result.output
    assert "EXCEEDED" in result.output


def test_a_users_own_table_is_tried_row_by_row(tmp_path: Path) -> None:
    rows = [f"{20 + place % 50},{place % 2},{'abc'[place % 3]}" for place in range(60)]
    (tmp_path / "own.csv").write_text("age,sick,site\n" + "\n".join(rows) + "\n")
    config = tmp_path / "own.toml"
    config.write_text(
        f"""[data]
source = "csv:{tmp_path / "own.csv"}"
label = "sick"
ranges = {{ age = [0, 100] }}
record_capacity = 60
partition = {{ kind = "column", column = "site" }}
[training]
rounds = 1
local = {{ kind = "single-step" }}
[privacy]
epsilon = 4.0
delta = 1e-5
clip_norm = 0.5
"""
    )
    result = CliRunner().invoke(app, ["audit", str(config), *FEW, "--json"])
    found = json.loads(result.output)["findings"]
    tried = {finding["crafted"] for finding in found if finding["path"] == "the silo's own file"}
    assert {"a row less", "a row twice", "nan, in a feature", "unknown, in the label"} <= tried
    assert result.exit_code == 0, [finding for finding in found if finding["exceeded"]]


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="trials"):
        CraftedSettings(trials=0)


def test_a_table_in_another_encoding_is_read_as_the_loader_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("age,city,sick\n41,Zürich,0\n".encode("latin-1"))
    assert TableFile.read(path, label="sick", used=("age",)).count == 1
