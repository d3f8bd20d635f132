"""How soon members come back."""

from coordinators.group.pace import LEAST_INTERVAL_MS, HeartbeatPace


def test_few_come_often_and_many_seldom() -> None:
    def interval_ms(members: int, per_second: int = 100, *, waits: bool = False) -> int:
        return HeartbeatPace(per_second, lambda: members).interval_ms(5_000, waits=waits)

    assert interval_ms(1) == LEAST_INTERVAL_MS
    assert interval_ms(250) == 2_500
    assert interval_ms(10_000) == 5_000
    assert interval_ms(10_000, waits=True) == LEAST_INTERVAL_MS, "what it waits for may be free at any time"
    assert interval_ms(1, per_second=0) == 5_000
