"""How far the table of a topic is, as its own commits say it. Without I/O."""

import json
from dataclasses import asdict, dataclass, field

from tools.pipelines.archive.entries import ArchiveDamaged

FORMAT = 1
MARK = "tidegate-archive"


@dataclass(frozen=True)
class Reached:
    """What the commits of an archive up to `number` add up to. `run` says whose the last one is."""

    topic: str
    topic_id: str
    number: int
    run: str
    starts: dict[int, int] = field(default_factory=dict)
    offsets: dict[int, int] = field(default_factory=dict)

    def to_text(self) -> str:
        return json.dumps({MARK: FORMAT, **asdict(self)})

    @classmethod
    def from_text(cls, table: str, text: str) -> "Reached":
        try:
            content = json.loads(text)
            known = content.pop(MARK)
            if known != FORMAT:
                raise ArchiveDamaged(f"{table} is of format {known}; this program knows format {FORMAT}")
            places = {name: {int(number): int(at) for number, at in content[name].items()} for name in PLACES}
            return cls(**content | places)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ArchiveDamaged(f"what {table} says of how far it is cannot be read: {error!r}") from None


PLACES = ("starts", "offsets")


def after(
    before: Reached | None,
    topic: str,
    topic_id: str,
    run: str,
    ranges: dict[int, tuple[int, int]],
    gaps: dict[int, tuple[int, int]],
) -> Reached:
    """How far it is with one more commit of these ranges, which go on where the ones before end, or behind a gap."""
    if before is None:
        before = Reached(topic, topic_id, -1, run)
    for number, (start, _) in ranges.items():
        _, expected = gaps.get(number, (0, before.offsets.get(number, start)))
        if start != expected:
            raise ArchiveDamaged(f"a commit begins at offset {start} of {topic}-{number}, not at {expected}")
    return Reached(
        topic,
        topic_id,
        before.number + 1,
        run,
        {**{number: start for number, (start, _) in ranges.items()}, **before.starts},
        {**before.offsets, **{number: end for number, (_, end) in ranges.items()}},
    )
