"""Slots on a real disk: laid out once, written past the cache, read back as they were written."""

import os
import select
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.files.files import OsFiles
from engine.files.kernel_sync import KernelSync, open_kernel_sync
from engine.journal.device import DirectDevice, Slot
from engine.journal.format import BLOCK

TIMEOUT_MS = 10_000
SIZE = 16 * BLOCK
Wait = Callable[[list[OSError | None]], None]


@pytest.fixture
def kernel() -> Iterator[tuple[KernelSync, Wait]]:
    eventfd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    opened = open_kernel_sync(eventfd)
    if opened is None:
        pytest.skip("this kernel does not write by itself")

    def wait(outcomes: list[OSError | None]) -> None:
        poll = select.poll()
        poll.register(eventfd, select.POLLIN)
        while not outcomes:
            assert poll.poll(TIMEOUT_MS), "the kernel never told"
            os.eventfd_read(eventfd)
            opened.deliver()

    yield opened, wait
    opened.close()
    os.close(eventfd)


def laid_out(device: DirectDevice, path: Path, size: int = SIZE) -> Slot:
    try:
        return device.lay_out(str(path), size)
    except OSError as error:
        pytest.skip(f"no writes past the cache here: {error}")


def test_what_is_written_is_on_the_disk(kernel: tuple[KernelSync, Wait], tmp_path: Path) -> None:
    device = DirectDevice(kernel[0], OsFiles(), 4 * BLOCK)
    slot = laid_out(device, tmp_path / "0.journal")
    assert (tmp_path / "0.journal").read_bytes() == bytes(SIZE)
    device.buffer[: 2 * BLOCK] = b"a" * BLOCK + b"b" * BLOCK
    outcomes: list[OSError | None] = []
    slot.write(2 * BLOCK, 3 * BLOCK, outcomes.append)
    kernel[1](outcomes)
    assert outcomes == [None]
    content = (tmp_path / "0.journal").read_bytes()
    assert content == bytes(3 * BLOCK) + b"a" * BLOCK + b"b" * BLOCK + bytes(SIZE - 5 * BLOCK)
    slot.close()


def test_a_slot_that_is_there_keeps_its_content(kernel: tuple[KernelSync, Wait], tmp_path: Path) -> None:
    (tmp_path / "0.journal").write_bytes(b"k" * SIZE)
    device = DirectDevice(kernel[0], OsFiles(), BLOCK)
    laid_out(device, tmp_path / "0.journal").close()
    assert (tmp_path / "0.journal").read_bytes() == b"k" * SIZE


def test_a_slot_of_another_size_is_made_anew(kernel: tuple[KernelSync, Wait], tmp_path: Path) -> None:
    (tmp_path / "0.journal").write_bytes(b"k" * (SIZE - 1))
    device = DirectDevice(kernel[0], OsFiles(), BLOCK)
    laid_out(device, tmp_path / "0.journal").close()
    assert (tmp_path / "0.journal").read_bytes() == bytes(SIZE)


def test_a_write_that_the_disk_refuses_is_told(kernel: tuple[KernelSync, Wait], tmp_path: Path) -> None:
    device = DirectDevice(kernel[0], OsFiles(), BLOCK)
    slot = laid_out(device, tmp_path / "0.journal")
    outcomes: list[OSError | None] = []
    slot.write(BLOCK, 17, outcomes.append)  # not on a block's boundary
    kernel[1](outcomes)
    assert isinstance(outcomes[0], OSError)
    slot.close()


def test_a_closed_slot_refuses(kernel: tuple[KernelSync, Wait], tmp_path: Path) -> None:
    device = DirectDevice(kernel[0], OsFiles(), BLOCK)
    slot = laid_out(device, tmp_path / "0.journal")
    slot.close()
    outcomes: list[OSError | None] = []
    slot.write(BLOCK, 0, outcomes.append)
    assert isinstance(outcomes[0], OSError)
