"""Replication, composed: followers of this node, and whom it follows. A node by itself never loads it."""

import trio
from attrs import define

from coordinators.cluster.controller import ClusterController
from coordinators.release.releases import Releases
from coordinators.replication.fetching import Fetching, FetchLimits, FetchServices
from coordinators.replication.followers import Followers
from coordinators.replication.following import Following
from coordinators.replication.in_sync import InSyncReplicas
from coordinators.replication.isr_commits import IsrCommits
from coordinators.replication.ports import LeaderLinks
from coordinators.replication.stage_snapshots import StageSnapshots
from coordinators.replication.throttle import ReplicationThrottle, ThrottledSide
from coordinators.topic_view import Topic
from engine.config.resolve import BrokerSettings
from engine.partition.partition import Partition
from engine.timers import Timers
from tidegate.clustering import Clustering
from tidegate.world import World


@define(eq=False)
class Replication:
    """Followers of this node, and whom it follows."""

    controller: ClusterController
    in_sync: InSyncReplicas
    followers: Followers
    following: Following
    fetching: Fetching

    @classmethod
    def compose(
        cls,
        world: World,
        controller: ClusterController,
        releases: Releases,
        timers: Timers,
        links: LeaderLinks,
        clustering: Clustering,
    ) -> "Replication":
        """Follows the roles of partitions from the start."""
        replicas, clock, workers = controller.replicas, world.clock, world.workers
        partitions, nodes, settings = replicas.partitions, replicas.nodes, replicas.topics.settings
        lag_max_s = settings.integer("replica.lag.time.max.ms") / 1000
        commits = IsrCommits(replicas.catalogue, world.catalogue_workers)
        in_sync = InSyncReplicas(partitions, nodes, commits, clock, lambda: lag_max_s)
        view = replicas.topics.view
        followers = Followers(
            partitions,
            nodes,
            in_sync,
            StageSnapshots(world.files, workers),
            clock,
            timers,
            view,
            _throttle(world, controller, ThrottledSide.LEADER),
        )
        following = Following(
            releases,
            world.files,
            workers,
            replicas.background,
            clock,
            timers,
            partitions.run_jobs,
            view,
            _throttle(world, controller, ThrottledSide.FOLLOWER),
        )
        membership, role = clustering.membership, clustering.role
        services = FetchServices(membership, nodes, links, following, _limits(settings), role.suspect)
        fetching = Fetching(services)
        replication = cls(controller, in_sync, followers, following, fetching)
        replicas.on_role.append(fetching.look_at)
        replicas.on_dropped.append(fetching.leave)
        replicas.on_following_ends.append(fetching.stop)
        replicas.on_dropped.append(followers.forget)
        replicas.on_leading.append(replication._leads)
        replicas.on_resigned.append(replication._resigned)
        releases.on_stage.append(followers.stage_was_made)
        return replication

    def _leads(self, _topic: Topic, partition: Partition) -> None:
        self.in_sync.began(partition)

    def _resigned(self, topic: Topic, index: int, _epoch: int | None) -> None:
        self.in_sync.ended(topic.topic_id, index)

    def start(self, nursery: trio.Nursery) -> None:
        """Its tasks."""
        nursery.start_soon(self.in_sync.run)
        nursery.start_soon(self.fetching.run)


def _throttle(world: World, controller: ClusterController, side: ThrottledSide) -> ReplicationThrottle:
    topics = controller.topics
    return ReplicationThrottle(topics.node_id, side, world.clock, lambda: topics.settings.integer(side.rate_key))


def _limits(settings: BrokerSettings) -> FetchLimits:
    return FetchLimits(
        settings.integer("replica.fetch.wait.max.ms"),
        settings.integer("replica.fetch.response.max.bytes"),
        settings.integer("replica.fetch.max.bytes"),
    )
