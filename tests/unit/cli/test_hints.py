"""An error that a page explains names the page, on its one line; every page that is named is there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from discreet import errors
from discreet.cli import main
from discreet.cli.written import written
from discreet.errors import BudgetExhausted, ConfigurationError, DataError, HowTo, NotEnoughSurvivors

ROOT = Path(__file__).parents[3]
HEART = (ROOT / "tests" / "support" / "tuned_heart.toml").read_text(encoding="utf-8")

MODEL = """
from torch import nn

def normalised(shape, classes):
    return nn.Sequential(nn.Linear(shape[0], 8), nn.BatchNorm1d(8), nn.Linear(8, classes))
"""


@pytest.fixture
def own_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a module of models, to be in."""
    (tmp_path / "models.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize("page", HowTo)
def test_every_page_is_there(page: HowTo) -> None:
    assert (ROOT / page.value).is_file()


def test_a_kind_of_error_has_a_page_and_a_case_may_have_another() -> None:
    assert ConfigurationError("x").see is None
    assert DataError("x").see is HowTo.DATA
    assert DataError("x", see=HowTo.RING).see is HowTo.RING
    assert DataError("y").see is HowTo.DATA
    assert BudgetExhausted("x").see is HowTo.EPSILON
    assert NotEnoughSurvivors("code", "x").see is HowTo.DROPOUTS
    assert str(DataError("x", see=HowTo.RING)) == "x"


def test_every_page_is_named_by_some_error() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    assert [
        page for page in HowTo if f"HowTo.{page.name}" not in code.replace(errors.__doc__ or "", "")
    ] == []


@pytest.mark.usefixtures("own_model")
@pytest.mark.parametrize(
    ("old", "new", "page"),
    [
        ("[aggregation]", "[aggregation]\nbits = 8", HowTo.RING),
        ("min_survivors = 3", "min_survivors = 9", HowTo.DROPOUTS),
        ("min_survivors = 3", "min_survivors = 2", HowTo.DROPOUTS),
        ('unit = "record"', 'unit = "client"', HowTo.LOCAL_KIND),
        ('name = "logistic"', 'name = "models:normalised"', HowTo.OWN_MODEL),
        ('source = "heart-disease"', 'source = "npz:absent.npz"', HowTo.DATA),
    ],
)
def test_an_error_ends_with_its_page(
    old: str, new: str, page: HowTo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in HEART
    Path("config.toml").write_text(HEART.replace(old, new))
    monkeypatch.setattr(sys, "argv", ["discreet", "plan", "config.toml"])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    assert ended.value.code == errors.EXIT_BAD_REQUEST
    assert told.count("\n") == 1
    assert told.endswith(f" See {page.value}.\n"), told


@pytest.mark.parametrize("tab", ["tab", "\\t", "\t"])
def test_a_tab_can_be_typed(tab: str) -> None:
    assert written(tab, None, None) == {"separator": "\t"}
    assert written(";", None, None) == {"separator": ";"}
