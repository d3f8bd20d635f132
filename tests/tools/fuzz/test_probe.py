"""The probe notices a loop that was busy, and how long."""

import gc
import time
from pathlib import Path

import trio

from tools.fuzz.cost.probe import LongestTurn, TurnProbe


def test_the_longest_turn_is_told_to_whoever_maps_the_file(tmp_path: Path) -> None:
    with LongestTurn(tmp_path / "turns") as ours, LongestTurn(tmp_path / "turns") as theirs:
        theirs.note(0.2, 0.3)
        theirs.note(0.1, 0.4)
        assert ours.read_s() == (0.2, 0.4)
        ours.reset()
        assert theirs.read_s() == (0.0, 0.0)


def test_a_busy_turn_is_measured_and_a_wait_is_not(tmp_path: Path) -> None:
    async def work() -> None:
        await trio.sleep(0.5)
        busy_until = time.thread_time() + 0.03
        while time.thread_time() < busy_until:
            pass
        await trio.lowlevel.checkpoint()

    # A collection in a process that has run thousands of tests would be the longest turn.
    gc.disable()
    try:
        with LongestTurn(tmp_path / "turns") as longest:
            trio.run(work, instruments=[TurnProbe(longest)])
            cpu_s, wall_s = longest.read_s()
    finally:
        gc.enable()
    assert 0.03 <= cpu_s < 0.3
    assert wall_s >= 0.029
