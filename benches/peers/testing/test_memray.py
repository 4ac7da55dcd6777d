"""The same test for pytest-memray."""
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


@pytest.mark.limit_memory("16 MB")
def test_a_file_is_summed_in_pieces(path):
    assert checksum(path) == FILE
