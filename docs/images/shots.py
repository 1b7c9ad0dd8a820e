"""Takes the upper part of a page as PNG: ``python docs/images/shots.py PAGE PNG WIDTH HEIGHT``."""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

from tests.browser.chrome import Browser, Page


def shot(page: Path, image: Path, width: int, height: int) -> None:
    """Writes so much of ``page`` as a window of this width shows in so many pixels; narrow ones too."""
    with tempfile.TemporaryDirectory() as profile, Browser(Path(profile)) as browser:
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        opened = Page(browser, page.resolve(), width=width)
        found = opened.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        image.write_bytes(base64.b64decode(found))


if __name__ == "__main__":
    shot(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
