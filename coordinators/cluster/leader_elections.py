"""Elects leaders: votes on partitions' rows with the nodes as they are in the catalogue now, and commits what came out.

The controller does this when something happened to nodes; a node does it for itself when it comes and when it stops;
whichever node clients ask does it for them. Each row is compared with what it was voted on, so it does not matter how
many do. Every election is a line of the log and is counted.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from attrs import define, evolve, field, frozen

from coordinators.cluster.elections import (
    NO_LEADER,
    Ballot,
    ElectionKind,
    Electorate,
    preferred,
    preferred_leader,
    settled,
    withdrawn,
)
from coordinators.cluster.opening import PartitionKey
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.cluster.rows import ChangedRow, PartitionRow, change_partitions, read_nodes, read_rows
from coordinators.topic_view import Topic
from coordinators.waiting import Breathing, in_worker
from engine.catalogue.records import PartitionRecord
from engine.errors import (
    BrokerError,
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    PreferredLeaderNotAvailable,
    UnknownTopicOrPartition,
)
from engine.ids import TopicId
from engine.workers import Workers

logger = logging.getLogger("tidegate.elections")

Vote = Callable[[PartitionRow, Electorate, Topic | None], Ballot]
RowStep = Callable[[PartitionRecord, Electorate], PartitionRecord]
"""What else follows for a row from its members and the nodes, such as the next step of a reassignment."""


@frozen
class Elected:
    """What became of a row, and by what right somebody leads now, if that has changed."""

    changed: ChangedRow
    kind: ElectionKind | None
    electorate: Electorate

    @property
    def is_failover(self) -> bool:
        """Whether somebody leads now because the leader has gone."""
        leader, known = self.changed.before.record.leader, self.electorate
        return self.kind is not None and leader >= 0 and leader not in known.eligible | known.stopping


@define(eq=False)
class LeaderElections:
    """See the module."""

    replicas: ReplicaManager
    workers: Workers
    """Those of the catalogue."""
    steps: list[RowStep] = field(factory=list)
    """Taken one after the other, after what nodes ask for."""
    elections: Counter[ElectionKind] = field(factory=Counter, init=False)
    """How many there were of each kind, by this node."""
    leaders_lost: int = field(default=0, init=False)
    """How many partitions were left without a leader, by this node."""

    # -- after something has happened to nodes

    async def settle(
        self, *, topic_ids: Collection[TopicId] | None = None, naming: int | None = None
    ) -> Sequence[Elected]:
        """Give partitions the leaders and members that they should have with the nodes that there are: all of them,
        or those of some topics, or those that name a node as leader or as in sync."""

        def vote(row: PartitionRow, electorate: Electorate, topic: Topic | None) -> Ballot:
            if naming is not None and not _names(row.record, naming):
                return Ballot(row.record)
            return self.ballot(row.record, electorate, topic)

        return await self._elect(vote, topic_ids)

    def ballot(self, row: PartitionRecord, electorate: Electorate, topic: Topic | None) -> Ballot:
        """What should become of a row. Of a topic that this node does not know yet the careful defaults hold."""
        min_insync, unclean = 1, False
        if topic is not None:
            min_insync = topic.config.integer("min.insync.replicas")
            unclean = topic.config["unclean.leader.election.enable"] is True
        ballot = settled(row, electorate, min_insync, unclean=unclean)
        for step in self.steps:
            after = step(ballot.row, electorate)
            is_elected = after.leader not in (ballot.row.leader, NO_LEADER)
            ballot = Ballot(after, ElectionKind.CLEAN if is_elected else ballot.kind)
        return ballot

    async def prefer(self) -> Sequence[Elected]:
        """Let the first of the replicas lead wherever it may."""
        return await self._elect(lambda row, electorate, _: preferred(row.record, electorate), None)

    async def withdraw(self, key: PartitionKey, node: int, *, renews: bool = False) -> Sequence[Elected]:
        """A leader's log has failed: another leads, and it is out of sync, if there is another. If there is none it may
        lead on; where it `renews`, in a new epoch."""

        def vote(row: PartitionRow, electorate: Electorate, topic: Topic | None) -> Ballot:
            if (row.topic_id, row.index) != key or row.record.leader != node:
                return Ballot(row.record)
            min_insync = 1 if topic is None else topic.config.integer("min.insync.replicas")
            ballot = withdrawn(row.record, node, electorate, min_insync)
            if ballot.row is row.record and renews:
                epochs = row.record.leader_epoch + 1, row.record.partition_epoch + 1
                return Ballot(evolve(row.record, leader_epoch=epochs[0], partition_epoch=epochs[1]))
            return ballot

        return await self._elect(vote, {key[0]})

    # -- when clients ask

    async def elect(
        self, wanted: Sequence[tuple[str, int]] | None, *, unclean: bool
    ) -> Mapping[tuple[str, int], BrokerError | None]:
        """Per partition why it has no other leader now, or None if it has; of all, where none are named, only those
        that needed an election. They are in force on this node then."""
        known = self.replicas.topics.by_name
        outcomes: dict[PartitionKey, BrokerError | None] = {}
        topic_ids = None
        if wanted is not None:
            topic_ids = {known[name].topic_id for name, _ in wanted if name in known}
        asked = None if wanted is None else {(known[name].topic_id, i) for name, i in wanted if name in known}

        def vote(row: PartitionRow, electorate: Electorate, topic: Topic | None) -> Ballot:
            key = row.topic_id, row.index
            if asked is not None and key not in asked:
                return Ballot(row.record)
            ballot, outcomes[key] = (
                _asked_unclean(row.record, electorate, topic) if unclean else _asked(row, electorate)
            )
            return ballot

        elected = await self._elect(vote, topic_ids)
        await self.replicas.in_force(max((each.changed.revision for each in elected), default=0))
        return self._told(wanted, outcomes)

    def _told(
        self, wanted: Sequence[tuple[str, int]] | None, outcomes: Mapping[PartitionKey, BrokerError | None]
    ) -> Mapping[tuple[str, int], BrokerError | None]:
        topics = self.replicas.topics
        if wanted is None:
            needed = {key: error for key, error in outcomes.items() if not isinstance(error, ElectionNotNeeded)}
            return {
                (topics.by_id[topic_id].name, index): error
                for (topic_id, index), error in needed.items()
                if topic_id in topics.by_id
            }
        told: dict[tuple[str, int], BrokerError | None] = {}
        for name, index in wanted:
            topic = topics.by_name.get(name)
            if topic is None:
                told[name, index] = UnknownTopicOrPartition(f"No such topic as {name}")
            else:
                unknown = UnknownTopicOrPartition(f"No such partition as {name}-{index}")
                told[name, index] = outcomes.get((topic.topic_id, index), unknown)
        return told

    # -- from the vote to the catalogue

    async def _elect(self, vote: Vote, topic_ids: Collection[TopicId] | None) -> Sequence[Elected]:
        elected: list[Elected] = []
        topics = dict(self.replicas.topics.by_id)
        try:
            newcomers = self.replicas.newcomers()
            await in_worker(self.workers, self._elect_in_thread, vote, topic_ids, topics, elected, newcomers)
        except BaseException:
            # Some may have been elected before.
            for each in list(elected):
                self._note(each, topics)
            raise
        breathing = Breathing()
        for each in elected:
            self._note(each, topics)
            await breathing.did()
        return elected

    def _elect_in_thread(
        self,
        vote: Vote,
        topic_ids: Collection[TopicId] | None,
        topics: Mapping[TopicId, Topic],
        elected: list[Elected],
        newcomers: Collection[int],
    ) -> None:
        """[thread]"""
        catalogue = self.replicas.catalogue
        electorate = Electorate(frozenset())
        ballots: dict[PartitionKey, Ballot] = {}

        def read() -> Sequence[PartitionRow]:
            nonlocal electorate
            if topic_ids is None:
                rows = read_rows(catalogue)
            else:
                rows = [row for topic_id in topic_ids for row in read_rows(catalogue, topic_id)]
            # After the rows: whoever goes later is seen to go by the controller, which looks again then.
            electorate = Electorate.of(read_nodes(catalogue), newcomers)
            return rows

        def change(row: PartitionRow) -> PartitionRecord:
            ballot = vote(row, electorate, topics.get(row.topic_id))
            ballots[row.topic_id, row.index] = ballot
            return ballot.row

        def note(changed: ChangedRow) -> None:
            before = changed.before
            elected.append(Elected(changed, ballots[before.topic_id, before.index].kind, electorate))

        change_partitions(catalogue, read, change, note)

    # -- to be seen

    def _note(self, elected: Elected, topics: Mapping[TopicId, Topic]) -> None:
        before, after = elected.changed.before, elected.changed.record
        topic = topics.get(before.topic_id)
        name = before.topic_id.hex() if topic is None else topic.name
        extra = {"topic": name, "partition": before.index, "leader_epoch": after.leader_epoch}
        if elected.kind is not None:
            self.elections[elected.kind] += 1
            log = logger.warning if elected.kind is ElectionKind.UNCLEAN else logger.info
            log(
                "node %d leads partition %d of %r: %s election, %s; in sync %s",
                after.leader,
                before.index,
                name,
                elected.kind.value,
                _reason(before.record, elected),
                after.isr,
                extra=extra,
            )
        elif after.leader == NO_LEADER != before.record.leader:
            self.leaders_lost += 1
            logger.warning(
                "nobody leads partition %d of %r: %s, and none of the replicas in sync %s may lead",
                before.index,
                name,
                _reason(before.record, elected),
                after.isr,
                extra=extra,
            )


def _names(row: PartitionRecord, node: int) -> bool:
    return row.leader == node or (len(row.replicas) > 1 and node in row.isr)


def _reason(before: PartitionRecord, elected: Elected) -> str:
    if elected.kind is ElectionKind.PREFERRED:
        return f"it is the first replica, node {before.leader} led before"
    if before.leader == NO_LEADER:
        return "there was no leader"
    if before.leader in elected.electorate.stopping:
        return f"node {before.leader} is stopping"
    if before.leader not in elected.changed.record.replicas:
        return f"the partition has moved away from node {before.leader}"
    return f"node {before.leader} has gone"


def _asked(row: PartitionRow, electorate: Electorate) -> tuple[Ballot, BrokerError | None]:
    first = preferred_leader(row.record)
    if row.record.leader == first:
        return Ballot(row.record), ElectionNotNeeded("Leader election not needed for topic partition.")
    ballot = preferred(row.record, electorate.without_newcomers)
    if ballot.kind is None:
        return ballot, PreferredLeaderNotAvailable(f"The preferred leader {first} was not available.")
    return ballot, None


def _asked_unclean(
    row: PartitionRecord, electorate: Electorate, topic: Topic | None
) -> tuple[Ballot, BrokerError | None]:
    """Whoever asks for it takes the loss on himself, whatever the topic's config says, as in Kafka."""
    if row.leader in electorate.eligible or row.leader in electorate.stopping:
        return Ballot(row), ElectionNotNeeded("Leader election not needed for topic partition.")
    min_insync = 1 if topic is None else topic.config.integer("min.insync.replicas")
    ballot = settled(row, electorate, min_insync, unclean=True)
    if ballot.kind is None:
        return ballot, EligibleLeadersNotAvailable("Failed to elect leader for the partition: no replica is alive.")
    return ballot, None
