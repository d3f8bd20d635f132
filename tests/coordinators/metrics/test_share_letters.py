"""Figures of what share groups have given up."""

from trio.testing import trio_test

from coordinators.metrics.share_letters import ShareLetterMetrics
from coordinators.share.acks import AckType
from tests.coordinators.conftest import Desk
from tests.coordinators.share.letter_bench import LetterBench
from tests.wire.http.scraping import collected


@trio_test
async def test_letters_are_counted_while_they_wait_and_when_they_have_arrived() -> None:
    bench = LetterBench(Desk())
    await bench.create()
    bench.write("a", "b", "c")
    bench.take()
    bench.acknowledge(AckType.REJECT, 0, 2)
    metrics = ShareLetterMetrics(bench.letters)
    found = collected(metrics.collect())
    assert found("tidegate_share_dead_letters_waiting") == 2
    assert found("tidegate_share_dead_letters_total", reason="rejected") == 0
    bench.partition(bench.topic).delete_records(1)
    await bench.deliver()
    found = collected(metrics.collect())
    assert found("tidegate_share_dead_letters_waiting") == 0
    assert found("tidegate_share_dead_letters_total", reason="rejected") == 2
    assert found("tidegate_share_dead_letters_total", reason="delivery_count") == 0
    assert found("tidegate_share_dead_letters_without_record_total") == 1
