"""Locks of torch's builds: only those of workers that are gone are removed. Run: python -m unittest discover
tests/python"""

import json
import os
import sys
import tempfile
import unittest

from torch.utils.file_baton import FileBaton

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "harness", "python"))
import plimsoll_locks  # noqa: E402


class LocksTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.lock = os.path.join(folder.name, "lock")
        usual = FileBaton.try_acquire
        self.addCleanup(setattr, FileBaton, "try_acquire", usual)
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

    def test_a_lock_of_another_name_space_is_taken_in_a_folder_of_one_worker(self):
        text = json.dumps(dict(plimsoll_locks.who(os.getpid()), namespace="pid:[1]"))
        plimsoll_locks.install(tempfile.mkdtemp(dir=os.path.dirname(self.lock)))
        self.assertTrue(self.held(text))
        plimsoll_locks.install(os.path.dirname(self.lock))
        self.addCleanup(plimsoll_locks.install)
        self.assertFalse(self.held(text))


if __name__ == "__main__":
    unittest.main()
