"""The fixed load: answered without errors by a real broker, and the same every time."""

import trio

from tools.bench.replay import CALIBRATION, Work, calibrate, loads, replay


def test_every_load_is_answered() -> None:
    ran: list[str] = []

    async def measured(name: str, work: Work) -> None:
        await work(10)
        ran.append(name)

    trio.run(replay, measured)
    assert ran == [CALIBRATION, *(load.name for load in loads())]


def test_calibration_is_the_same_work_every_time() -> None:
    assert calibrate(3) == calibrate(3) == 3 * 50 * 12
