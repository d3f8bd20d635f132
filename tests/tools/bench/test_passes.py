"""What a small crowd takes of the loop is told."""

from trio.testing import trio_test

from tools.bench.passes import measure


@trio_test
async def test_the_passes_of_a_loop_beside_a_crowd_are_measured() -> None:
    found = await measure("handshakes", 1.0, 40, 1)
    assert found["reached_per_s"] > 0
    assert 0 < found["p50_ms"] <= found["p99_ms"] <= found["longest_ms"]
    assert 0 < found["loop_share"] <= 1
