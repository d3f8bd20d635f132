"""Who may call is not told to anybody."""

from wire.http.limits import Access


def test_the_token_does_not_appear_in_a_log_line() -> None:
    assert "secret" not in repr(Access("secret"))
