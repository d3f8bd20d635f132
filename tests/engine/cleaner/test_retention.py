"""Which segments retention lets go."""

from attrs import evolve

from engine.cleaner.retention import RetentionView, segments_to_drop
from engine.files.memory import MemoryFiles
from engine.log.log import LogConfig
from engine.log.segment import Segment

DAY = LogConfig(retention_ms=1000, retention_bytes=-1)
NOW_MS = 100_000


def segment(base_offset: int, size: int, newest_ms: int) -> Segment:
    return Segment(MemoryFiles(), "/d", base_offset, size=size, max_timestamp=newest_ms)


def view(config: LogConfig, *ages_ms: int, high_watermark: int = 10_000, start_offset: int = 0) -> RetentionView:
    """Segments of 10 records and 100 bytes, by the age of their newest record."""
    segments = tuple(segment(10 * n, 100, NOW_MS - age_ms) for n, age_ms in enumerate(ages_ms))
    return RetentionView(segments, start_offset, 10 * len(segments), high_watermark, config)


def test_segments_go_when_their_newest_record_is_too_old() -> None:
    assert segments_to_drop(view(DAY, 5000, 1001, 1000, 0), NOW_MS) == 2


def test_a_young_segment_holds_the_older_ones_behind_it() -> None:
    assert segments_to_drop(view(DAY, 5000, 10, 5000, 0), NOW_MS) == 1


def test_the_active_segment_goes_too() -> None:
    assert segments_to_drop(view(DAY, 5000, 5000), NOW_MS) == 2


def test_an_empty_active_segment_stays() -> None:
    full = view(DAY, 5000)
    active = segment(10, 0, -1)
    assert segments_to_drop(evolve(full, segments=(*full.segments, active)), NOW_MS) == 1


def test_for_ever_is_for_ever() -> None:
    assert segments_to_drop(view(evolve(DAY, retention_ms=-1), 5000, 5000), NOW_MS) == 0


def test_nothing_past_the_high_watermark_goes() -> None:
    assert segments_to_drop(view(DAY, 5000, 5000, 5000, high_watermark=19), NOW_MS) == 1
    assert segments_to_drop(view(DAY, 5000, 5000, 5000, high_watermark=20), NOW_MS) == 2


def test_the_oldest_go_while_the_rest_still_holds_the_bound() -> None:
    by_size = evolve(DAY, retention_ms=-1, retention_bytes=200)
    assert segments_to_drop(view(by_size, 0, 0, 0, 0), NOW_MS) == 2
    assert segments_to_drop(view(evolve(by_size, retention_bytes=201), 0, 0, 0, 0), NOW_MS) == 1
    assert segments_to_drop(view(evolve(by_size, retention_bytes=400), 0, 0, 0, 0), NOW_MS) == 0
    assert segments_to_drop(view(evolve(by_size, retention_bytes=0), 0, 0), NOW_MS) == 2


def test_time_or_size_suffices() -> None:
    both = evolve(DAY, retention_bytes=300)
    assert segments_to_drop(view(both, 5000, 5000, 0, 0), NOW_MS) == 2
    assert segments_to_drop(view(both, 0, 0, 0, 0), NOW_MS) == 1


def test_without_the_policy_nothing_goes() -> None:
    compact = evolve(DAY, cleanup_delete=False, cleanup_compact=True, retention_bytes=0)
    assert segments_to_drop(view(compact, 5000, 5000), NOW_MS) == 0


def test_both_policies_delete_by_age() -> None:
    assert segments_to_drop(view(evolve(DAY, cleanup_compact=True), 5000, 0), NOW_MS) == 1


def test_what_lies_before_the_start_goes_under_every_policy() -> None:
    compact = evolve(DAY, cleanup_delete=False, cleanup_compact=True)
    assert segments_to_drop(view(compact, 0, 0, 0, start_offset=19), NOW_MS) == 1
    assert segments_to_drop(view(compact, 0, 0, 0, start_offset=30), NOW_MS) == 2
