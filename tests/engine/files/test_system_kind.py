"""Which file systems are known to keep what is written past their cache."""

import os
import platform
from pathlib import Path

import pytest

from engine.files import system_kind as module
from engine.files.system_kind import (
    BTRFS,
    EXT4,
    FUSE,
    OVERLAYFS,
    TMPFS,
    XFS,
    FileSystemKind,
    file_system_kind,
    file_system_number,
    kind_of,
)


@pytest.mark.parametrize("number", [EXT4, XFS, BTRFS, TMPFS])
def test_these_are_known(number: int) -> None:
    assert kind_of(number).is_known


@pytest.mark.parametrize("number", [FUSE, OVERLAYFS, 0x6969, 0xFF534D42, 0x1234, None])
def test_others_are_not(number: int | None) -> None:
    assert not kind_of(number).is_known


def test_it_is_named() -> None:
    assert kind_of(XFS).name == "XFS"
    assert kind_of(0x1234).name == "a file system of type 0x1234"


@pytest.mark.skipif(platform.system() != "Linux", reason="the numbers are Linux's")
def test_the_kernel_is_asked(tmp_path: Path) -> None:
    assert file_system_number("/proc") == 0x9FA0
    assert file_system_number(str(tmp_path)) not in (None, 0, 0x9FA0)
    assert file_system_number(str(tmp_path / "missing")) is None


def test_directories_of_different_kinds_are_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, topics = tmp_path / "data", tmp_path / "data" / "topics"
    topics.mkdir(parents=True)
    numbers = {str(data): EXT4, str(topics): EXT4}
    monkeypatch.setattr(module, "file_system_number", numbers.get)
    places = (str(data), str(topics), str(data / "journal"))
    assert file_system_kind(*places) == FileSystemKind("ext4", True)
    numbers[str(topics)] = FUSE
    assert file_system_kind(*places) == FileSystemKind("FUSE or virtiofs and ext4", False)
    numbers[str(topics)] = EXT4
    real = os.stat

    def mounted_elsewhere(path: str, **options: bool) -> os.stat_result:
        found = real(path, **options)
        return os.stat_result((*found[:2], found.st_dev + (path == str(topics)), *found[3:]))

    monkeypatch.setattr(os, "stat", mounted_elsewhere)
    assert not file_system_kind(*places).is_known
