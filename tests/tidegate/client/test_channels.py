"""How one comes in, and that channels are used in turn."""

import base64
from typing import Any

from tidegate.client.channels import ChannelPool, Login, Way


def test_a_login_is_shown_in_the_metadata_and_not_in_words() -> None:
    assert Login(token="t").metadata() == (("authorization", "Bearer t"),)
    ((name, shown),) = Login(user="alice", password="pass:word").metadata()
    assert (name, base64.b64decode(shown.removeprefix("Basic "))) == ("authorization", b"alice:pass:word")
    assert Login().metadata() == ()
    assert "secret" not in repr(Way(("a",), Login(token="secret", user="u", password="secret")))
    assert Way(("a",), client_id="mine").metadata() == (("tidegate-client-id", "mine"),)


class _Channels:
    """Makes channels that tell their address instead of a method."""

    def insecure_channel(self, address: str, _options: object) -> Any:
        class Channel:
            def unary_unary(self, path: str, **_: object) -> str:
                return f"{address}{path}"

        return Channel()


def test_calls_go_to_all_addresses_in_turn() -> None:
    pool = ChannelPool(Way(("a", "b")), 2, _Channels())
    assert len(pool.channels) == 4
    assert [pool.method("send") for _ in range(4)] == [f"{each}/tidegate.v1.Produce/Send" for each in "abab"]
