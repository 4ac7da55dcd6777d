"""`plimsoll run --live` on a terminal: its own rows beside a command that writes, and a restored terminal
afterwards."""

import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BUILT = [path for kind in ("debug", "release") if (path := TARGET / kind / "plimsoll").exists()]
PLIMSOLL = max(BUILT, key=lambda path: path.stat().st_mtime, default=None)
SET, WHOLE = "\x1b[1;18r", "\x1b[r"


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@unittest.skipUnless(PLIMSOLL, "not run: plimsoll is not built")
class Live(unittest.TestCase):
    def run_on_a_terminal(self, code, until=(), then=lambda terminal: os.write(terminal, b"\x03"), rows=30, columns=100):
        """Runs a Python program under the live view; returns the exit code and all terminal output. Once all patterns
        in `until` were seen, `then` is called: by default it types Ctrl-C."""
        child, terminal = pty.fork()
        if child == 0:
            # If the tests themselves were started in the background, it is ignored, and children inherit that.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            termios.tcsetwinsize(0, (rows, columns))
            os.execv(PLIMSOLL, [str(PLIMSOLL), "run", "--live", "--peak-rss", "1GiB", "--", sys.executable, "-c", code])
        seen = ""
        while True:
            # Nothing new for ten minutes means that it hangs, and it is killed. No working view comes close.
            if not select.select([terminal], [], [], 600)[0]:
                os.kill(child, signal.SIGKILL)
                break
            try:
                seen += os.read(terminal, 1 << 16).decode(errors="replace")
            except OSError:
                break
            if until and all(re.search(pattern, plain(seen)) for pattern in until):
                then(terminal)
                until = ()
        status = os.waitpid(child, 0)[1]
        os.close(terminal)
        return os.waitstatus_to_exitcode(status), seen

    def run_until_drawn(self, code, columns=100):
        """Like the function above; the program ends once the view has shown its ceiling and its row."""
        with tempfile.TemporaryDirectory() as folder:
            drawn = pathlib.Path(folder, "drawn")
            waits = f"import os, time\nwhile not os.path.exists({str(drawn)!r}): time.sleep(.05)"
            until = ("peak_rss ≤ 1.00 GiB", r"\d+ +[\d.]+ MiB .*python")
            return self.run_on_a_terminal(f"{code}\n{waits}", until, lambda _: drawn.touch(), columns=columns)

    def test_the_view_has_rows_of_its_own_and_leaves_none(self):
        code, seen = self.run_until_drawn("for at in range(4): print('line', at, flush=True)")
        self.assertEqual(code, 0, seen)
        self.assertIn("line 3", seen)
        self.assertLess(seen.index(SET), seen.index("peak_rss ≤ 1.00 GiB"))
        self.assertRegex(seen, r"\d+ +[\d.]+ MiB .*python")
        self.assertEqual(seen.count(SET), 1, "the region is set once")
        report = seen.rindex("HOLDS")
        self.assertLess(seen.rindex(WHOLE), report, "the terminal is whole before the report")
        self.assertNotIn("\x1b[19;1H", seen[report:])

    def test_nothing_is_cut_on_a_narrow_terminal(self):
        for columns in (40, 80):
            with self.subTest(columns=columns):
                code, seen = self.run_until_drawn("", columns=columns)
                self.assertEqual(code, 0, seen)
                drawn = re.findall(r"\x1b\[\d+;1H([^\n]*?)\x1b\[0m\x1b\[K", seen)
                drawn = [plain(line) for line in drawn]
                self.assertTrue(any(line.rstrip().endswith("peak_rss ≤ 1.00 GiB") for line in drawn), drawn)
                self.assertTrue(any(re.search(r"\d+ +[\d.]+ MiB +.*python", line) for line in drawn), drawn)
                for line in drawn:
                    self.assertTrue(len(line) < columns and "…" not in line, line)

    def test_ctrl_c_ends_the_command_and_the_view(self):
        # A Python that is interrupted during its start ends differently.
        program = "import time\nprint('be' + 'gun', flush=True)\ntime.sleep(3600)"
        code, seen = self.run_on_a_terminal(program, until=("begun", "peak_rss ≤"))
        self.assertEqual(code, 128 + signal.SIGINT, seen)
        self.assertIn(WHOLE, seen[seen.rindex("peak_rss ≤ 1.00 GiB"):] + seen)
        self.assertGreater(seen.rindex(WHOLE), seen.rindex(SET))

    def test_nothing_is_drawn_where_there_is_no_room_or_no_terminal(self):
        code, seen = self.run_on_a_terminal("print('alone')", rows=10)
        self.assertEqual((code, re.findall(r"\x1b\[[0-9;]*r", seen)), (0, []))
        piped = subprocess.run([PLIMSOLL, "run", "--live", "--", "true"], capture_output=True, text=True)
        self.assertEqual((piped.returncode, piped.stdout), (0, ""))
        self.assertNotIn("\x1b", piped.stderr)


if __name__ == "__main__":
    unittest.main()
