"""What the journal is written by in a simulation: each write becomes durable some time after it was asked for."""

import random

import trio

from engine.files.files import File
from engine.files.memory import MemoryFiles
from engine.journal.device import Slot, Written
from tests.simulation.running import sleep

BUFFER_BYTES = 256 * 1024
SLOWEST_WRITE_S = 0.002


class SimulatedDevice:
    """Slots in files of the simulated disk."""

    def __init__(
        self, nursery: trio.Nursery, files: MemoryFiles, chance: random.Random, slowest_s: float = SLOWEST_WRITE_S
    ) -> None:
        self.slowest_s = slowest_s
        self.buffer = memoryview(bytearray(BUFFER_BYTES))
        self.nursery = nursery
        self.chance = chance
        self._files = files

    def lay_out(self, path: str, size: int) -> Slot:
        file = self._files.open(path, create=True)
        if file.size() != size:
            file.truncate(0)
            file.write([bytes(size)], 0)
        file.sync()
        directory = path
        while directory not in ("", "/"):
            directory = directory.rpartition("/")[0]
            self._files.sync_directory(directory)
        return _SimulatedSlot(file, self)


class _SimulatedSlot:
    def __init__(self, file: File, device: SimulatedDevice) -> None:
        self._file = file
        self._device = device

    def write(self, size: int, position: int, done: Written) -> None:
        frame = bytes(self._device.buffer[:size])
        self._device.nursery.start_soon(self._write, frame, position, done)

    async def _write(self, frame: bytes, position: int, done: Written) -> None:
        await sleep(self._device.chance.random() * self._device.slowest_s)
        # A cut of power from here to the sync leaves any part of it, or nothing.
        self._file.write([frame], position)
        await sleep(self._device.chance.random() * self._device.slowest_s)
        self._file.sync()
        await sleep(self._device.chance.random() * self._device.slowest_s)
        done(None)

    def close(self) -> None:
        """Nothing is held."""
