"""Tests of `plimsoll.log_memory`: the line that the diagnosis reads."""

import io
import os
import subprocess
import sys
import types
import unittest
from pathlib import Path
from unittest import mock

PACKAGE = Path(__file__).resolve().parents[2] / "harness" / "python"
sys.path.insert(0, str(PACKAGE))

from plimsoll import log_memory  # noqa: E402


class Cuda:
    """Two devices, of which the first is used."""

    is_available = staticmethod(lambda: True)
    is_initialized = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 2)
    memory_allocated = staticmethod(lambda device: 100 if device == 0 else 0)
    max_memory_allocated = staticmethod(lambda device: 150 if device == 0 else 0)
    memory_reserved = staticmethod(lambda device: 200 if device == 0 else 0)
    max_memory_reserved = staticmethod(lambda device: 250 if device == 0 else 0)
    mem_get_info = staticmethod(lambda device: (700, 1000))


class LogMemory(unittest.TestCase):
    def test_a_line_has_the_host_and_needs_no_torch(self):
        program = "import sys, plimsoll; plimsoll.log_memory('after load', step=3); assert 'torch' not in sys.modules"
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "RANK": "2"}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
        self.assertRegex(
            done.stdout, r'^plimsoll memory label="after load" step=3 rank=2 pid=\d+ rss=\d{6,} peak_rss=\d{6,}\n$'
        )

    def test_devices_that_are_used_have_a_line_each(self):
        out = io.StringIO()
        with mock.patch.dict(sys.modules, {"torch": types.SimpleNamespace(cuda=Cuda)}):
            rows = log_memory("after\nforward", file=out)
        self.assertEqual(len(rows), 1)
        self.assertEqual((rows[0]["allocated"], rows[0]["max_reserved"], rows[0]["device_used"]), (100, 250, 300))
        self.assertEqual(out.getvalue().count("\n"), 1)
        self.assertIn('label="after forward" ', out.getvalue())
        self.assertIn(" device=0 allocated=100 max_allocated=150 reserved=200 max_reserved=250 ", out.getvalue())

    def test_a_device_that_no_one_uses_is_left_alone(self):
        idle = type("Idle", (Cuda,), {"is_initialized": staticmethod(lambda: False)})
        with mock.patch.dict(sys.modules, {"torch": types.SimpleNamespace(cuda=idle)}):
            rows = log_memory(file=io.StringIO())
        self.assertEqual(len(rows), 1)
        self.assertNotIn("allocated", rows[0])


if __name__ == "__main__":
    unittest.main()
