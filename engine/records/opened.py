"""What is known of a client's batch before a log takes it, where finding it out takes too long for the loop."""

from attrs import define

from engine.files.files import Buffer
from engine.log.types import LogConfig
from engine.records.compression import compress
from engine.records.walk import first_unsound


@define(eq=False)
class OpenedRecords:
    """The records of a batch, uncompressed, and what was found out about them."""

    section: Buffer
    is_walked: bool = False
    unsound: tuple[int, int] | None = None
    """What the walk has found; see engine/records/walk.py."""
    recompressed: tuple[int, bytes] | None = None
    """A codec, and the section in it."""

    def walk(self, count: int) -> None:
        """Look whether these are `count` sound records."""
        if not self.is_walked:
            self.unsound = first_unsound(self.section, 0, count)
            self.is_walked = True

    def recompress(self, codec: int, config: LogConfig) -> None:
        """Compress the records as the topic stores them."""
        self.recompressed = codec, compress(codec, self.section, config.level(codec))


Opened = OpenedRecords | None
