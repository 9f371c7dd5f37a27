"""Headless Chromium, driven through the pipe of its DevTools: addresses, keys, what is shown, what is requested."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Seconds that an answer may take, also on a busy machine.
_PATIENCE = 60
_KEYS = {"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40, "Tab": 9}


class Chromium:
    """One tab.

    Attributes:
        events: of the tab, in order, as DevTools describes them.
    """

    def __init__(self, to: int, answers: int) -> None:
        self.events: list[dict[str, Any]] = []
        self._to, self._answers, self._buffer, self._number = to, answers, b"", 0
        self._session: str | None = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Performance", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the result of a command of DevTools."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]  # type: ignore[no-any-return]

    def _read(self) -> dict[str, Any]:
        deadline = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0, deadline - time.monotonic()))
            assert ready, "chromium does not answer"
            part = os.read(self._answers, 1 << 20)
            assert part, "chromium has ended"
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, path: Path, address: str = "") -> None:
        """Open a file at an address, and wait until the page is shown."""
        arrived = "new Promise(done => addEventListener('hashchange', () => setTimeout(done), {once: true}))"
        self.evaluate(f"void (window.arrived = {arrived})")
        found = self.send("Page.navigate", url=f"{path.as_uri()}{address}")
        if "loaderId" not in found:  # The document stays; its script gets the event, unless the address is the same.
            self.evaluate("Promise.race([window.arrived, new Promise(done => setTimeout(done, 1000))])")
        self.wait("document.readyState === 'complete' && document.querySelector('h1') !== null")

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page; of a promise, what it resolves to. The page's policy does not apply."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true in the page."""
        deadline = time.monotonic() + _PATIENCE
        while not self.evaluate(condition):
            assert time.monotonic() < deadline, condition
            time.sleep(0.01)

    def press(self, *keys: str, shift: bool = False) -> None:
        """Press keys one after the other: a character, or the name of a key."""
        for key in keys:
            code = _KEYS.get(key, ord(key[0].upper()))
            event = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
            text = {"text": "\r" if key == "Enter" else key} if key not in _KEYS or key == "Enter" else {}
            self.send("Input.dispatchKeyEvent", type="keyDown", **event, **text)
            self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    def resize(self, width: int, height: int, *, is_dark: bool = False) -> None:
        """Set the size of the window and the theme."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        theme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[theme])

    def picture(self, path: Path) -> None:
        """Write a picture of the whole page (PNG)."""
        found = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def print(self, path: Path) -> None:
        """Write what the printer would get (PDF)."""
        path.write_bytes(base64.b64decode(self.send("Page.printToPDF")["data"]))

    @property
    def requests(self) -> list[str]:
        """The addresses that were requested since the start, in order."""
        return [
            each["params"]["request"]["url"] for each in self.events if each["method"] == "Network.requestWillBeSent"
        ]


@contextmanager
def chromium(*options: str) -> Iterator[Chromium]:
    """Start Chromium with an empty profile, and end it."""
    # Chromium reads commands from descriptor 3 and writes answers to 4.
    (theirs_in, to), (answers, theirs_out) = os.pipe(), os.pipe()
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars"]
    process = subprocess.Popen(
        ["bash", "-c", f'exec 3<&{theirs_in} 4>&{theirs_out}; exec chromium "$@"', "bash", *arguments, *options],
        pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Chromium(to, answers)
    finally:
        process.kill()
        process.wait()
        os.close(to)
        os.close(answers)
