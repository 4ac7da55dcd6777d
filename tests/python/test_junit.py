"""JUnit XML against the schema that CI systems use (tests/data/junit.xsd): for runs that pass, fail and cannot be
judged."""

import importlib.util
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BUILT = [path for kind in ("debug", "release") if (path := TARGET / kind / "plimsoll").exists()]
PLIMSOLL = max(BUILT, key=lambda path: path.stat().st_mtime, default=None)


@unittest.skipUnless(importlib.util.find_spec("xmlschema"), "not run: the Python package xmlschema is not installed")
@unittest.skipUnless(PLIMSOLL, "not run: plimsoll is not built")
class JUnit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import xmlschema

        cls.schema = xmlschema.XMLSchema10(str(ROOT / "tests/data/junit.xsd"))
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def document(self, *arguments, code):
        """The document of a command that ends with `code`."""
        path = os.path.join(self.folder.name, "junit.xml")
        done = subprocess.run([PLIMSOLL, *arguments[:1], "--junit", path, *arguments[1:]], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return pathlib.Path(path).read_text()

    def test_every_verdict_is_valid(self):
        hostile = "a <b> & \"c\" ]]> \x1b[31m"
        runs = {
            "holds": (["run", "--peak-rss", "1GiB", "--", "true"], 0, ["<testcase"]),
            "fails": (["run", "--peak-rss", "1B", "--label", hostile, "--", "true"], 1, ["<failure", "type=\"failed\""]),
            "cannot be judged": (["run", "--gpu-peak", "1GiB", "--", "true"], 3, ["<error", "type=\"not measurable\""]),
            "failed by itself": (["run", "--peak-rss", "1GiB", "--", "sh", "-c", "exit 7"], 7, ["exited with code 7"]),
            "several runs": (["run", "--repeat", "2", "--peak-rss", "1GiB", "--", "true"], 0, ["ceiling peak_rss"]),
        }
        for name, (arguments, code, parts) in runs.items():
            with self.subTest(name):
                text = self.document(*arguments, code=code)
                self.schema.validate(text)
                for words in parts:
                    self.assertIn(words, text)

    def test_what_ci_would_refuse_is_not_valid(self):
        text = self.document("run", "--peak-rss", "1B", "--", "true", code=1)
        self.schema.validate(text)
        for right, wrong in (
            ('skipped="0"', 'skipped="-1"'), ('skipped="0"', 'skipped="0" load="1"'), ("<failure ", "<problem "),
            ('classname="true"', ""), ("<testsuite ", "<suite "), ('type="failed"', 'type="sad"'), ('timestamp="', 'timestamp="on '),
        ):
            with self.subTest(wrong):
                bad = text.replace(right, wrong)
                self.assertNotEqual(bad, text)
                bad = bad.replace("</failure>", "</problem>") if "problem" in wrong else bad
                bad = bad.replace("</testsuite>", "</suite>") if wrong == "<suite " else bad
                self.assertFalse(self.schema.is_valid(bad))


if __name__ == "__main__":
    unittest.main()
