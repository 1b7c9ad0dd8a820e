"""The frame of a self-contained page: its style, its scripts by their hashes, and nothing from outside."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from discreet.report.html import Html, tag


def resource(name: str) -> str:
    """Returns the text of a file that lies beside this one."""
    return resources.files(__name__.rpartition(".")[0]).joinpath(name).read_text(encoding="utf-8")


def document(title: str, body: Sequence[Html], *, style: str, scripts: Sequence[str]) -> str:
    """Returns a whole HTML document. Pure: the same input, the same bytes.

    Guarantee:
        The page's security policy lets the browser load nothing and run no script but ``scripts``, which are
        named by their hashes.

    Args:
        title: of the page.
        body: markup; ``scripts`` are put after it.
        style: CSS, trusted.
        scripts: JavaScript, trusted.
    """
    sources = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {sources}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("title", title),
        tag("style", Html(style)),
    )
    whole = tag("body", *body, *(tag("script", Html(script)) for script in scripts))
    return f"<!DOCTYPE html>\n{tag('html', head, whole, lang='en')}\n"


def _digest(script: str) -> str:
    """Returns the SHA-256 of a script as a security policy writes it."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
