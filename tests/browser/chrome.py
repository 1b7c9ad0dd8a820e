"""Headless Chromium, driven over its DevTools protocol through a pair of pipes: no driver, no socket.

https://chromedevtools.github.io/devtools-protocol/ names methods and events.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

EXECUTABLE = shutil.which("chromium") or shutil.which("chromium-browser")

# As root, as in most containers, Chromium runs without its own sandbox only; it opens our own files only.
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
          "--disable-component-update", "--disable-sync", "--hide-scrollbars",
         "--remote-debugging-pipe")  # fmt: skip
# The browser reads commands from descriptor 3 and answers on 4.
_ON_PIPES = 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1'
_PATIENCE_SECONDS = 60.0
_MOST_PIXELS = 8000
_KEYS = {"Tab": 9, "Enter": 13, " ": 32}

Message = dict[str, Any]


class Browser:
    """One Chromium process; a context manager that ends it."""

    def __init__(self, profile: Path) -> None:
        command = [
            "sh",
            "-c",
            _ON_PIPES,
            str(EXECUTABLE),
            *_FLAGS,
            f"--user-data-dir={profile}",
            "about:blank",
        ]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._buffer = b""
        self._calls = 0
        self.events: list[Message] = []

    def call(self, method: str, session: str | None = None, **parameters: Any) -> Message:
        """Carries out one method and returns its result."""
        self._calls += 1
        message: Message = {"id": self._calls, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\0")
        self._process.stdin.flush()
        while True:
            answer = self._receive()
            if answer.get("id") != self._calls:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                result: Message = answer["result"]
                return result

    def wait_for(self, session: str, method: str) -> None:
        """Waits until an event of a session has come."""
        while not any(self._is(event, session, method) for event in self.events):
            self.events.append(self._receive())

    @staticmethod
    def _is(event: Message, session: str, method: str) -> bool:
        return event.get("sessionId") == session and event.get("method") == method

    def _receive(self) -> Message:
        assert self._process.stdout is not None
        descriptor, deadline = self._process.stdout.fileno(), time.monotonic() + _PATIENCE_SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(descriptor, 1 << 16) if ready else b""
            if not data:
                raise RuntimeError("Chromium does not answer")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: Message = json.loads(line)
        return message

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.terminate()
        self._process.wait(_PATIENCE_SECONDS)


class Page:
    """One tab that has opened one file.

    Args:
        browser: the process.
        file: what to open.
        width: of the window, CSS pixels.
        dark: whether the reader prefers dark.
        media: ``screen`` or ``print``.
    """

    def __init__(
        self, browser: Browser, file: Path, *, width: int = 1000, dark: bool = False, media: str = "screen"
    ) -> None:
        self.address = file.as_uri()
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session: str = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.call("Page.navigate", url=self.address)
        browser.wait_for(self._session, "Page.loadEventFired")

    def call(self, method: str, **parameters: Any) -> Message:
        """Carries out one method in this tab."""
        return self._browser.call(method, self._session, **parameters)

    def evaluate(self, expression: str) -> Any:
        """Returns the value of a JavaScript expression, awaited if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def click(self, element: str) -> None:
        """Clicks where the element lies that a JavaScript expression gives."""
        box = self.evaluate(
            f"(() => {{ const e = {element}; e.scrollIntoView({{block: 'center', inline: 'center'}});"
            " const box = e.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, **where)

    def press(self, key: str) -> None:
        """Presses and releases a key."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            named = {
                "key": key,
                "windowsVirtualKeyCode": _KEYS[key],
                "text": text if kind == "keyDown" else "",
            }
            self.call("Input.dispatchKeyEvent", type=kind, **named)

    def screenshot(self, path: Path) -> None:
        """Writes the upper part of the page as PNG."""
        size = self.evaluate("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], _MOST_PIXELS), "scale": 1}
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        path.write_bytes(base64.b64decode(data))

    def pdf(self, path: Path) -> None:
        """Prints the page."""
        data = self.call("Page.printToPDF", preferCSSPageSize=True, paperWidth=8.27, paperHeight=11.69)[
            "data"
        ]
        path.write_bytes(base64.b64decode(data))

    def told(self) -> list[str]:
        """Returns what the console and the browser's log said about the page."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self._events(lambda method: method in kinds)]

    def requests(self) -> list[str]:
        """Returns every address that the page asked for, its own included."""
        events = self._events(lambda method: method == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in events]

    def close(self) -> None:
        """Closes the tab."""
        self.call("Page.close")

    def _events(self, is_wanted: Callable[[str], bool]) -> list[Message]:
        self.evaluate("new Promise((resume) => requestAnimationFrame(() => setTimeout(resume, 0)))")
        own = [event for event in self._browser.events if event.get("sessionId") == self._session]
        return [event for event in own if is_wanted(event.get("method", ""))]
