"""Tests with every end that a marked test may have; test_pytest_plugin.py runs them and knows the expected results."""

import os
import signal
import sys
import time
import unittest
import warnings

import plimsoll
import pytest

MIB = 1 << 20


def take(size):
    """This many bytes, all of them touched."""
    return os.urandom(4096) * (size // 4096)


@pytest.fixture
def block():
    print("the fixture begins")
    yield take(64 * MIB)
    print("the fixture is over")


@pytest.mark.plimsoll(peak_rss_growth="32 MiB", peak_rss="4 GiB", swap_growth="4 GiB")
def test_holds_and_a_fixture_is_no_growth(block):
    assert len(block) == 64 * MIB


@pytest.mark.plimsoll(peak_anon="32 MiB")
def test_a_peak_counts_what_a_fixture_holds(block):
    pass


@pytest.mark.plimsoll(peak_rss_growth="32 MiB")
def test_broken():
    plimsoll.phase("load")
    print("on standard output")
    print("on standard error", file=sys.stderr)
    take(96 * MIB)


@pytest.mark.plimsoll(peak_rss_growth="32 MiB")
def test_fails_and_broken():
    block = take(96 * MIB)
    assert len(block) == 1


@pytest.mark.plimsoll
def test_fails():
    numbers = [1, 2]
    warnings.warn("careful", DeprecationWarning)
    assert numbers == [1, 3]


@pytest.mark.plimsoll
def test_killed_by_a_signal():
    print("printed before")
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.mark.plimsoll(timeout=4)
def test_too_slow():
    time.sleep(3600)


@pytest.mark.plimsoll(peak_rss="256 MiB", enforce=True)
def test_killed_at_its_ceiling():
    blocks = []
    while True:
        blocks.append(take(MIB))


@pytest.mark.plimsoll
def test_leaves_its_process():
    os._exit(3)


@pytest.mark.plimsoll(peek_rss="1 MiB", peak_rss="1 XiB")
@pytest.mark.xfail
def test_wrong_arguments():
    pass


@pytest.mark.plimsoll("2 GiB")
def test_no_name():
    pass


@pytest.mark.plimsoll
@pytest.mark.skip(reason="not here")
def test_skipped_by_a_mark():
    pass


@pytest.mark.plimsoll(peak_rss="1 KiB")
def test_skips():
    pytest.skip("not now")


@pytest.mark.plimsoll(peak_rss_growth="32 MiB")
@pytest.mark.xfail(reason="it leaks")
def test_expected_to_break():
    take(96 * MIB)


@pytest.mark.plimsoll(peak_rss_growth="32 MiB")
@pytest.mark.xfail(raises=ValueError)
def test_expected_to_raise_but_broken():
    block = take(96 * MIB)
    raise ValueError(len(block))


@pytest.mark.plimsoll
@pytest.mark.parametrize("text", ["plain", "a::b[c] d/e", "a::b[c] d e"])
def test_parameters(text, record_property, tmp_path):
    record_property("text", text)
    assert list(tmp_path.iterdir()) == []
    assert sys.stdin.read() == ""


@pytest.fixture
def broken_fixture():
    raise RuntimeError("the fixture is broken")


@pytest.mark.plimsoll
def test_setup_fails(broken_fixture):
    pass


@pytest.fixture
def broken_end():
    yield
    print("the end begins")
    raise RuntimeError("the end is broken")


@pytest.mark.plimsoll
def test_teardown_fails(broken_end):
    pass


def test_unmarked_runs_here(request):
    assert not request.config.pluginmanager.hasplugin("plimsoll_child")


@pytest.mark.plimsoll(peak_rss_growth="32 MiB")
class TestClass:
    @pytest.mark.plimsoll(peak_rss_growth="1 GiB")
    def test_the_nearest_mark_counts(self):
        take(96 * MIB)


class TestOfUnittest(unittest.TestCase):
    def setUp(self):
        self.number = 1

    @pytest.mark.plimsoll
    def test_passes(self):
        self.assertEqual(self.number, 1)

    @pytest.mark.plimsoll
    def test_fails(self):
        self.assertEqual(self.number, 2)
