"""KernelForge's verifier and profiler through `plimsoll.kernelforge`: the same results, from kernels that it could have
written."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import torch
from program import ROOT, program

sys.path.insert(0, os.path.join(ROOT, "harness", "python"))

from plimsoll import kernelforge  # noqa: E402

CPP = """#include <torch/extension.h>
torch::Tensor launch(torch::Tensor input, double scale) { return input * scale; }
"""
PYTHON = "def launch(input, scale):\n    return input * scale\n"


class Project(unittest.TestCase):
    """A capture of three entries, and the folders of a project."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        environment = {"PLIMSOLL": program(), "KFORGE_TARGET_DEVICE": "cpu", "TORCH_EXTENSIONS_DIR": str(self.folder / "builds")}
        patched = mock.patch.dict(os.environ, environment)
        patched.start()
        self.addCleanup(patched.stop)
        self.paths = {"tmp_dir": self.folder / "tmp", "io_dir": self.folder / "io"}
        for path in self.paths.values():
            path.mkdir()
        for number in range(3):
            x = torch.randn(4, 5 + number)
            torch.save({
                "function_name": "torch.nn.functional.threshold", "args": [x], "kwargs": {"scale": 2.0}, "output": x * 2,
                "signature": {"params": ["input", "scale"], "defaults": {}},
            }, self.paths["io_dir"] / f"entry_{number:06d}.pt")

    def validate(self, code, extension=".py", **more):
        return kernelforge.validate_kernel(code, self.paths, extension=extension, **more)


# Two classes, because the tests of a class run one after the other.
class Verifier(Project):
    def test_a_kernel_that_is_right_in_cpp_and_python(self):
        for code, extension in ((CPP, ".cu"), (PYTHON, ".py")):
            self.assertEqual(self.validate(code, extension), (True, "[Success] All 3 tests passed"))
            (self.paths["tmp_dir"] / ("kernel" + extension)).unlink()

    def test_a_kernel_that_hangs_when_it_is_loaded_is_told_once(self):
        code = "import threading\nthreading.Event().wait()\n" + PYTHON
        valid, log = self.validate(code, options=["--timeout", "1s"])
        self.assertTrue(not valid and log.startswith("[Timeout Error]\nthe kernel did not load: "), log)
        self.assertEqual(log.count('kernel.py", line 2 in <module>'), 1, log)

    def test_what_is_wrong_is_told_as_the_verifier_tells_it(self):
        for code, expected in (
            (PYTHON.replace("* scale", "+ scale"),
             ["[Output Mismatch entry_000000.pt]", "Output: dtype=float32, shape=[4, 5]", "Max diff: ", "[Output Mismatch entry_000002"]),
            ("def launch(input, scale):\n    return input.double() * scale",
             ["Expected: dtype=float32, shape=[4, 5]\nOutput: ", "float64"]),
            ("def launch(input, scale):\n    return input / 0", [" Inf values in output, 0 expected"]),
            ("def launch(input, scale):\n    raise ValueError('no such case')",
             ["[Runtime Error entry_000001.pt]\nValueError: no such case\nTraceback "]),
            ("def launch(input, scale):\n    import os; os.abort()", ["[Process Error entry_000000.pt]"]),
            ("def start():\n    pass", ["[Compilation Failed]\n", "has no function `launch`"]),
            ("def launch(input, scale)\n    return input", ["[Import/Compilation Failed]\nSyntaxError: "]),
            ("import no_such_module\ndef launch(input, scale): return input", ["[Import/Compilation Failed]\nModuleNotFoundError: "]),
        ):
            valid, log = self.validate(code)
            self.assertIs(valid, False)
            for words in expected:
                self.assertIn(words, log)
            for file in self.paths["tmp_dir"].glob("kernel.py"):
                file.unlink()
        for code, words in ((CPP.replace("input * scale", "nothing"), "error: "), ("int x;", "torch::Tensor launch(..)")):
            valid, log = self.validate(code, ".cpp")
            self.assertTrue(not valid and log.startswith("[Compilation Failed]\n") and words in log, log)

    def test_entries_that_were_not_launched_are_not_right(self):
        # The kernel ends the supervisor, which leaves a record of what it had.
        valid, log = self.validate("import os, signal\ndef launch(input, scale):\n    os.kill(os.getppid(), signal.SIGTERM)\n    signal.pause()\n")
        self.assertIs(valid, False, log)
        self.assertIn("was not launched", log)

    def test_limits_are_flags_of_plimsoll_and_what_cannot_be_asked_is_said(self):
        valid, log = self.validate("def launch(input, scale):\n    while True: pass", options=["--timeout", "1s"])
        self.assertTrue(not valid and log.startswith("[Timeout Error entry_000000.pt]"), log)
        valid, log = self.validate(PYTHON, options=["--peak-rss", "1 MiB"])
        self.assertTrue(not valid and log.startswith("[ceiling peak_rss]"), log)
        self.paths["io_dir"] = self.folder / "none"
        valid, log = self.validate(PYTHON)
        self.assertTrue(not valid and log.startswith("[System Error]"), log)
        os.environ["KFORGE_TARGET_DEVICE"] = "mps"
        self.assertEqual(self.validate(PYTHON)[0], False)


class Profiler(Project):
    def test_figures_have_the_names_of_the_profiler(self):
        (self.paths["tmp_dir"] / "kernel.py").write_text(PYTHON)
        stats, profile = kernelforge.profile_kernel(self.paths, previous_stats={"mean_time_ms": 1.0})
        self.assertIsNone(profile)
        times = stats["entry_latencies_ms"]
        self.assertEqual(len(times), 3)
        self.assertEqual(stats["entry_files"], [f"entry_{number:06d}.pt" for number in range(3)])
        self.assertAlmostEqual(stats["mean_time_ms"], sum(times) / 3)
        self.assertEqual((stats["min_time_ms"], stats["max_time_ms"], stats["median_time_ms"]), (min(times), max(times), sorted(times)[1]))
        self.assertAlmostEqual(stats["std_time_ms"], (sum((time - sum(times) / 3) ** 2 for time in times) / 3) ** 0.5)
        self.assertEqual((stats["device"], stats["warmup_runs"], stats["timed_runs"], stats["errors"]), ("cpu", 25, 100, []))
        json.dumps(stats)

    def test_a_kernel_within_the_tolerance_is_timed_and_one_beyond_it_is_not_called_a_cheat(self):
        near = "def launch(input, scale):\n    return input * (scale * 1.01)\n"
        self.assertEqual(self.validate(near, ".py")[0], True)
        self.assertEqual(kernelforge.profile_kernel(self.paths)[0]["errors"], [])
        (self.paths["tmp_dir"] / "kernel.py").write_text(near.replace("1.01", "1.5"))
        with self.assertRaisesRegex(kernelforge.Failed, "wrong by this comparison"):
            kernelforge.profile_kernel(self.paths)

    def test_a_check_with_its_comparison_times_a_right_kernel(self):
        (self.paths["tmp_dir"] / "kernel.py").write_text(PYTHON)
        ended = subprocess.run(
            [program(), "check", str(self.paths["io_dir"]), "--kernel", f"kernelforge:{self.paths['tmp_dir']}", "--compare", "kernelforge",
             "--python", sys.executable, "--json"], capture_output=True, text=True, cwd=self.folder)
        record = json.loads(ended.stdout)
        self.assertEqual(ended.returncode, 0, record["verdicts"])
        for entry in record["results"]["entries"]:
            self.assertEqual(entry["profile"]["status"], "timed")
            self.assertNotIn("half_precision", entry["validation"]["blindness"])

    def test_entries_are_selected_and_those_that_fail_are_named(self):
        (self.paths["tmp_dir"] / "kernel.py").write_text(
            "def launch(input, scale):\n    assert input.shape[1] != 6, 'six'\n    return input * scale\n")
        stats, _ = kernelforge.profile_kernel(self.paths)
        self.assertEqual((stats["entry_count"], stats["errors"][0]["entry_file"]), (2, "entry_000001.pt"))
        self.assertIn("six", stats["errors"][0]["error"])
        paths = {**self.paths, "entry_files": [self.paths["io_dir"] / "entry_000002.pt"]}
        self.assertEqual(kernelforge.profile_kernel(paths)[0]["entry_files"], ["entry_000002.pt"])
        paths["entry_files"] = [self.paths["io_dir"] / "entry_000001.pt"]
        with self.assertRaisesRegex(kernelforge.Failed, "six") as raised:
            kernelforge.profile_kernel(paths)
        self.assertEqual(raised.exception.record["schema"], "plimsoll.record/1")


if __name__ == "__main__":
    unittest.main()
