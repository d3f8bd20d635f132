"""Times on a command line."""

import pytest

from tools.pipelines.options import UsageError
from tools.pipelines.times import epoch_ms, span


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (None, None),
        ("1760000400000", 1_760_000_400_000),
        ("2025-10-09T09:00", 1_760_000_400_000),
        ("2025-10-09T11:00:00+02:00", 1_760_000_400_000),
        ("2025-10-09", 1_759_968_000_000),
    ],
)
def test_numbers_and_dates(text: str | None, wanted: int | None) -> None:
    assert epoch_ms("since", text) == wanted


def test_nonsense_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="--since is 'yesterday'"):
        epoch_ms("since", "yesterday")


@pytest.mark.parametrize(
    ("text", "words"),
    [("5 minutes", "5 minutes"), ("90s", "90 seconds"), ("1 hour 30 Minutes", "1 hour 30 Minutes"), ("2d", "2 days")],
)
def test_a_length_of_time_is_in_sparks_words(text: str, words: str) -> None:
    assert span("window", text) == words


@pytest.mark.parametrize("text", ["banana", "", "5", "minutes", "5 bananas", "1 month", "0 seconds"])
def test_what_is_no_length_of_time_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="--window is"):
        span("window", text, least=1)
