"""Who this node is in its cluster."""

from attrs import frozen


@frozen
class NodeIdentity:
    """Its number, the cluster that it belongs to, and where it stands."""

    node_id: int
    cluster_id: str
    rack: str | None
