"""The rights that doors ask for, by name."""

from coordinators.access.access import Right
from coordinators.access.acls import Operation, ResourceKind

READ_TOPIC = Right(Operation.READ, ResourceKind.TOPIC)
WRITE_TOPIC = Right(Operation.WRITE, ResourceKind.TOPIC)
CREATE_TOPIC = Right(Operation.CREATE, ResourceKind.TOPIC)
DELETE_TOPIC = Right(Operation.DELETE, ResourceKind.TOPIC)
ALTER_TOPIC = Right(Operation.ALTER, ResourceKind.TOPIC)
DESCRIBE_TOPIC = Right(Operation.DESCRIBE, ResourceKind.TOPIC)
DESCRIBE_TOPIC_CONFIGS = Right(Operation.DESCRIBE_CONFIGS, ResourceKind.TOPIC)
ALTER_TOPIC_CONFIGS = Right(Operation.ALTER_CONFIGS, ResourceKind.TOPIC)
READ_GROUP = Right(Operation.READ, ResourceKind.GROUP)
DELETE_GROUP = Right(Operation.DELETE, ResourceKind.GROUP)
DESCRIBE_GROUP = Right(Operation.DESCRIBE, ResourceKind.GROUP)
DESCRIBE_GROUP_CONFIGS = Right(Operation.DESCRIBE_CONFIGS, ResourceKind.GROUP)
ALTER_GROUP_CONFIGS = Right(Operation.ALTER_CONFIGS, ResourceKind.GROUP)
WRITE_TRANSACTION = Right(Operation.WRITE, ResourceKind.TRANSACTIONAL_ID)
DESCRIBE_TRANSACTION = Right(Operation.DESCRIBE, ResourceKind.TRANSACTIONAL_ID)
CREATE_CLUSTER = Right(Operation.CREATE, ResourceKind.CLUSTER)
ALTER_CLUSTER = Right(Operation.ALTER, ResourceKind.CLUSTER)
DESCRIBE_CLUSTER = Right(Operation.DESCRIBE, ResourceKind.CLUSTER)
CLUSTER_ACTION = Right(Operation.CLUSTER_ACTION, ResourceKind.CLUSTER)
DESCRIBE_CLUSTER_CONFIGS = Right(Operation.DESCRIBE_CONFIGS, ResourceKind.CLUSTER)
ALTER_CLUSTER_CONFIGS = Right(Operation.ALTER_CONFIGS, ResourceKind.CLUSTER)
IDEMPOTENT_WRITE = Right(Operation.IDEMPOTENT_WRITE, ResourceKind.CLUSTER)
