"""A job and how it ends, without a broker."""

import pytest
import trio

from tidegate.work.job import MAX_DELAY_S, Job, Settlement

Said = list[tuple[Settlement, int | None]]


def a_job(said: Said) -> Job:
    async def settle(job: Job, settlement: Settlement) -> None:
        said.append((settlement, job.delay_ms))
        job.settled = settlement

    return Job("jobs", 0, 7, None, b"v", (), 1_700_000_000_000, 1, (b"t" * 16, 0), settle)


def test_a_block_ends_a_job_as_it_ends_itself() -> None:
    said: Said = []

    async def program() -> None:
        async with a_job(said):
            pass
        with pytest.raises(KeyError):
            async with a_job(said):
                raise KeyError
        async with a_job(said) as job:
            await job.reject()

    trio.run(program)
    assert said == [(Settlement.ACCEPT, None), (Settlement.RELEASE, None), (Settlement.REJECT, None)]


@pytest.mark.parametrize(("delay", "delay_ms"), [(None, None), (0, 0), (1.5, 1500), (MAX_DELAY_S, MAX_DELAY_S * 1000)])
def test_a_job_is_released_for_later(delay: float | None, delay_ms: int | None) -> None:
    said: Said = []
    trio.run(a_job(said).release, delay)
    assert said == [(Settlement.RELEASE, delay_ms)]


@pytest.mark.parametrize("delay", [-1, MAX_DELAY_S + 1, float("nan")])
def test_a_delay_that_cannot_be_is_refused_and_the_job_is_still_in_hand(delay: float) -> None:
    said: Said = []
    with pytest.raises(ValueError, match="a delay of"):
        trio.run(a_job(said).release, delay)
    assert said == []
