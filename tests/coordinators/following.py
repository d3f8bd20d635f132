"""A node that follows a catalogue and changes it, as the controller does: several of them may share one."""

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from coordinators.cluster.news import News, read_news
from coordinators.topic_view import Plan
from engine.catalogue.catalogue import Catalogue, CatalogueConflict, Watch

PLANNED_AT_MOST = 10
FOLLOW_S = 10.0


class FollowingNode:
    """What it has of this, its attributes, is made by whoever it is."""

    catalogue: Catalogue
    watch: Watch
    commits: int
    before_commit: list[Callable[[], Awaitable[object]]]
    """What happens elsewhere between a plan and its commit, once each."""

    def take(self, news: News) -> None:
        """What a revision changed."""
        raise NotImplementedError

    def follow(self, revision: int = 0) -> None:
        """Take the news, up to a revision at least."""
        while True:
            events = self.watch.next(0 if self.watch.reached >= revision else FOLLOW_S)
            for news in read_news(events):
                self.take(news)
            if self.watch.reached >= revision:
                return

    async def change(self, plan: Callable[[], Plan[Any]]) -> tuple[Any, ...]:
        """As the controller does it."""
        for _ in range(PLANNED_AT_MOST):
            await trio.lowlevel.checkpoint()
            self.follow()
            planned = plan()
            if planned.empty:
                return planned.results
            while self.before_commit:
                await self.before_commit.pop()()
            try:
                revision = self.catalogue.commit(planned.commit)
            except CatalogueConflict as error:
                conflict = error
                self.follow()
                continue
            self.commits += 1
            self.follow(revision)
            return planned.results
        raise conflict
