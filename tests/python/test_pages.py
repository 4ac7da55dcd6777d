"""The pages of `plimsoll report` in a Chromium, if one is installed: no console messages, charts drawn, nothing wider
than the screen, on a phone and on a desktop, light and dark. Without a Chromium, this is reported."""

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
    """The latest build of the command."""
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
        """A record like the real one, longer and with more processes; one of its names is hostile."""
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

    def test_names_that_do_not_fit_are_left_out_and_none_is_broken_on_paper(self):
        record = json.loads(pathlib.Path(self.record).read_text())
        phase = record["phases"][0]
        record["phases"] = [{**phase, "phase": f"step {at}", "timeline": phase["timeline"][:2]} for at in range(200)]
        path = self.path("phases.json")
        pathlib.Path(path).write_text(json.dumps(record))
        shown = "[...document.querySelectorAll('.phases i')].filter(i => i.getClientRects().length).length"
        self.browser.open(self.page(path), width=1600)
        self.assertEqual(self.browser.value(shown), 0, "each has five pixels")
        self.browser.open(self.page(self.record), width=1600)
        self.assertEqual(self.browser.value(shown), 1)
        self.browser.open(self.page(self.record), width=700)
        self.browser.call("Emulation.setEmulatedMedia", media="print")
        lines = "Math.max(...[...document.querySelectorAll('th')].filter(th => !th.querySelector('wbr') && !th.innerText.includes(' ')).map(th => { const r = document.createRange(); r.selectNodeContents(th); return new Set([...r.getClientRects()].map(b => b.top)).size; }))"
        self.assertEqual(self.browser.value(lines), 1, "a title of one word is in one line")
        self.assertEqual(self.browser.value("document.documentElement.scrollWidth"), 700, "nothing is cut off")
        self.browser.call("Emulation.setEmulatedMedia", media="")

    def test_long_records_and_two_beside_each_other(self):
        hostile = "</script><script>console.error('ran')</script><img src=x onerror=alert(1)>"
        self.looks_right(self.page(self.long(10_000, 3, hostile)))
        self.looks_right(self.page(self.long(300, 500, "worker")))
        self.looks_right(self.page(self.record, self.long(300, 3, "again")))


    def repeated(self, name, count, mib):
        """The record of this many runs of one command with about this much memory: only its figures are synthetic,
        after one real run."""
        path = self.path(name)
        run = [plimsoll(), "run", "--repeat", "2", "--label", "load", "--record", path, "--", "true"]
        subprocess.run(run, check=True, stderr=subprocess.DEVNULL)
        record = json.loads(pathlib.Path(path).read_text())
        first = record["runs"][0]
        record["runs"] = [json.loads(json.dumps(first)) for _ in range(count)]
        for at, run in enumerate(record["runs"]):
            run["phases"][0]["readings"]["peak_rss"]["bytes"] = (mib << 20) + at * 37 % 11 * 65_536
        pathlib.Path(path).write_text(json.dumps(record))
        return path

    def readable(self, page, drawn):
        """At each size and theme nothing is wider than the screen, the console is silent, and `drawn` has the right
        height."""
        for width in (400, 1600):
            for theme in ("light", "dark"):
                with self.subTest(width=width, theme=theme):
                    self.browser.open(page, width=width, theme=theme)
                    self.assertEqual(self.browser.value("document.documentElement.scrollWidth"), width)
                    heights = self.browser.value(f"[...document.querySelectorAll('{drawn}')].map(e => e.getBoundingClientRect().height)")
                    self.assertTrue(heights and all(height > 40 for height in heights), heights)
                    self.assertEqual(self.browser.problems(), [])

    def caption(self, plot):
        """The details that the plot shows for its first and last dot, by the keys, and for one under the pointer."""
        call, value = self.browser.call, self.browser.value
        tip = f"document.querySelector('{plot} .tip').innerText"
        value(f"document.querySelector('{plot}').focus()")
        found = []
        for key in ("Home", "End"):
            for kind in ("keyDown", "keyUp"):
                call("Input.dispatchKeyEvent", type=kind, key=key, code=key)
            found.append(value(tip))
        x, y = value(f"(b => [b.x + b.width / 2, b.y + b.height / 2])(document.querySelector('{plot} circle').getBoundingClientRect())")
        call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        return [*found, value(tip)]

    def test_every_run_has_a_dot_that_tells_of_it(self):
        one, other = self.repeated("one.json", 8, 60), self.repeated("other.json", 9, 66)
        page = self.page(one)
        self.readable(page, ".strip .dots")
        self.assertEqual(self.browser.value("document.querySelectorAll('.strip:first-child circle').length"), 8)
        first, last, under = self.caption(".dots")
        self.assertTrue("run 1" in first and "60.00 MiB" in first and "exit 0" in first, first)
        self.assertIn("run 8", last)
        self.assertEqual(under, first)
        self.readable(self.page(one, other), ".strips.two .dots")
        self.assertGreater(self.browser.value("document.querySelector('.likely').getBoundingClientRect().width"), 1)

    def test_a_history(self):
        history, page = self.path("history.sqlite"), self.path("history.html")
        for commit in range(12):
            record = self.repeated(f"{commit}.json", 3, 60 if commit < 6 else 70)
            added = [plimsoll(), "history", "add", record, "--history", history, "--commit", f"{commit:040x}", "--branch", "main"]
            subprocess.run(added, check=True, stderr=subprocess.DEVNULL)
        shown = [plimsoll(), "history", "show", "--history", history, "--figure", "peak_rss", "--html", page]
        subprocess.run(shown, check=True, stdout=subprocess.DEVNULL)
        self.readable(page, ".plot.dots")
        value = self.browser.value
        self.assertEqual(value("[...document.querySelectorAll('.plot circle')].map(c => c.className.baseVal).join(' ')"), "one " * 6 + "bad" + " one" * 5)
        self.assertEqual(value("document.querySelector('.step-label').innerText"), "+16.6 %")
        first, last, under = self.caption(".plot.dots")
        self.assertTrue("0000000000" in first and "60." in first, first)
        self.assertIn("70.", last)
        self.assertEqual(under, first)


if __name__ == "__main__":
    unittest.main()
