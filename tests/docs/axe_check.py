"""Runs axe-core on pages in Chromium, in light and dark, narrow and wide; a check by hand, not a test.

python tests/docs/axe_check.py node_modules/axe-core/axe.min.js runs/heart/report.html explorer.html

Exit code 1 if axe finds a violation. The page's security policy is taken out of a copy, since it rightly
refuses scripts that are not its own.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_CHROMIUM = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
             "--disable-background-networking", "--disable-component-update", "--virtual-time-budget=60000",
             "--dump-dom")  # fmt: skip
_DARK = "--blink-settings=preferredColorScheme=0"
_RUN = """<pre id="found"></pre><script src="axe.js"></script><script>
axe.run({exclude: ["#found"]}).then((result) => {
  const found = result.violations.map(({id, impact, nodes}) => ({id, impact, nodes: nodes.length}));
  document.getElementById("found").textContent = JSON.stringify(found);
});
</script></body>"""


def violations(page: Path, axe: Path, *, width: int, dark: bool) -> list[dict[str, object]]:
    """Returns what axe finds on a page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(axe, folder / "axe.js")
        text = re.sub(
            r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8")
        )
        (folder / "page.html").write_text(text.replace("</body>", _RUN), encoding="utf-8")
        command = [
            "chromium",
            *_CHROMIUM,
            *([_DARK] if dark else []),
            f"--user-data-dir={folder / 'profile'}",
        ]
        command += [f"--window-size={width},900", f"file://{folder}/page.html"]
        document = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    told = re.search(r'<pre id="found">(.+?)</pre>', document, re.S)
    if told is None:
        raise SystemExit(f"{page}: axe did not finish")
    found: list[dict[str, object]] = json.loads(told[1])
    return found


def main() -> None:
    """Prints one line for each page, width and colour scheme."""
    axe, *pages = (Path(argument) for argument in sys.argv[1:])
    failed = False
    for page in pages:
        for width in (360, 1000):
            for dark in (False, True):
                found = violations(page, axe, width=width, dark=dark)
                failed |= bool(found)
                sys.stdout.write(
                    f"{page.name}, {width} px, {'dark' if dark else 'light'}: {found or 'none'}\n"
                )
    sys.exit(failed)


if __name__ == "__main__":
    main()
