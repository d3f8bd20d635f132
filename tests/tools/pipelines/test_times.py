"""Times on a command line."""

import pytest

from tools.pipelines.options import UsageError
from tools.pipelines.times import epoch_ms


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
