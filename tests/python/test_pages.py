"""The pages of `plimsoll report` in a Chromium, where one is installed: no word on the console, charts drawn, nothing wider
than the screen, on a telephone and on a desk, light and dark. Where there is none this says so."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
CHROMIUM = browser.installed()


def plimsoll():
    """The command as it was built last."""
    built = [TARGET / kind / "plimsoll" for kind in ("debug", "release")]
    built = [path for path in built if path.exists()]
    return max(built, key=lambda path: path.stat().st_mtime, default=None)


@unittest.skipUnless(CHROMIUM, "not run: no Chromium is installed (PLIMSOLL_CHROMIUM may name one)")
@unittest.skipUnless(plimsoll(), "not run: plimsoll is not built")
class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.browser = browser.Browser(CHROMIUM).__enter__()
        cls.addClassCleanup(cls.browser.__exit__)
        cls.record = cls.path("record.json")
        grow = "import time\nheld = []\nfor _ in range(20):\n    held.append(bytearray(4 << 20)); time.sleep(.01)"
        ceilings = ["--peak-rss", "48MiB", "--peak-anon", "1GiB", "--swap-growth", "0B", "--available-floor", "1MiB"]
        code = subprocess.run([plimsoll(), "run", *ceilings, "--record", cls.record, "--", sys.executable, "-c", grow],
                              stderr=subprocess.DEVNULL).returncode
        assert code == 1, code

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def page(self, *records):
        page = self.path("page.html")
        subprocess.run([plimsoll(), "report", *records, "--html", page], check=True)
        return page

    def long(self, points, processes, label):
        """A record like the one that was made, longer and with more processes; one of its names is hostile."""
        record = json.loads(pathlib.Path(self.record).read_text())
        phase = record["phases"][0]
        phase["wall_ns"] = points * 10_000_000
        sample = phase["timeline"][-1]
        phase["timeline"] = [{**sample, "at_ns": at * 10_000_000, "rss": (at * 350_003) % (96 << 20)} for at in range(points)]
        process = phase["processes"][0]
        phase["processes"] = [{**process, "pid": at + 1, "name": label} for at in range(processes)]
        phase["phase"] = label
        path = self.path("long.json")
        pathlib.Path(path).write_text(json.dumps(record))
        return path

    def looks_right(self, page):
        for width in (400, 1600):
            for theme in ("light", "dark"):
                with self.subTest(width=width, theme=theme):
                    self.browser.open(page, width=width, theme=theme)
                    value = self.browser.value
                    self.assertEqual(value("document.documentElement.scrollWidth"), width, "nothing is wider than the screen")
                    drawn = value("[...document.querySelectorAll('.plot path.rss')].map(p => p.getBoundingClientRect().height)")
                    self.assertTrue(drawn and all(height > 20 for height in drawn), drawn)
                    paper = value("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
                    self.assertEqual(sum(paper) < 384, theme == "dark", paper)
                    self.assertEqual(self.browser.problems(), [])

    def test_a_run(self):
        page = self.page(self.record)
        self.looks_right(page)
        value = self.browser.value
        self.assertGreater(value("document.querySelector('.plot path.over').getBoundingClientRect().height"), 5)
        lines = value("document.querySelectorAll('.load-line').length + document.querySelectorAll('.far span').length")
        self.assertEqual(lines, 3, "two ceilings and a floor")

    def test_the_values_follow_the_pointer_the_keys_and_the_theme_its_button(self):
        self.browser.open(self.page(self.record), width=1600)
        call, value = self.browser.call, self.browser.value
        x, y = value("(b => [b.x + b.width / 2, b.y + 100])(document.querySelector('.plot').getBoundingClientRect())")
        call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.assertIn("RSS", value("document.querySelector('.tip').innerText"))
        value("document.querySelector('.plot').focus()")
        before = value("document.querySelector('.tip p').innerText")
        for kind in ("keyDown", "keyUp"):
            call("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight")
        self.assertNotEqual(value("document.querySelector('.tip p').innerText"), before)
        for kind, at in (("mousePressed", x), ("mouseMoved", x + 200), ("mouseReleased", x + 200)):
            call("Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", buttons=1, clickCount=1)
        self.assertFalse(value("document.querySelector('.view button').hidden"), "a stretch is looked at closer")
        value("document.querySelector('[data-theme=dark]').click()")
        self.assertLess(sum(value("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")), 384)
        self.assertEqual(self.browser.problems(), [])

    def test_long_records_and_two_beside_each_other(self):
        hostile = "</script><script>console.error('ran')</script><img src=x onerror=alert(1)>"
        self.looks_right(self.page(self.long(10_000, 3, hostile)))
        self.looks_right(self.page(self.long(300, 500, "worker")))
        self.looks_right(self.page(self.record, self.long(300, 3, "again")))


if __name__ == "__main__":
    unittest.main()
