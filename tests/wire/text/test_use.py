"""What clients do by the text door, on a broker."""

from pathlib import Path

import trio
from trio.testing import trio_test

from tests.wire.text.door import PATIENCE_S, open_text


@trio_test
async def test_records_are_stored_and_read(tmp_path: Path) -> None:
    async with open_text(tmp_path) as house, house.client() as client:
        assert await client.say(b"PUB t 5\r\nhello\r\n") == b"OK 0"
        assert await client.say(b"PUB t 4\n\r\n\0\n\n") == b"OK 1"
        await client.stream.send_all(b"FETCH t 0\r\nFETCH t earliest count=10\r\n")
        assert await client.message() == (b"MSG 0 5", b"hello")
        assert await client.message() == (b"MSG 0 5", b"hello")
        assert await client.message() == (b"MSG 1 4", b"\r\n\0\n")
        assert await client.line() == b"END 2"
        assert await client.say(b"FETCH t latest\r\n") == b"END 2"
        assert await client.say(b"FETCH t 2\r\n") == b"END 2"


@trio_test
async def test_keys_headers_and_null_values_come_back(tmp_path: Path) -> None:
    async with open_text(tmp_path, {"num.partitions": 3}) as house, house.client() as client:
        said = await client.say(b"PUB t 0 key=a%00b header.x%20y=1%0A null=true full=true\r\n\r\n")
        partition = said.split(b"partition=")[1]
        assert said.startswith(b"OK 0 ")
        await client.stream.send_all(b"FETCH t 0 full=true partition=%b\r\n" % partition)
        line, payload = await client.message()
        told = line.split(b" ")
        assert payload == b""
        assert told[:3] == [b"MSG", b"0", b"0"]
        assert set(told[5:]) == {b"key=a%00b", b"null=true", b"header.x%20y=1%0A"}


@trio_test
async def test_a_record_without_key_and_partition_is_where_fetch_looks(tmp_path: Path) -> None:
    async with open_text(tmp_path, {"num.partitions": 3}) as house, house.client() as client:
        answers = [await client.say(b"PUB t 1\r\nx\r\n") for _ in range(5)]
        assert answers == [b"OK %d" % offset for offset in range(5)]
        assert await client.say(b"PUB t 1 partition=2\r\ny\r\n") == b"OK 0"
        assert (await client.say(b"PUB t 1 partition=3\r\ny\r\n")).startswith(b"ERR UNKNOWN_TOPIC_OR_PARTITION ")


@trio_test
async def test_a_record_that_is_held_back_has_no_offset_yet(tmp_path: Path) -> None:
    async with open_text(tmp_path) as house, house.client() as client:
        together = b"PUB t 5\r\nfirst\r\nPUB t 5 delay=50\r\nlater\r\nPUB t 6\r\nsecond\r\n"
        assert await client.say(together) == b"OK 0"
        assert await client.line() == b"OK -1"
        assert await client.line() == b"OK 1"
        await client.stream.send_all(b"FETCH t 2 wait=20000\r\n")
        assert await client.message() == (b"MSG 2 5", b"later")


@trio_test
async def test_the_urgent_are_read_first(tmp_path: Path) -> None:
    async with open_text(tmp_path) as house, house.client() as client:
        for name in (b"background", b"critical"):
            assert await client.say(b"PUB t %d priority=%b\r\n%b\r\n" % (len(name), name, name)) == b"OK -1"
        await client.stream.send_all(b"FETCH t 0 count=2\r\n")
        assert [(await client.message())[1] for _ in range(2)] == [b"critical", b"background"]


@trio_test
async def test_who_waits_is_answered_when_something_comes(tmp_path: Path) -> None:
    async with open_text(tmp_path) as house, house.client() as reader, house.client() as writer:
        assert await writer.say(b"PUB t 1\r\nx\r\n") == b"OK 0"
        await reader.stream.send_all(b"FETCH t 1 wait=20000\r\n")
        with trio.fail_after(PATIENCE_S):
            await writer.say(b"PUB t 1\r\ny\r\n")
            assert await reader.message() == (b"MSG 1 1", b"y")


@trio_test
async def test_one_bad_record_among_many_is_refused_alone(tmp_path: Path) -> None:
    async with open_text(tmp_path) as house, house.client() as client:
        lines = [b"PUB t 1\r\na\r\n", b"PUB t 1 header.tide-delay=soon\r\nb\r\n", b"PUB t 1 delay=0\r\nc\r\n"]
        answers = [await client.say(b"".join(lines)), await client.line(), await client.line()]
        assert answers[0] == b"OK 0"
        assert answers[1].startswith(b"ERR INVALID_RECORD ")
        assert answers[2].startswith(b"OK ")


@trio_test
async def test_what_the_broker_refuses_has_kafkas_names(tmp_path: Path) -> None:
    async with open_text(tmp_path, {"auto.create.topics.enable": False}) as house, house.client() as client:
        assert (await client.say(b"PUB t 1\r\nx\r\n")).startswith(b"ERR UNKNOWN_TOPIC_OR_PARTITION ")
        assert (await client.say(b"FETCH t 0\r\n")).startswith(b"ERR UNKNOWN_TOPIC_OR_PARTITION ")
        assert (await client.say(b"PUB a/b 1\r\nx\r\n")).startswith(b"ERR ")
        assert await client.say(b"TOPICS\r\n") == b"END 0"


@trio_test
async def test_offsets_that_are_not_there_are_out_of_range(tmp_path: Path) -> None:
    async with open_text(tmp_path) as house, house.client() as client:
        await client.say(b"PUB t 1\r\nx\r\n")
        assert (await client.say(b"FETCH t 9\r\n")).startswith(b"ERR OFFSET_OUT_OF_RANGE ")
        assert await client.say(b"TOPICS\r\n") == b"TOPIC t 1"
        assert await client.line() == b"END 1"


@trio_test
async def test_rights_are_asked_for(tmp_path: Path) -> None:
    settings: dict[str, object] = {"authorizer.enable": True, "super.users": "User:admin"}
    async with open_text(tmp_path, settings) as house, house.client() as client:
        assert (await client.say(b"PUB t 1\r\nx\r\n")).startswith(b"ERR TOPIC_AUTHORIZATION_FAILED ")
        assert await client.say(b"TOPICS\r\n") == b"END 0"


@trio_test
async def test_strangers_that_say_nothing_keep_nobody_out_who_says_who_it_is(tmp_path: Path) -> None:
    settings: dict[str, object] = {"text.max.connections": 2, "text.token": "secret"}
    async with open_text(tmp_path, settings) as house, house.client() as known:
        assert (await known.say(b"AUTH secret\r\n")).startswith(b"OK ")
        async with house.client() as stranger:
            assert await stranger.say(b"PING\r\n") == b"PONG"
            async with house.client() as other:
                assert (await other.say(b"AUTH secret\r\n")).startswith(b"OK ")
                with trio.fail_after(PATIENCE_S):
                    assert await stranger.stream.receive_some() == b"", "it had to give way"
                async with house.client() as third:
                    with trio.fail_after(PATIENCE_S):
                        assert await third.stream.receive_some() == b"", "all others are known"
                assert await known.say(b"PING\r\n") == await other.say(b"PING\r\n") == b"PONG"
