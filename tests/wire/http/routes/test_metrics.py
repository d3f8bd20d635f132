"""`/metrics` over the wire."""

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from trio.testing import trio_test

from engine.metrics import Family
from tests.wire.http.door import open_http_door


@trio_test
async def test_whoever_registered_is_scraped(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        door.broker.metrics.register(lambda: [Family.counter("mine_total", "Mine.", [({"a": "b"}, 2)])])
        answer = await door.ask("GET", "/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        families = {family.name: family for family in text_string_to_metric_families(answer.body.decode())}
        assert families["mine"].samples[0].value == 2


@trio_test
async def test_openmetrics_is_served_to_who_prefers_it(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        answer = await door.ask("GET", "/metrics", {"accept": "application/openmetrics-text;version=1.0.0"})
        assert answer.headers["content-type"].startswith("application/openmetrics-text")
