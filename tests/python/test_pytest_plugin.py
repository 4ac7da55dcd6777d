"""The pytest plugin, run as a user would: alone, under xdist, with pytest's own options."""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from program import ROOT, program

SAMPLE = os.path.join(ROOT, "tests", "python", "plugin_sample.py")


class Scene:
    """A project with tests, and pytest's output for them."""

    def __init__(self, text, ini=""):
        self.folder = tempfile.TemporaryDirectory()
        with open(self.path("test_a.py"), "w", encoding="utf-8") as file:
            file.write(text)
        with open(self.path("pytest.ini"), "w", encoding="utf-8") as file:
            file.write("[pytest]\n" + ini)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def pytest(self, *arguments):
        """Runs pytest with only this plugin and xdist; returns its output, and the outcome and text of each test."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PLIMSOLL"))}
        environment.update(
            PYTHONPATH=os.path.join(ROOT, "harness", "python"), PYTHONDONTWRITEBYTECODE="1", PLIMSOLL=program(),
            PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PLIMSOLL_RECORD_DIR=self.path("records"), COLUMNS="200")
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "plimsoll.pytest_plugin", "-p", "xdist.plugin", "-rA",
             f"--junitxml={self.path('junit.xml')}", *arguments],
            cwd=self.folder.name, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=600)
        return ended.returncode, ended.stdout, self.cases()

    def cases(self):
        """The outcome, first line and whole text of each test."""
        cases = {}
        for case in ElementTree.parse(self.path("junit.xml")).iter("testcase"):
            ends = [end for end in case if end.tag in ("failure", "error", "skipped")]
            tag, message, text = (ends[0].tag, ends[0].get("message", ""), ends[0].text or "") if ends else ("passed", "", "")
            name = case.get("classname").split(".")[-1] + "." + case.get("name")
            cases[name.removeprefix("test_a.")] = (tag, message, text)
        return cases

    def record(self, name):
        with open(self.path(f"records/test_a.py.{name}.json"), encoding="utf-8") as file:
            return json.load(file)


class EveryEnd(unittest.TestCase):
    """Every end of a test, under two workers of xdist."""

    @classmethod
    def setUpClass(cls):
        with open(SAMPLE, encoding="utf-8") as file:
            cls.scene = Scene(file.read())
        cls.code, cls.printed, cls.cases = cls.scene.pytest("-n", "2")

    @classmethod
    def tearDownClass(cls):
        cls.scene.folder.cleanup()

    def case(self, name):
        return self.cases[name]

    def test_outcomes(self):
        expected = {
            "passed": ["holds_and_a_fixture_is_no_growth", "parameters[plain]", "parameters[a::b[c] d/e]",
                       "parameters[a::b[c] d e]", "unmarked_runs_here", "the_nearest_mark_counts", "passes"],
            "failure": ["a_peak_counts_what_a_fixture_holds", "broken", "fails_and_broken", "fails",
                        "killed_by_a_signal", "too_slow", "killed_at_its_ceiling", "leaves_its_process",
                        "expected_to_raise_but_broken", "TestOfUnittest.test_fails"],
            "error": ["wrong_arguments", "no_name", "setup_fails", "teardown_fails"],
            "skipped": ["skipped_by_a_mark", "skips", "expected_to_break"],
        }
        wanted = {}
        for outcome, names in expected.items():
            for name in names:
                wanted[name if "." in name else f"test_{name}"] = outcome
        found = {name: end[0] for name, end in self.cases.items()}
        found["test_the_nearest_mark_counts"] = found.pop("TestClass.test_the_nearest_mark_counts")
        found["test_passes"] = found.pop("TestOfUnittest.test_passes")
        self.assertEqual(found, wanted, self.printed)
        self.assertEqual(self.code, 1)

    def test_a_broken_ceiling_says_so(self):
        _, message, text = self.case("test_broken")
        self.assertRegex(message, r"^CeilingBroken: peak_rss_growth is \d+\.\d\d MiB in phase `load` "
                         r"\(exact\), \d+\.\d\d MiB \(\d+ %\) above its ceiling of 32\.00 MiB")
        self.assertIn("✗ peak_rss_growth  ≤  32.00 MiB", text)
        self.assertIn("└ load", text)
        passage = self.printed[self.printed.index("_ test_broken _"):]
        self.assertRegex(passage, r"-+ Captured stdout call -+\non standard output\n"
                         r"-+ Captured stderr call -+\non standard error\n")

    def test_a_failure_keeps_its_traceback_beside_a_broken_ceiling(self):
        _, message, text = self.case("test_fails_and_broken")
        self.assertIn("assert len(block) == 1", text)
        self.assertIn("and the test raised: ", text)
        self.assertIn("above its ceiling of 32.00 MiB", text)
        _, message, text = self.case("test_fails")
        self.assertIn("assert [1, 2] == [1, 3]", message)
        self.assertIn(">       assert numbers == [1, 3]", text)
        self.assertIn("DeprecationWarning: careful", self.printed)

    def test_the_end_of_a_process_is_told_with_its_cause(self):
        for name, says in [
            ("test_killed_by_a_signal", "its process was killed by SIGSEGV (signal 11) before its body had ended"),
            ("test_too_slow", "its process ran longer than its timeout of 4s and was killed before its body had ended"),
            ("test_killed_at_its_ceiling", "its process was killed at its ceiling peak_rss <= 256.00 MiB by "),
            ("test_leaves_its_process", "its process exited with code 3 before its body had ended"),
        ]:
            with self.subTest(name):
                self.assertIn(f"ProcessDied: {name}: {says}", self.case(name)[1])
        passage = self.printed[self.printed.index("_ test_killed_by_a_signal _"):]
        self.assertRegex(passage, r"-+ Captured stdout call -+\nprinted before\n")
        self.assertIn("Fatal Python error: Segmentation fault", passage)

    def test_what_is_wrong_with_a_mark_is_told(self):
        mark = "@pytest.mark.plimsoll of test_a.py::"
        text = self.case("test_wrong_arguments")[2]
        self.assertIn(f"{mark}test_wrong_arguments: `peek_rss` is not an argument: did you mean `peak_rss`?; "
                      "the limit of peak_rss: `1 XiB` is not an amount of bytes", text)
        text = self.case("test_no_name")[2]
        self.assertIn(f"{mark}test_no_name: write '2 GiB' with the name of what it limits, such as peak_rss='2 GiB'", text)

    def test_what_is_around_the_body(self):
        self.assertIn("RuntimeError: the fixture is broken", self.case("test_setup_fails")[2])
        self.assertIn("RuntimeError: the end is broken", self.case("test_teardown_fails")[2])
        passage = self.printed[self.printed.index("_ test_holds_and_a_fixture_is_no_growth _"):]
        self.assertRegex(passage, r"-+ Captured stdout setup -+\nthe fixture begins\n"
                         r"-+ Captured stdout teardown -+\nthe fixture is over\n")
        properties = [(entry.get("name"), entry.get("value"))
                      for entry in ElementTree.parse(self.scene.path("junit.xml")).iter("property")]
        self.assertIn(("text", "a::b[c] d/e"), properties)

    def test_records(self):
        record = self.scene.record("test_broken")
        self.assertEqual(record["schema"], "plimsoll.record/1")
        self.assertEqual(record["semantics"]["suite"], "test_a.py")
        self.assertEqual(record["semantics"]["name"], "test_broken")
        self.assertEqual([phase["phase"] for phase in record["phases"]], ["test", "load"])
        self.assertEqual((record["exit_code"], record["end"]["exit_code"]), (1, 0))
        self.assertEqual(self.scene.record("test_holds_and_a_fixture_is_no_growth")["exit_code"], 0)
        self.assertEqual(self.scene.record("test_killed_by_a_signal")["end"]["signal"]["number"], 11)
        # Skipped and unmarked tests are not measured; names that differ only in special characters have separate
        # records.
        names = [os.path.basename(path) for path in glob.glob(self.scene.path("records/*"))]
        self.assertFalse([name for name in names if re.search("skip|unmarked", name)])
        self.assertEqual(len([name for name in names if "test_parameters" in name]), 3, names)


class Options(unittest.TestCase):
    """Options of pytest and of the plugin."""

    def scene(self, text, ini=""):
        scene = Scene(text, ini)
        self.addCleanup(scene.folder.cleanup)
        return scene

    TWO = """
import os, pytest, sys, time
def test_plain(): print("pid", os.getpid())
@pytest.mark.plimsoll
def test_first():
    print("isolated", time.time())
    assert 0
@pytest.mark.plimsoll
def test_second(): os.write(1, b"second\\n")
"""

    def test_the_first_failure_ends_it(self):
        code, printed, cases = self.scene(self.TWO).pytest("-x")
        self.assertEqual((code, [*cases]), (1, ["test_plain", "test_first"]), printed)

    def test_output_is_not_captured_where_that_is_asked_for(self):
        code, printed, cases = self.scene(self.TWO).pytest("-s", "-k", "second")
        self.assertEqual((code, [*cases]), (0, ["test_second"]), printed)
        self.assertIn("second\n", printed)
        self.assertNotIn("Captured", printed)

    def test_off(self):
        scene = self.scene("import os, pytest\nHERE = os.getpid()\n@pytest.mark.plimsoll(peak_rss='1 B')\n"
                      "def test_here(pytestconfig): assert not os.environ.get('NEVER')\n")
        code, printed, _ = scene.pytest("--plimsoll-off")
        self.assertEqual(code, 0, printed)
        self.assertIn("plimsoll: off, no test is measured", printed)
        self.assertFalse(os.path.exists(scene.path("records")))

    def test_ini(self):
        scene = self.scene("import pytest\n@pytest.mark.plimsoll\ndef test_default(): pass\n"
                      "@pytest.mark.plimsoll(peak_rss='1 GiB')\ndef test_own(): pass\n",
                      ini="plimsoll =\n    peak_rss = 1 KiB\n    timeout = \"5 min\"\naddopts = --strict-markers\n")
        code, printed, cases = scene.pytest()
        self.assertEqual([end[0] for end in cases.values()], ["failure", "passed"], printed)
        self.assertIn("above its ceiling of 1.00 KiB", cases["test_default"][1])
        self.assertEqual(scene.record("test_own")["policy"]["timeout_ns"], 300 * 10**9)
        scene = self.scene("import pytest\n@pytest.mark.plimsoll\ndef test_a(): pass\n", ini="plimsoll = 1 GiB\n")
        _, printed, cases = scene.pytest()
        self.assertEqual(cases["test_a"][0], "error", printed)
        self.assertIn("`1 GiB` in the option `plimsoll` of ", cases["test_a"][2])

    def test_a_default_holds_every_test(self):
        scene = self.scene("import pytest\ndef test_plain(): bytearray(64 << 20)[0] = 1\n"
                      "@pytest.mark.plimsoll(peak_rss_growth='1 GiB')\ndef test_own(): bytearray(64 << 20)[0] = 1\n"
                      "class TestOld:\n    def test_small(self): pass\n", ini="plimsoll = timeout = 5 min\n")
        _, printed, cases = scene.pytest("-n2", "--plimsoll-default", "peak_rss_growth=16 MiB")
        self.assertEqual({name: end[0] for name, end in cases.items()},
                         {"test_plain": "failure", "test_own": "passed", "TestOld.test_small": "passed"}, printed)
        self.assertIn("above its ceiling of 16.00 MiB", cases["test_plain"][1])
        self.assertEqual(scene.record("test_plain")["policy"]["timeout_ns"], 300 * 10**9)
        _, printed, cases = scene.pytest("--plimsoll-default", "64MiB", "-k", "small")
        self.assertIn("`64MiB` in --plimsoll-default is no limit", cases["TestOld.test_small"][2], printed)
        code, printed, _ = scene.pytest("--plimsoll-default", "peak_rss_growth=16 MiB", "--plimsoll-off")
        self.assertEqual(code, 0, printed)

    def test_warnings_that_are_errors_are_the_tests_own(self):
        scene = self.scene(
            "import pytest, warnings\n@pytest.mark.plimsoll(peak_rss='1 GiB')\ndef test_a(): pass\n"
            "@pytest.mark.plimsoll\ndef test_b(): pass\n"
            "@pytest.mark.plimsoll\ndef test_warns(): warnings.warn('mine')\n", ini="filterwarnings = error\n")
        code, text, cases = scene.pytest("-p", "no:xdist")
        self.assertEqual({name: case[0] for name, case in cases.items()},
                         {"test_a": "passed", "test_b": "passed", "test_warns": "failure"}, text)

    def test_the_summary_begins_with_the_figures(self):
        scene = self.scene("import pytest\n@pytest.mark.plimsoll(peak_rss=1048576)\ndef test_breaks(): pass\n")
        _, text, _ = scene.pytest("-p", "no:xdist")
        self.assertIn("FAILED test_a.py::test_breaks - CeilingBroken: peak_rss is ", text)
        scene = self.scene("import pytest\n@pytest.mark.plimsoll(peak_rss='16')\ndef test_unit(): pass\n")
        _, text, _ = scene.pytest("-p", "no:xdist")
        self.assertIn("`16` is not an amount of bytes: write a number and its unit", text)

    def test_the_timeout_is_of_the_body(self):
        scene = self.scene(
            "import pytest, time\ntime.sleep(1.5)\n@pytest.mark.plimsoll(timeout=1)\ndef test_quick(): pass\n"
            "@pytest.mark.plimsoll(timeout=1)\ndef test_slow(): time.sleep(60)\n")
        _, text, cases = scene.pytest("-p", "no:xdist")
        self.assertEqual((cases["test_quick"][0], cases["test_slow"][0]), ("passed", "failure"), text)

    def test_the_end_of_the_session(self):
        scene = self.scene("import pytest\n@pytest.mark.plimsoll\ndef test_a(): pytest.exit('enough', 7)\n"
                      "def test_b(): pass\n")
        code, printed, _ = scene.pytest()
        self.assertEqual(code, 7, printed)
        self.assertIn("Exit: enough", printed)


if __name__ == "__main__":
    unittest.main()
