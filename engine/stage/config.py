"""What a topic's config says of delay, priority and expiry, as plain numbers."""

from attrs import frozen

from engine.stage.headers import HeaderRules
from engine.stage.lanes import LaneRules

MEBIBYTE = 2**20
DAY_MS = 24 * 60 * 60 * 1000
UNLIMITED = -1


@frozen
class ExtensionConfig:
    """The topic keys of the extensions; the field `delay_max_ms` is the key `delay.max.ms`, and so on.

    -1 is no limit for `stage_max_bytes` and none for `message_ttl_ms`; `dead_letter_topic` is empty where the topic's
    own name with `.dlq` behind it is meant. `cleanup_compact`: the topic is compacted.
    """

    extensions_enable: bool = True
    extensions_max_decompressed_bytes: int = 64 * MEBIBYTE
    extensions_max_records: int = 10_000
    stage_max_bytes: int = 1024 * MEBIBYTE
    delay_max_ms: int = 365 * DAY_MS
    delay_fate_retention_ms: int = DAY_MS
    priority_enable: str = "auto"
    priority_weights: tuple[int, ...] = (50, 25, 15, 7, 3)
    priority_policy: str = "weighted"
    priority_starvation_ms: int = 30_000
    priority_fetch_max_records: int = 500
    message_ttl_ms: int = UNLIMITED
    expiry_policy: str = "drop"
    dead_letter_topic: str = ""
    cleanup_compact: bool = False

    @property
    def header_rules(self) -> HeaderRules:
        """What a client's headers are held against."""
        return HeaderRules(self.delay_max_ms, self.priority_enable != "false", self.cleanup_compact)

    @property
    def lane_rules(self) -> LaneRules:
        """How the lanes of a prioritised partition take turns."""
        return LaneRules(self.priority_weights, self.priority_policy == "strict", self.priority_starvation_ms)

    def dead_letters_of(self, topic: str) -> str:
        """The name of the topic that this topic's dead letters go to."""
        return self.dead_letter_topic or f"{topic}.dlq"
