"""The wheel, built from the existing build, installed in a fresh environment and used there."""

import glob
import os
import site
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile

from program import AS_TESTED, ROOT, TARGET, program

TESTS = """
import plimsoll, plimsoll.kernelforge, pytest

@pytest.mark.plimsoll(peak_rss="4 GiB", swap_growth="4 GiB")
def test_holds():
    plimsoll.phase("load")

@pytest.mark.plimsoll(peak_rss="1 MiB")
def test_breaks():
    pass
"""

# Builds what the tests have built, which has the program in it, where maturin builds one package. The program that it is told
# of is a copy, because maturin moves it.
CARGO = f"""#!/bin/sh
[ "$1" = rustc ] || exec cargo "$@"
cp {TARGET}/debug/plimsoll "${{0%/*}}"
cargo build --locked {" ".join(AS_TESTED)} --message-format json-render-diagnostics |
    sed "s|{TARGET}/debug/plimsoll|${{0%/*}}/plimsoll|g"
"""


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program()
        cls.folder = tempfile.TemporaryDirectory()
        cls.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PLIMSOLL", "PYTHON"))}
        cargo = os.path.join(cls.folder.name, "cargo")
        with open(cargo, "w", encoding="utf-8") as file:
            file.write(CARGO)
        os.chmod(cargo, 0o755)
        cls.run_in(
            os.path.join(ROOT, "harness"), sys.executable, "-m", "maturin", "build", "--quiet", "--profile", "dev",
            "--auditwheel", "skip", "--out", cls.folder.name, env=cls.environment | {"CARGO": cargo})
        cls.wheel, = glob.glob(os.path.join(cls.folder.name, "*.whl"))
        cls.installed = os.path.join(cls.folder.name, "venv")
        venv.create(cls.installed, symlinks=True)
        cls.python = os.path.join(cls.installed, "bin", "python")
        cls.run_in(
            cls.folder.name, sys.executable, "-m", "pip", "--python", cls.python, "install", "--quiet", "--no-index",
            "--no-deps", "--disable-pip-version-check", cls.wheel)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_in(cls, folder, *command, code=0, env=None):
        ended = subprocess.run(
            command, cwd=folder, env=env or cls.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=600)
        if ended.returncode != code:
            raise AssertionError(f"{command} ended with {ended.returncode}, not {code}:\n{ended.stdout}")
        return ended.stdout

    def test_what_is_inside(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            all_names = wheel.namelist()
            names = [name.split("/", 1)[-1] for name in all_names]
            about = wheel.read(next(name for name in all_names if name.endswith(".dist-info/METADATA"))).decode()
        self.assertTrue({"plimsoll/__init__.py", "plimsoll_capture/__init__.py"} <= set(all_names))
        for name in ("pytest_plugin.py", "scripts/plimsoll", "licenses/LICENSE-MIT",
                     "licenses/LICENSE-APACHE", "entry_points.txt"):
            self.assertIn(name, names)
        self.assertFalse([name for name in names if "worker" in name], "the program has its workers in itself")
        self.assertIn("\nLicense-Expression: MIT OR Apache-2.0\n", about)
        self.assertIn("\nRequires-Python: >=3.9\n", about)

    def test_the_program_runs(self):
        version = self.run_in(self.folder.name, os.path.join(self.installed, "bin", "plimsoll"), "--version")
        self.assertRegex(version, r"^plimsoll \d+\.\d+\.\d+\n$")

    def test_the_plugin_is_found_and_used(self):
        folder = os.path.join(self.folder.name, "project")
        os.mkdir(folder)
        with open(os.path.join(folder, "test_a.py"), "w", encoding="utf-8") as file:
            file.write(TESTS)
        # pytest comes from the environment of these tests, so that nothing is downloaded.
        packages, = glob.glob(os.path.join(self.installed, "lib", "python*", "site-packages"))
        with open(os.path.join(packages, "pytest.pth"), "w", encoding="utf-8") as file:
            file.write("\n".join(site.getsitepackages()) + "\n")
        printed = self.run_in(folder, self.python, "-m", "pytest", "-rA", "-p", "no:cacheprovider", code=1)
        self.assertRegex(printed, r"\nplugins: .*plimsoll-harness-\d")
        self.assertIn("\nPASSED test_a.py::test_holds\n", printed)
        self.assertIn("\nFAILED test_a.py::test_breaks - CeilingBroken: peak_rss is ", printed)
        self.assertIn("above its ceiling of 1.00 MiB", printed)


if __name__ == "__main__":
    unittest.main()
