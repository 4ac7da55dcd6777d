"""Marked tests that are forked from a process that has collected their file, and those that must not be."""

import os
import time
import unittest

from test_pytest_plugin import Scene

# Each import of the file adds a line, in a file that is closed again.
COUNTED = """
import os, pytest, signal, sys, time
print("imported", file=open("imports", "a"))
"""
TESTS = """
@pytest.mark.plimsoll
@pytest.mark.parametrize("n", range(3))
def test_n(n): pass
"""


class Forks(unittest.TestCase):
    def run_tests(self, text, *arguments, conftest="", ini="", code=0):
        """Runs a file's tests; returns their output, their outcomes, and how often the file was imported."""
        self.scene = Scene(COUNTED + text, ini)
        self.addCleanup(self.scene.folder.cleanup)
        if conftest:
            with open(self.scene.path("conftest.py"), "w", encoding="utf-8") as file:
                file.write(conftest)
        ended, printed, cases = self.scene.pytest("-p", "no:xdist", "-v", *arguments)
        self.assertEqual(ended, code, printed)
        with open(self.scene.path("imports"), encoding="utf-8") as file:
            return printed, {name: case[0] for name, case in cases.items()}, len(file.readlines())

    def test_a_file_is_imported_once_for_all_its_tests(self):
        _, outcomes, imports = self.run_tests(TESTS)
        self.assertEqual(set(outcomes.values()), {"passed"})
        self.assertEqual(imports, 2, "by pytest itself, and by the process that forks")
        # One test alone gains nothing, and a mark or an option can ask for an interpreter.
        _, _, imports = self.run_tests(TESTS, "-k", "test_n and 1")
        self.assertEqual(imports, 2)
        _, _, imports = self.run_tests(TESTS, ini="plimsoll = fork = false\n")
        self.assertEqual(imports, 4)
        _, outcomes, imports = self.run_tests(TESTS.replace("plimsoll\n", "plimsoll(fork=False)\n"))
        self.assertEqual((set(outcomes.values()), imports), ({"passed"}, 4))
        printed, outcomes, _ = self.run_tests(TESTS.replace("plimsoll\n", "plimsoll(fork='no')\n"), code=1)
        self.assertEqual(set(outcomes.values()), {"error"})
        self.assertIn("fork: `no` is neither true nor false", printed)

    def test_what_cannot_be_forked_starts_an_interpreter(self):
        for begins, says in [
            ("import threading; threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()", "it has threads"),
            ("import subprocess; CHILD = subprocess.Popen(['sleep', '1000'])", "it has started processes"),
            ("HELD = open(__file__)", "test_a.py is open"),
            ("import socket; HELD = socket.socketpair()", "socket:["),
            ("import mmap; HELD = mmap.mmap(-1, 4096)", "it shares memory"),
        ]:
            with self.subTest(begins):
                # pytest itself would wait for what only the processes of the tests need.
                guarded = f"if sys.argv[0].endswith('_child.py'):\n    {begins}\n"
                printed, outcomes, imports = self.run_tests(guarded + TESTS)
                self.assertEqual(set(outcomes.values()), {"passed"}, printed)
                self.assertEqual(imports, 5, "by pytest, by the process that would fork, and by each test's")
                self.assertIn("each test of ", printed)
                self.assertIn(says, printed)
        ends = "def pytest_sessionfinish(session): pass\n"
        printed, _, imports = self.run_tests(TESTS, conftest=ends)
        self.assertEqual(imports, 5)
        self.assertIn("ends something with the session", printed)

    def test_the_figures_are_those_of_an_interpreter_of_its_own(self):
        text = """
import decimal, email, http.client, json, xml.dom
@pytest.fixture
def block(): return os.urandom(16 << 20)
@pytest.mark.plimsoll(peak_rss="1 GiB", peak_pss="1 GiB", peak_rss_growth="24 MiB", peak_anon_growth="24 MiB")
@pytest.mark.parametrize("n", range(2))
def test_n(n, block):
    held = os.urandom(8 << 20)
    xml.dom.minidom if hasattr(xml.dom, "minidom") else None
    json.loads(json.dumps({"a": [1.5, "b"]}))
    time.sleep(0.3)
"""
        figures = []
        for ini in ("", "plimsoll = fork = false\n"):
            _, _, imports = self.run_tests(text, ini=ini)
            self.assertEqual(imports, 3 if ini else 2)
            readings = self.scene.record("test_n-1-")["phases"][0]["readings"]
            figures.append({name: readings[name]["bytes"] / (1 << 20) for name in
                            ("peak_rss", "peak_anon", "peak_file", "peak_pss", "peak_rss_growth", "peak_anon_growth")})
        forked, fresh = figures
        for name, value in forked.items():
            self.assertLess(abs(value - fresh[name]), 2, f"{name}: {figures}")
        self.assertGreater(fresh["peak_rss_growth"], 7, figures)

    def test_tests_do_not_see_each_other(self):
        text = """
import atexit, tempfile
FOLDER = tempfile.TemporaryDirectory()
SEEN = []
atexit.register(lambda: print("ended", file=open("ends", "a")))
@pytest.mark.plimsoll
@pytest.mark.parametrize("n", range(3))
def test_n(n, tmp_path):
    assert SEEN == [] and os.path.isdir(FOLDER.name) and list(tmp_path.iterdir()) == []
    SEEN.append(n)
    (tmp_path / "a").write_text("a")
    (tmp_path.parent / "b").write_text("b")
    print("mine", n)
    assert os.environ.get("LEFT") is None
    os.environ["LEFT"] = "x"
"""
        printed, outcomes, imports = self.run_tests(text)
        self.assertEqual((set(outcomes.values()), imports), ({"passed"}, 2), printed)
        for n in range(3):
            self.assertIn(f"mine {n}\n", printed)
        with open(self.scene.path("ends"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 2, "in pytest itself, and once in the process that forked")

    def test_a_test_ends_with_what_measures_it(self):
        text = """
@pytest.mark.plimsoll
@pytest.mark.parametrize("n", range(2))
def test_n(n):
    open(f"pid{n}", "w").write(str(os.getpid()))
    if n == 0:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1000)
"""
        printed, outcomes, _ = self.run_tests(text, code=1)
        self.assertEqual(outcomes, {"test_n[0]": "error", "test_n[1]": "passed"}, printed)
        self.assertIn("`plimsoll isolate` gave no answer", printed)
        with open(self.scene.path("pid0"), encoding="utf-8") as file:
            pid = int(file.read())
        ended = time.monotonic() + 60
        while os.path.exists(f"/proc/{pid}/exe") and time.monotonic() < ended:
            time.sleep(0.01)
        self.assertFalse(os.path.exists(f"/proc/{pid}/exe"))

    def test_the_end_of_the_process_that_forks_is_the_end_of_one_test(self):
        text = """
@pytest.mark.plimsoll
@pytest.mark.parametrize("n", range(3))
def test_n(n):
    if n == 0:
        with open(f"/proc/{os.getppid()}/stat") as stat:
            os.kill(int(stat.read().rpartition(")")[2].split()[1]), signal.SIGKILL)
        time.sleep(1000)
"""
        printed, outcomes, imports = self.run_tests(text, code=1)
        # What measures it ends with it, and may still give its answer.
        self.assertIn(outcomes.pop("test_n[0]"), ("error", "failure"), printed)
        self.assertEqual(outcomes, {"test_n[1]": "passed", "test_n[2]": "passed"}, printed)
        self.assertEqual(imports, 3, "the second of them forks the others")

    def test_an_interrupt_ends_every_process(self):
        text = """
@pytest.mark.plimsoll
@pytest.mark.parametrize("n", range(3))
def test_n(n):
    open(f"pid{n}", "w").write(str(os.getpid()))
    if n == 1:
        os.kill(PYTEST, signal.SIGINT)
        time.sleep(1000)
PYTEST = int(os.environ.setdefault("PYTEST_ITSELF", str(os.getpid())))
# A shell that starts a run in the background has it ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
        printed, outcomes, imports = self.run_tests(text, code=2)
        self.assertEqual(imports, 2)
        self.assertIn("KeyboardInterrupt", printed)
        self.assertFalse(os.path.exists(self.scene.path("pid2")))
        with open(self.scene.path("pid1"), encoding="utf-8") as file:
            self.assertFalse(os.path.exists(f"/proc/{file.read()}/exe"))


if __name__ == "__main__":
    unittest.main()
