"""The features of the cluster that clients may rely on (KIP-584): each is listed only once what it promises works."""

from attrs import frozen

from wire.kafka.messages.api_versions import FinalizedFeatureKey, SupportedFeatureKey

EPOCH = 1
FIRST_VERSION_WITH_LEVEL_0 = 4


@frozen
class Feature:
    """Levels that are supported, and the one in force."""

    name: str
    first_level: int
    last_level: int
    level: int


FEATURES = (
    # KIP-890: Produce 12, EndTxn 5 and TxnOffsetCommit 5 are served.
    Feature("transaction.version", 0, 2, 2),
    # KIP-848: ConsumerGroupHeartbeat and ConsumerGroupDescribe are served.
    Feature("group.version", 0, 1, 1),
)


def supported(version: int) -> list[SupportedFeatureKey]:
    """For ApiVersions; readers of its version 3 cannot take a first level of 0 (KIP-1022)."""
    least = 0 if version >= FIRST_VERSION_WITH_LEVEL_0 else 1
    return [SupportedFeatureKey(each.name, max(each.first_level, least), each.last_level) for each in FEATURES]


def finalized() -> list[FinalizedFeatureKey]:
    """The levels in force."""
    return [FinalizedFeatureKey(each.name, each.level, each.level) for each in FEATURES if each.level > 0]
