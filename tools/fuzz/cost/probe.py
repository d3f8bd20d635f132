"""A broker that tells how long its event loop was busy: `python -m tools.fuzz.cost.probe FILE serve ...`.

The longest turn of the loop, from one wait for events to the next, is what every other client had to wait. It is
written to a file that the parent has mapped as well: asking by a request would have to wait for the very turn in
question. CPU time of the loop's thread is taken, because on a busy machine the wall's clock counts others' work too.
"""

import functools
import mmap
import struct
import sys
import time
from pathlib import Path
from types import TracebackType

import trio

_LONGEST = struct.Struct("=dd")
SIZE = _LONGEST.size


class LongestTurn:
    """The longest turn since `reset`, in a mapped file: both processes hold one of these."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(SIZE))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE)

    def __enter__(self) -> "LongestTurn":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._map.close()

    def reset(self) -> None:
        _LONGEST.pack_into(self._map, 0, 0.0, 0.0)

    def read_s(self) -> tuple[float, float]:
        """Seconds of CPU of the longest turn, and seconds of the longest turn by the clock."""
        cpu_s, wall_s = _LONGEST.unpack_from(self._map, 0)
        return cpu_s, wall_s

    def note(self, cpu_s: float, wall_s: float) -> None:
        longest_cpu_s, longest_wall_s = self.read_s()
        if cpu_s > longest_cpu_s or wall_s > longest_wall_s:
            _LONGEST.pack_into(self._map, 0, max(cpu_s, longest_cpu_s), max(wall_s, longest_wall_s))


class TurnProbe(trio.abc.Instrument):
    """Measures every turn of the loop."""

    def __init__(self, longest: LongestTurn) -> None:
        self._longest = longest
        self._cpu_s, self._wall_s = time.thread_time(), time.monotonic()

    def after_io_wait(self, timeout: float) -> None:  # noqa: ARG002
        self._cpu_s, self._wall_s = time.thread_time(), time.monotonic()

    def before_io_wait(self, timeout: float) -> None:  # noqa: ARG002
        self._longest.note(time.thread_time() - self._cpu_s, time.monotonic() - self._wall_s)


def main(arguments: list[str]) -> None:
    """Serve as a test's broker does, with the probe in its loop."""
    from tidegate import _child

    probe = TurnProbe(LongestTurn(Path(arguments[0])))
    setattr(trio, "run", functools.partial(trio.run, instruments=[probe]))  # noqa: B010
    sys.argv[1:] = arguments[1:]
    _child.main()


if __name__ == "__main__":
    main(sys.argv[1:])
