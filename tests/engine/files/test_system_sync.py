"""Syncing a whole file system, where the kernel tells of failures."""

import errno
import platform
from pathlib import Path

import pytest

from engine.files.system_sync import FileSystemSync, is_available

needs_syncfs = pytest.mark.skipif(not is_available(), reason="this system has no reliable syncfs")


@needs_syncfs
def test_it_syncs_and_can_be_called_again(tmp_path: Path) -> None:
    sync = FileSystemSync(str(tmp_path))
    (tmp_path / "file").write_bytes(b"x")
    sync()
    sync()
    sync.close()


@needs_syncfs
def test_a_failure_is_raised(tmp_path: Path) -> None:
    sync = FileSystemSync(str(tmp_path))
    sync.close()
    with pytest.raises(OSError) as caught:
        sync()
    assert caught.value.errno == errno.EBADF


@pytest.mark.parametrize(
    ("system", "release", "expected"),
    [
        ("Linux", "5.7.19-generic", False),
        ("Linux", "4.19.0", False),
        ("Linux", "unknown", False),
        ("Darwin", "23.1.0", False),
    ],
)
def test_it_is_not_used_where_errors_may_be_lost(
    monkeypatch: pytest.MonkeyPatch, system: str, release: str, expected: bool
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "release", lambda: release)
    assert is_available() is expected
