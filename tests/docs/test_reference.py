"""The generated reference leaves nothing out; the site's navigation neither."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import reference_pages as reference
from python_page import python_page

import discreet

ROOT = Path(__file__).parents[2]


def test_every_command_and_option_is_described() -> None:
    page = reference.commands_page()
    names = [name for name, _ in reference.commands()]
    assert {f"discreet {verb}" for verb in ("run", "plan", "report", "verify", "init", "doctor")} <= set(
        names
    )
    for name, command in reference.commands():
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert len(section.split()) > 5, f"{name} says too little about itself"
        for parameter in command.params:
            assert any(f"`{option}`" in section for option in parameter.opts if option.startswith("--")) or (
                f"`{parameter.name.upper()}`" in section or parameter.name == "help"
            ), f"{name}: {parameter.name}"


def test_every_key_of_the_config_is_described() -> None:
    page = reference.configuration_page()
    for path, table in reference.tables():
        section = page.partition(f"\n## {path}\n")[2].partition("\n## ")[0]
        assert section, f"{path} is on the page twice, or not at all"
        meanings = reference.meanings(table)
        for name, field in table.model_fields.items():
            assert f"| `{reference.key_of(name, field)}` |" in section, f"{path}: {name}"
            assert meanings[name], f"{table.__name__} must say what {name!r} means"
    headings = re.findall(r"^## .*$", page, re.M)
    assert len(headings) == len(set(headings))


def test_the_keys_of_the_example_are_in_the_reference() -> None:
    page = reference.configuration_page()

    def check(table: dict[str, Any]) -> None:
        for key, value in table.items():
            assert f"| `{key}` |" in page or key in {
                "cleveland",
                "hungary",
                "switzerland",
                "long_beach_va",
            }, key
            if isinstance(value, dict):
                check(value)

    check(tomllib.loads((ROOT / "examples" / "heart.toml").read_text()))


@pytest.mark.parametrize(("name", "text"), reference.kept_pages().items())
def test_the_pages_in_the_repository_are_those_of_the_program(name: str, text: str) -> None:
    kept = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert kept == text, f"docs/reference/{name} is of another program; run `make reference`"


def test_every_public_name_is_on_the_page_and_every_link_in_it_leads_to_one() -> None:
    page = python_page()
    headings = re.findall(r"^### (?:class )?discreet\.([\w.]+)$", page, re.M)
    estimators = [f"sklearn.{name}" for name in discreet.sklearn.__all__]
    assert sorted(headings) == sorted({*discreet.__all__, *estimators} - {"__version__"})
    anchors = {
        re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", page, re.M)
    }
    assert len(anchors) == len(re.findall(r"^#+ ", page, re.M))
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) <= anchors


def test_every_example_on_the_page_is_one_that_the_tests_run() -> None:
    """Examples are those of docstrings, which pytest runs; nothing else on the page looks like one."""
    page = python_page()
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    run = {line.strip() for line in sources.splitlines() if line.strip().startswith(">>>")}
    shown = re.findall(r"^>>> .*$", page, re.M)
    assert len(shown) > 15
    assert set(shown) <= run


@pytest.mark.parametrize("name", reference.packages())
def test_every_public_package_has_a_page(name: str) -> None:
    page = reference.site_pages()[f"reference/python/{name}.md"]
    assert f"::: discreet.{name}" in page


def test_the_front_page_leads_to_every_tutorial_and_how_to() -> None:
    front = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for folder in ("tutorial", "how-to", "concepts"):
        for page in (ROOT / "docs" / folder).glob("*.md"):
            assert f"({folder}/{page.name})" in front, page.name
