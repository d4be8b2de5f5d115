"""Drives headless Chromium by its DevTools protocol, through a pair of pipes."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAM = "chromium-headless-shell"
PATIENCE = 60.0
"""Seconds after which a page that doesn't answer is given up."""


class Page:
    """A page in the browser. Collects errors and requests."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._buffer = b""
        self._count = 0
        self._session = ""
        self.errors: list[str] = []
        """What the page wrote to the console, and its exceptions."""
        self.requests: list[str] = []
        """Addresses that it asked for, itself included."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Calls a method of the protocol and returns its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self._count:
            self._note(answer)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            found = os.read(self._answers, 1 << 20)
            assert found, "the browser ended"
            self._buffer += found
        message, self._buffer = self._buffer.split(b"\0", 1)
        return dict(json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        what = event.get("params", {})
        if event["method"] == "Runtime.exceptionThrown":
            self.errors.append(str(what["exceptionDetails"]))
        elif event["method"] == "Runtime.consoleAPICalled":
            self.errors.append(str(what["args"]))
        elif event["method"] == "Log.entryAdded":
            self.errors.append(str(what["entry"]["text"]))
        elif event["method"] == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])

    def run(self, script: str) -> Any:
        """Returns the value of an expression in the page."""
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def open(self, path: Path, width: int = 1200, height: int = 900) -> float:
        """Opens a file; returns the seconds until it is drawn."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)  # fmt: skip
        begin = time.monotonic()
        self.call("Page.navigate", url=path.absolute().as_uri())
        ready = "document.readyState === 'complete' && location.protocol === 'file:'"
        while not self.run(ready):
            assert time.monotonic() < begin + PATIENCE, f"{path} isn't there after {PATIENCE} s"
            time.sleep(0.01)
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return time.monotonic() - begin

    def click(self, selector: str, x: float = 0.5, y: float = 0.5) -> None:
        """Clicks an element, at shares of its width and height."""
        self.run(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
        script = "(({left, top, width, height}) => [left, top, width, height])"
        box = self.run(f"{script}(document.querySelector({selector!r}).getBoundingClientRect())")
        at = {"x": box[0] + x * box[2], "y": box[1] + y * box[3]}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **at)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def press(self, *keys: str) -> None:
        for key in keys:
            for kind in ("keyDown", "keyUp"):
                text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
                self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                          windowsVirtualKeyCode=CODES.get(key, 0), **text)  # fmt: skip

    def colours(self, scheme: str) -> None:
        """Makes the system's colours "light" or "dark"."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Writes a PNG of the page."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def pdf(self, path: Path) -> None:
        """Prints the page."""
        found = self.call("Page.printToPDF", printBackground=False)
        path.write_bytes(base64.b64decode(found["data"]))


CODES = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
         "ArrowRight": 39, "ArrowDown": 40}  # fmt: skip


@contextlib.contextmanager
def browser() -> Iterator[Page]:
    """Starts a browser with one page, and ends it."""
    program = shutil.which(PROGRAM)
    assert program, f"{PROGRAM} is missing: script/setup installs it"
    commands, answers = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        options = (
            f"--no-sandbox --disable-gpu --remote-debugging-pipe --user-data-dir={home} "
            "--disable-dev-shm-usage --hide-scrollbars"
        )
        # The browser reads from 3 and writes to 4.
        script = f"exec {program} {options} 3<&{commands[0]} 4>&{answers[1]}"
        process = subprocess.Popen(
            ["bash", "-c", script], pass_fds=(commands[0], answers[1]), stderr=subprocess.DEVNULL
        )
        for end in (commands[0], answers[1]):
            os.close(end)
        try:
            yield Page(commands[1], answers[0])
        finally:
            process.kill()
            process.wait()
            for end in (commands[1], answers[0]):
                os.close(end)
