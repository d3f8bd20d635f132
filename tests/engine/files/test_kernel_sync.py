"""The kernel syncs files by itself and tells of each; an error reaches whoever handed the file in."""

import errno
import os
import select
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.files import kernel_sync
from engine.files.files import OsFiles
from engine.files.kernel_sync import MOST_UNDER_WAY, KernelSync, open_kernel_sync

TIMEOUT_MS = 10_000


@pytest.fixture
def eventfd() -> Iterator[int]:
    descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def kernel(eventfd: int) -> Iterator[KernelSync]:
    opened = open_kernel_sync(eventfd)
    if opened is None:
        pytest.skip("this kernel does not sync by itself")
    yield opened
    opened.close()


def outcomes_of(kernel: KernelSync, eventfd: int, descriptors: list[int]) -> dict[int, OSError | None]:
    outcomes: dict[int, OSError | None] = {}
    kernel.submit(descriptors, lambda place, error: outcomes.update({place: error}))
    poll = select.poll()
    poll.register(eventfd, select.POLLIN)
    while len(outcomes) < len(descriptors):
        assert poll.poll(TIMEOUT_MS), "the kernel never told"
        os.eventfd_read(eventfd)
        kernel.deliver()
    return outcomes


def test_each_file_is_told_of(kernel: KernelSync, eventfd: int, tmp_path: Path) -> None:
    files = [OsFiles().open(str(tmp_path / name), create=True) for name in "abc"]
    for file in files:
        file.write([b"content"], 0)
    descriptors = [file.fileno() or -1 for file in files]
    assert outcomes_of(kernel, eventfd, descriptors) == {0: None, 1: None, 2: None}
    assert outcomes_of(kernel, eventfd, descriptors[:1]) == {0: None}


def test_a_file_that_cannot_be_synced_fails_alone(kernel: KernelSync, eventfd: int, tmp_path: Path) -> None:
    file = OsFiles().open(str(tmp_path / "a"), create=True)
    reading, writing = os.pipe()
    try:
        outcomes = outcomes_of(kernel, eventfd, [file.fileno() or -1, writing])
    finally:
        os.close(reading)
        os.close(writing)
    assert outcomes[0] is None
    failure = outcomes[1]
    assert failure is not None
    assert failure.errno == errno.EINVAL


def test_more_files_than_the_kernel_takes_at_once_are_all_synced(
    kernel: KernelSync, eventfd: int, tmp_path: Path
) -> None:
    file = OsFiles().open(str(tmp_path / "a"), create=True)
    many = [file.fileno() or -1] * (MOST_UNDER_WAY + 5)
    assert outcomes_of(kernel, eventfd, many) == dict.fromkeys(range(len(many)))


def test_a_file_may_be_closed_meanwhile(kernel: KernelSync, eventfd: int, tmp_path: Path) -> None:
    outcomes: list[OSError | None] = []
    for number in range(20):
        file = OsFiles().open(str(tmp_path / str(number)), create=True)
        file.write([b"x" * 4096], 0)
        kernel.submit([file.fileno() or -1], lambda _, error: outcomes.append(error))
        file.close()
    poll = select.poll()
    poll.register(eventfd, select.POLLIN)
    while len(outcomes) < 20:
        assert poll.poll(TIMEOUT_MS)
        os.eventfd_read(eventfd)
        kernel.deliver()
    assert outcomes == [None] * 20


def test_elsewhere_there_is_none(eventfd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_sync.platform, "machine", lambda: "vax")
    assert open_kernel_sync(eventfd) is None


def test_a_kernel_that_refuses_is_done_without(eventfd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown_call = 100_000
    monkeypatch.setattr(kernel_sync, "_CALLS", {os.uname().machine: (unknown_call,) * 4})
    assert open_kernel_sync(eventfd) is None
