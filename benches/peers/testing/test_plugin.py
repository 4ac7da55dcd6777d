"""The same test for Plimsoll's pytest plugin and for pytest-memray, and one whose memory is a child's."""
import subprocess
import sys

import pytest

FILE = 64 << 20


def checksum(path):
    """The sum of a file's bytes. It was meant to read the file in pieces."""
    return path.read_bytes().count(b"\x01")


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"\x01" * FILE)
    return file


@pytest.mark.plimsoll(peak_rss_growth="16 MiB", swap_growth="0 B")
def test_a_file_is_summed_in_pieces(path):
    assert checksum(path) == FILE


@pytest.mark.limit_memory("16 MB")
def test_a_file_is_summed_in_pieces_memray(path):
    assert checksum(path) == FILE


def convert():
    """Stands for a tool that the tested code starts."""
    subprocess.run([sys.executable, "-c", "block = b'1' * (200 << 20)"], check=True)


@pytest.mark.plimsoll(peak_rss_growth="64 MiB")
def test_a_tool_stays_small():
    convert()


@pytest.mark.limit_memory("64 MB")
def test_a_tool_stays_small_memray():
    convert()
