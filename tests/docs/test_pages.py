"""Every page does what it says: commands run, programs run, configs are valid, links lead somewhere."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import io
import re
import sys
import tomllib
import types
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from discreet.config import parse_config
from discreet.config.problems import known_keys
from tests.docs.blocks import Block, blocks

ROOT = Path(__file__).parents[2]
Shell = Callable[[str], int]
FOLDERS = ("tutorial", "how-to", "concepts")
# Their commands need Flower and several processes, or change the system; tests/engines/flower tests them.
ELSEWHERE = {"four-machines.md", "operate-a-federation.md"}
PAGES = sorted(
    page for folder in FOLDERS for page in (ROOT / "docs" / folder).glob("*.md") if page.name not in ELSEWHERE
)
NAMES = [str(page.relative_to(ROOT / "docs")) for page in PAGES]


@pytest.mark.filterwarnings("ignore:model '__main__")
@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_everything_on_a_page_runs(
    page: Path, folder: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    names = vars(notebook)
    for block in blocks(page.read_text(encoding="utf-8")):
        where = f"{page.name}, line {block.line}"
        if block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            assert shell(block.text) == block.exit_code, where
        elif block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block.text, where, "exec"), names)  # noqa: S102 (the page's own program)
        elif block.language == "toml":
            assert block.is_config, f"{where}: say what the block is by a comment before it"
            check_config(block)
        else:
            assert block.language == "text", where


def check_config(block: Block) -> None:
    """Checks a part of a config inside the example, with what its local kind replaces left out."""
    part = tomllib.loads(block.text)
    whole = tomllib.loads((ROOT / "tests" / "support" / "tuned_heart.toml").read_text(encoding="utf-8"))
    whole["data"] = part.pop("data", whole["data"])
    merge(whole, part)
    parse_config(whole)


def merge(into: dict[str, Any], part: Mapping[str, Any]) -> None:
    """Puts a part's tables into a config; inline tables with a kind replace as a whole."""
    for name, value in part.items():
        if isinstance(value, dict) and "kind" not in value and isinstance(into.get(name), dict):
            merge(into[name], value)
        else:
            into[name] = value


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_keys_that_pages_name_exist() -> None:
    """A dotted key in code font, such as ``data.record_capacity``, must be a key of the config."""
    tables = known_keys([], {})
    for page in PAGES:
        for table, key in re.findall(r"`(\w+)\.(\w+)`", page.read_text(encoding="utf-8")):
            if table in tables and key != "safetensors":  # a file
                assert key in known_keys([table], {table: {}}), f"{page.name}: {table}.{key}"


def test_names_in_the_architecture_page_exist() -> None:
    """Every class and call in code font is defined in the package, every path is there."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    defined = set(re.findall(r"^\s*(?:class|def) (\w+)", source, re.M))
    called = set(re.findall(r"`(?:\w+\.)?(\w+)\([^`]*`", page)) | set(re.findall(r"`([A-Z]\w+)`", page))
    assert len(called) > 15
    assert called - defined == set()
    for path in re.findall(r"`([\w/]+(?:/|\.py|\.toml))`", page):
        assert (ROOT / path).exists(), path


def test_names_in_the_contributors_page_exist() -> None:
    """Every folder in code font is there, and every folder of tests has its row."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests|src|bench|docs|reproductions)[\w/]*)/?`", page)
    assert len(named) > 12
    assert [path for path in named if not (ROOT / path).exists()] == []
    tests = {f"tests/{found.name}" for found in (ROOT / "tests").iterdir() if any(found.rglob("*.py"))}
    assert tests - set(named) == set()


SUFFIXES = ("toml", "service", "conf", "sock", "md", "py", "pub", "key")


# Decisions and changes are about what was there, too; the reference is made from the program.
WRITTEN = [
    page
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    if page.parent.name not in ("adr", "reference") and page.name != "CHANGELOG.md"
]


def in_code_font(pattern: str) -> set[tuple[str, str]]:
    """Returns what fits a pattern, in code font, on every page of ours, with the name of the page."""
    return {
        (page.name, found)
        for page in WRITTEN
        for found in re.findall(rf"`({pattern})", page.read_text(encoding="utf-8"))
    }


def test_dotted_names_of_ours_exist_on_every_page() -> None:
    """``discreet.plan.Plan`` and its like: a module, or what stands in one."""
    named = in_code_font(r"(?:discreet|ds)\.[\w.]*\w(?=[^`]*`)")
    ours = [
        (page, f"discreet.{name.partition('.')[2]}") for page, name in named if not name.endswith(SUFFIXES)
    ]
    assert len(ours) >= 15
    assert [one for one in ours if not resolves(one[1])] == []


def test_members_of_classes_exist_on_every_page() -> None:
    """``Plan.own`` and its like: the class is ours, and its file names the member."""
    named = in_code_font(r"[A-Z]\w+\.\w+(?=[`(])")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    homes = {name: text for text in sources for name in re.findall(r"^class (\w+)", text, re.M)}
    ours = [(page, *name.split(".")) for page, name in named if name.partition(".")[0] in homes]
    assert len(ours) >= 8
    assert [one for one in ours if not re.search(rf"\b{one[2]}\b", homes[one[1]])] == []


# Of other projects, or to be made by the reader.
NOT_OURS = {"lighter/impl/he.py", "src/discreet/kinds/NAME.py", "src/discreet/learning/NAME.py"}


def test_paths_of_programs_exist_on_every_page() -> None:
    """``plan/order.py`` and its like: in the repository, or below the package."""
    named = {path for _, path in in_code_font(r"(?:[\w-]+/)+[\w-]+\.py(?=[` ])")}
    roots = (ROOT, ROOT / "docs", ROOT / "src" / "discreet")
    assert len(named) > 25
    assert {path for path in named if not any((root / path).exists() for root in roots)} == NOT_OURS


FOREIGN = {"GaussianDpEvent", "StandardScaler", "SimpleImputer", "MemoryDenyWriteExecute", "NonZero"}


def test_classes_that_pages_name_exist() -> None:
    """A name of two capitals in code font is a class of ours or of Python, or one of the few of others."""
    sources = [path for folder in ("src", "tests", "examples") for path in (ROOT / folder).rglob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    defined = set(re.findall(r"\bclass (\w+)", text)) | set(re.findall(r"^(\w+)\b.* = ", text, re.M))
    found = [page for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")) if "adr" not in page.parts]
    pages = "\n".join(page.read_text(encoding="utf-8") for page in found)
    named = set(re.findall(r"`([A-Z][a-z]+[A-Z]\w*)[`(.]", pages))
    assert len(named) > 8
    assert named - defined - set(dir(builtins)) == FOREIGN


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of the longest module in it."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        return reduce(lambda value, part: getattr(value, part, None), parts[length:], found) is not None
    return False


def test_a_name_that_is_not_there_does_not_resolve() -> None:
    assert resolves("discreet.plan.Plan.digest")
    assert not resolves("discreet.plan.Plan.sum")
    assert not resolves("discreet.nothing")


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "adr"
    index = (folder / "README.md").read_text(encoding="utf-8")
    for page in sorted(folder.glob("0*.md")):
        title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        assert f"- [{title}]({page.name})" in index, page.name
