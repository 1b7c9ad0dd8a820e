"""Makes the navigation from the folders, and the packages' pages from the program, when the site is built."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_HERE = Path(__file__).parent
sys.path.insert(0, str(_HERE))
reference = importlib.import_module("reference_pages")

_SHOWN = {".md", ".svg", ".png", ".csv", ".json", ".toml"}
_SECTIONS = {
    "Tutorial": ("tutorial", ["first-run", "own-csv", "own-model", "four-machines"]),
    "How-to": (
        "how-to",
        ["choose-epsilon", "choose-local-kind", "size-the-ring", "survive-dropouts", "operate-a-federation"],
    ),
    "Concepts": ("concepts", ["guarantee", "local-steps"]),
    "Theory": ("theory", ["README"]),
    "Decisions": ("adr", []),
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lists every page: the first ones of a section in a chosen order, then the others by name."""
    docs = Path(config.docs_dir)
    navigation: list[dict[str, Any]] = [{"Home": "index.md"}]
    for title, (folder, first) in _SECTIONS.items():
        pages = sorted((docs / folder).glob("*.md"), key=lambda page: (_place(page.stem, first), page.stem))
        if pages:
            navigation.append({title: [str(page.relative_to(docs)) for page in pages]})
    others = sorted(page.name for page in docs.glob("*.md") if page.name != "index.md")
    navigation.append({"Project": others})
    outside = _outside(docs.parent)
    navigation.append({"Reproductions": [path for path in outside if path.endswith(".md")]})
    kept = sorted(str(page.relative_to(docs)) for page in (docs / "reference").glob("*.md"))
    navigation.append({"Reference": [*kept, *reference.site_pages()]})
    config.nav = navigation
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of the packages, and what pages show from outside the folder."""
    root = str(Path(config.docs_dir).parent)
    for path in _outside(Path(root)):
        files.append(File(path, root, config.site_dir, config.use_directory_urls))
    for path, text in reference.site_pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Follows links between ``docs`` and ``reproductions``, which are neighbours only in the repository."""
    inside = re.sub(r"\]\(((?:\.\./)*)\.\./(reproductions/)", r"](\1\2", markdown)
    return inside.replace("](../../docs/", "](../../").replace("](../docs/", "](../")


def _outside(root: Path) -> list[str]:
    """Returns the pages, pictures and tables of the reproductions, by their path in the repository."""
    found = (path for path in (root / "reproductions").rglob("*") if path.suffix in _SHOWN)
    return sorted(str(path.relative_to(root)) for path in found)


def _place(stem: str, first: list[str]) -> int:
    return first.index(stem) if stem in first else len(first)
