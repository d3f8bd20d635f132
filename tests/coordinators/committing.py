"""Commit a change and put it in force, where nobody follows the catalogue."""

from coordinators.cluster.news import read_news
from coordinators.topic_view import TopicUpdate
from coordinators.topics import Topics
from engine.catalogue.catalogue import Catalogue, Commit


def commit_and_apply(catalogue: Catalogue, topics: Topics, commit: Commit) -> list[TopicUpdate]:
    """What followed from it."""
    before = catalogue.revision()
    catalogue.commit(commit)
    updates = []
    for news in read_news(catalogue.watch(before).next(0)):
        for update in topics.updates(news):
            topics.view.apply(update)
            updates.append(update)
    return updates
