"""What a client may do, as the bit field that Metadata and the describe calls carry (KIP-430).

A bit stands for an operation of Kafka's AclOperation. Without an authorizer everything that makes sense for
the resource is allowed.
"""

from coordinators.access.access import AccessControl
from coordinators.access.acls import ResourceKind
from coordinators.access.callers import Caller
from wire.kafka.rights import DESCRIBE_CLUSTER

READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12

NOT_ASKED = -(2**31)
"""The answer to who did not ask."""


def _bits(*operations: int) -> int:
    return sum(1 << operation for operation in operations)


TOPIC_OPERATIONS = _bits(READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
CLUSTER_OPERATIONS = _bits(CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE)
GROUP_OPERATIONS = _bits(READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)


def cluster_operations(access: AccessControl, caller: Caller) -> int:
    """What the caller may do to the cluster; nothing, for one who may not describe it."""
    return access.operations(caller, ResourceKind.CLUSTER) if access.permits(caller, DESCRIBE_CLUSTER) else 0
