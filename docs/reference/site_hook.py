"""Makes the navigation from the folders, and the reference from the program, when the site is built."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_HERE = Path(__file__).parent
sys.path.insert(0, str(_HERE))
reference = importlib.import_module("reference_pages")

_SECTIONS = {
    "Tutorial": ("tutorial", ["first-run", "own-csv", "own-model", "four-machines"]),
    "How-to": ("how-to", ["choose-epsilon", "choose-local-kind", "size-the-ring", "survive-dropouts"]),
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
    navigation.append({"Reference": list(reference.pages())})
    config.nav = navigation
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages."""
    for path, text in reference.pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def _place(stem: str, first: list[str]) -> int:
    return first.index(stem) if stem in first else len(first)
