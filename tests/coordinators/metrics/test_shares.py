"""Figures of share groups: what was handed out and acknowledged, how full the window is."""

from pathlib import Path

from trio.testing import trio_test

from coordinators.metrics.shares import ShareMetrics
from coordinators.share.sharing import Sharing
from tests.wire.http.routes.test_share_groups import working
from tests.wire.http.scraping import Scrape, collected
from tests.wire.kafka.sharing import ACCEPT, RELEASE


@trio_test
async def test_deliveries_acknowledgements_and_the_window_are_told(tmp_path: Path) -> None:
    async with working(tmp_path) as (http, _, member):
        await member.acknowledge([(0, 0, [ACCEPT]), (1, 1, [RELEASE])])
        sharing = http.broker.node.services[Sharing]
        found = collected(ShareMetrics(sharing, 10).collect())
        assert found("tidegate_share_acknowledgements_total", type="accept") == 1
        assert found("tidegate_share_acknowledgements_total", type="release") == 1
        assert found("tidegate_share_deliveries_total", attempt="1") == 3
        assert found("tidegate_share_in_flight", sharegroup="g") == 1
        assert found("tidegate_share_backoff", sharegroup="g") == 1
        assert found("tidegate_share_window", sharegroup="g") == 2
        assert found("tidegate_share_window_fill_ratio", sharegroup="g") == 2 / 2000
        assert found("tidegate_share_lock_expiries_total") == 0


@trio_test
async def test_groups_beyond_the_limit_have_no_figures(tmp_path: Path) -> None:
    async with working(tmp_path) as (http, _, _member):
        found: Scrape = collected(ShareMetrics(http.broker.node.services[Sharing], 0).collect())
        assert not found.has("tidegate_share_in_flight", sharegroup="g")
