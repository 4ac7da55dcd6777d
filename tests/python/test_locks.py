"""Locks of torch's builds: only those of workers that are gone are removed. Run: python -m unittest discover
tests/python"""

import json
import os
import sys
import tempfile
import unittest
from unittest import mock

from torch.utils.file_baton import FileBaton

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "harness", "python"))
import plimsoll_locks  # noqa: E402


class LocksTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.lock = os.path.join(folder.name, "lock")
        for name in ("try_acquire", "wait"):
            self.addCleanup(setattr, FileBaton, name, getattr(FileBaton, name))
        plimsoll_locks.install()

    def held(self, text):
        with open(self.lock, "w", encoding="ascii") as file:
            file.write(text)
        return not FileBaton(self.lock).try_acquire()

    def test_a_lock_that_lives_is_waited_for(self):
        baton = FileBaton(self.lock)
        self.assertTrue(baton.try_acquire())
        self.assertFalse(FileBaton(self.lock).try_acquire())
        baton.release()
        self.assertTrue(FileBaton(self.lock).try_acquire())

    def test_a_lock_of_another_program_machine_or_container_is_waited_for(self):
        own = plimsoll_locks.who(os.getpid())
        gone = dict(own, started="1")
        for text in ("", "[]", "{}", "no json", json.dumps(own), json.dumps(dict(gone, boot="another")),
                     json.dumps(dict(gone, namespace="pid:[1]"))):
            self.assertTrue(self.held(text), text)

    def test_a_lock_of_a_worker_that_is_gone_is_taken(self):
        gone = dict(plimsoll_locks.who(os.getpid()), started="1")
        self.assertFalse(self.held(json.dumps(gone)))
        with open(self.lock, encoding="ascii") as file:
            self.assertEqual(json.load(file), plimsoll_locks.who(os.getpid()))

    def test_who_waits_for_a_build_says_so_and_who_waits_for_nobody_complains(self):
        said = []

        def say():
            said.append("waits")
            holder.release()

        plimsoll_locks.install(say=say)
        holder = FileBaton(self.lock)
        self.assertTrue(holder.try_acquire())
        FileBaton(self.lock).wait()
        self.assertEqual(said, ["waits"])
        with open(self.lock, "w", encoding="ascii"):
            pass
        complaint = []

        def write(_, text):
            complaint.append(text)
            os.remove(self.lock)
            return len(text)

        with mock.patch.object(os, "write", write):
            FileBaton(self.lock).wait()
        self.assertEqual((said, complaint), (["waits"], [f"plimsoll worker: nobody here holds the lock {self.lock}\n".encode()]))

    def test_a_lock_of_another_name_space_is_taken_in_a_folder_of_one_worker(self):
        text = json.dumps(dict(plimsoll_locks.who(os.getpid()), namespace="pid:[1]"))
        plimsoll_locks.install(tempfile.mkdtemp(dir=os.path.dirname(self.lock)))
        self.assertTrue(self.held(text))
        plimsoll_locks.install(os.path.dirname(self.lock))
        self.addCleanup(plimsoll_locks.install)
        self.assertFalse(self.held(text))


if __name__ == "__main__":
    unittest.main()
