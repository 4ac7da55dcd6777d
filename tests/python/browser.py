"""Chromium over its debugging pipe, using only the standard library."""

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time


class Browser:
    """A headless Chromium in a temporary profile."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(prefix="plimsoll-page-", ignore_cleanup_errors=True)
        # The browser reads from descriptor 3 and writes to 4.
        (reads, self.commands), (self.answers, writes) = os.pipe(), os.pipe()

        def hand_over():
            os.dup2(os.dup(reads), 3)
            os.dup2(os.dup(writes), 4)

        # Both ends are above 4, so that none is overwritten.
        reads, writes = (fcntl_above(fd) for fd in (reads, writes))
        self.process = subprocess.Popen(
            [
                program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
                "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "about:blank",
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(3, 4), preexec_fn=hand_over, close_fds=True, start_new_session=True,
        )
        os.close(reads)
        os.close(writes)
        self.buffer, self.last, self.events = b"", 0, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        # Its helper processes also write to the profile until they are gone.
        for _ in range(12_000):
            try:
                os.killpg(self.process.pid, 0)
            except ProcessLookupError:
                break
            time.sleep(0.05)
        self.profile.cleanup()

    def message(self):
        while b"\0" not in self.buffer:
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise RuntimeError("the browser is gone")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.last += 1
        command = {"id": self.last, "method": method, "params": params}
        if hasattr(self, "session"):
            command["sessionId"] = self.session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        while True:
            message = self.message()
            if message.get("id") == self.last:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            if "method" in message:
                self.events.append(message)

    def open(self, path, width=1600, height=1000, theme="light"):
        """Opens a page and returns the milliseconds until its load event and its first frame."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())
        return self.value("new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))")

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def problems(self):
        """The console's messages, and uncaught errors."""
        found = []
        for event in self.events:
            if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded"):
                found.append(json.dumps(event["params"])[:500])
            if event["method"] == "Runtime.consoleAPICalled":
                found.append(json.dumps(event["params"]["args"])[:500])
        return found

    def screenshot(self, path, whole=True):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))


def fcntl_above(fd):
    """The same file under a descriptor of at least 10."""
    import fcntl

    above = fcntl.fcntl(fd, fcntl.F_DUPFD, 10)
    os.close(fd)
    return above


def installed():
    """The program of a Chromium; None without one."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    return os.environ.get("PLIMSOLL_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
