"""A scrape: gathered in slices, written as Prometheus' text or OpenMetrics."""

from collections.abc import Iterator

import trio
from prometheus_client.parser import text_string_to_metric_families
from trio.testing import trio_test

from engine.metrics import Family, Histogram, Metrics
from wire.http.exposition import SAMPLES_PER_SLICE, gather, render


def some() -> Metrics:
    histogram = Histogram((0.1, 1.0))
    histogram.observe(0.5)
    metrics = Metrics()
    metrics.register(
        lambda: [
            Family.counter("made_total", "Made.", [({"topic": 'a"b\n'}, 3)]),
            Family.gauge("depth", "Depth.", [({}, 1.5)]),
            Family.histogram("took_seconds", "Took.", [({"api": "x"}, histogram)]),
        ]
    )
    return metrics


def parsed(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@trio_test
async def test_prometheus_reads_what_was_counted() -> None:
    body, media_type = render(await gather(some()), "")
    found = parsed(body.decode())
    assert media_type.startswith("text/plain")
    assert found["made_total", (("topic", 'a"b\n'),)] == 3
    assert found["depth", ()] == 1.5
    assert found["took_seconds_bucket", (("api", "x"), ("le", "0.1"))] == 0
    assert found["took_seconds_bucket", (("api", "x"), ("le", "+Inf"))] == 1
    assert found["took_seconds_sum", (("api", "x"),)] == 0.5
    assert found["process_resident_memory_bytes", ()] > 0


@trio_test
async def test_openmetrics_is_written_where_it_is_asked_for() -> None:
    body, media_type = render(await gather(some()), "application/openmetrics-text; version=1.0.0")
    assert media_type.startswith("application/openmetrics-text")
    assert b"made_total" in body
    assert body.endswith(b"# EOF\n")


@trio_test
async def test_others_go_on_during_a_long_scrape() -> None:
    seen: list[int] = []

    def many() -> Iterator[tuple[dict[str, str], float]]:
        for number in range(20 * SAMPLES_PER_SLICE):
            seen.append(number)
            yield {"number": str(number)}, number

    metrics = Metrics()
    metrics.register(lambda: [Family.gauge("many", "Many.", many())])
    turns: list[int] = []

    async def other() -> None:
        while len(seen) < 20 * SAMPLES_PER_SLICE:
            turns.append(len(seen))
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        gathered = await gather(metrics)
    assert len(gathered[0].samples) == 20 * SAMPLES_PER_SLICE
    assert len(set(turns)) >= 5


@trio_test
async def test_others_go_on_while_a_collector_reckons() -> None:
    turns: list[str] = []

    def collect() -> Iterator[Family | None]:
        for _ in range(10):
            turns.append("reckons")
            yield None
        yield Family.gauge("sum", "Sum.", [({}, 1)])

    async def other() -> None:
        for _ in range(3):
            turns.append("other")
            await trio.lowlevel.checkpoint()

    metrics = Metrics()
    metrics.register(collect)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        assert len(await gather(metrics)) == 1
    assert "reckons" in turns[turns.index("other") :]
