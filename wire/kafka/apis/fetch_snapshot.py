"""FetchSnapshot (59), version 1: a part of the checkpoint of a partition's stage, for followers (ADR 0036).

Only for nodes that have shown that they are, and clients are not told of it.
"""

from coordinators.records.directory import PartitionDirectory
from coordinators.replication.ports import FollowerReads
from wire.kafka.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from wire.kafka.nodes.following import serve_snapshots
from wire.kafka.request import Context, Deferred
from wire.kafka.rights import OF_NODES

KEY = 59
VERSIONS = (1, 1)
ADVERTISED = False
RIGHTS = OF_NODES


def handle(
    request: FetchSnapshotRequest, context: Context, followers: FollowerReads, directory: PartitionDirectory
) -> FetchSnapshotResponse | Deferred[FetchSnapshotResponse]:
    """Pieces of checkpoints."""
    return serve_snapshots(request, context, followers, directory)
