"""The broker inside a program: starts, serves, stops; what the program raises comes out as it was."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from engine.errors import StorageError
from engine.files import system_kind as file_system_kind
from engine.files.kernel_sync import KernelSync
from engine.files.system_kind import EXT4, FUSE, OVERLAYFS
from engine.files.system_sync import FileSystemSync
from engine.log.log import Log
from tests.wire.kafka.door import Client, Door, config, open_door, until
from tests.wire.kafka.requests import BY_NAME, batch, create_topic, fetched, produce, produced
from tidegate.broker import Broker
from tidegate.data_directory import CLEAN_MARK, DataDirectoryInUse
from tidegate.listening import CannotListen
from tidegate.pulse import Pulse
from wire.kafka.errors import ErrorCode


async def connect(broker: Broker) -> Client:
    host, port = broker.kafka_address.split(":")
    return Client(await trio.open_tcp_stream(host, int(port)))


class Planted(Exception):
    """Raised by the program around the broker."""


@trio_test
async def test_what_the_program_raises_comes_out_as_it_was(tmp_path: Path) -> None:
    planted = Planted()
    with pytest.raises(Planted) as caught:
        async with Broker(config(tmp_path)):
            raise planted
    assert caught.value is planted
    assert (tmp_path / CLEAN_MARK).exists()


@trio_test
async def test_a_group_that_the_program_raises_is_not_opened(tmp_path: Path) -> None:
    planted = ExceptionGroup("the program's own", [Planted()])
    with pytest.raises(ExceptionGroup) as caught:
        async with Broker(config(tmp_path)):
            raise planted
    assert caught.value is planted


@trio_test
async def test_a_cancelled_program_leaves_the_broker_cleanly(tmp_path: Path) -> None:
    with trio.CancelScope() as scope:
        async with Broker(config(tmp_path)) as broker:
            client = await connect(broker)
            await create_topic(client, "t")
            await produced(client, "t", batch())
            await client.stream.aclose()
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    assert (tmp_path / CLEAN_MARK).exists()
    async with open_door(tmp_path) as door:
        assert (await fetched(await door.connect(), "t")).high_watermark == 1


@trio_test
async def test_a_bug_in_the_broker_comes_out_alone_and_ends_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise Planted

    monkeypatch.setattr(Pulse, "drive_syncs", broken)
    with pytest.raises(Planted):
        async with Broker(config(tmp_path)):
            await trio.sleep_forever()


@trio_test
async def test_a_log_that_cannot_be_opened_is_told_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_door(tmp_path) as door:
        await create_topic(await door.connect(), "t")

    def broken(*_: object, **__: object) -> None:
        raise StorageError("the disk is broken")

    monkeypatch.setattr(Log, "open", broken)
    with pytest.raises(StorageError, match="the disk is broken"):
        async with Broker(config(tmp_path)):
            pass


@trio_test
async def test_one_directory_is_for_one_broker(tmp_path: Path) -> None:
    async with Broker(config(tmp_path)):
        with pytest.raises(DataDirectoryInUse):
            async with Broker(config(tmp_path)):
                pass


@trio_test
async def test_a_port_in_use_is_told_and_the_directory_is_free(tmp_path: Path) -> None:
    async with Broker(config(tmp_path / "a")) as broker:
        settings: dict[str, object] = {"listeners": f"PLAINTEXT://{broker.kafka_address}"}
        with pytest.raises(CannotListen):
            async with Broker(config(tmp_path / "b", settings)):
                pass
        async with Broker(config(tmp_path / "b")):
            pass


@trio_test
async def test_two_brokers_run_in_one_program(tmp_path: Path) -> None:
    async with open_door(tmp_path / "a") as first, open_door(tmp_path / "b") as second:
        for door in (first, second):
            client = await door.connect()
            await create_topic(client, "t")
            assert (await produced(client, "t", batch())).base_offset == 0


@trio_test
async def test_a_clean_restart_reads_no_log(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t", 3)
        for partition in range(3):
            await produced(client, "t", batch(10), partition=partition)
    async with open_door(tmp_path) as door:
        for partition in door.broker.node.partitions:
            assert (partition.log.end_offset, partition.log.recovery.scanned_bytes) == (10, 0)
        assert not (tmp_path / CLEAN_MARK).exists(), "the mark counts once"


@trio_test
async def test_a_log_that_vanished_after_a_clean_stop_is_missed_at_every_start(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t", 2)
        await produced(client, "t", batch(10), partition=1)
        directory = Path(
            door.broker.node.partitions.of_topic(door.broker.node.topics.by_name["t"].topic_id)[1].log.directory
        )
    kept = shutil.move(directory, tmp_path / "elsewhere")
    for _ in range(2):
        with pytest.raises(StorageError, match="records are missing"):
            async with Broker(config(tmp_path)):
                pass
    shutil.move(kept, directory)
    async with open_door(tmp_path) as door:
        assert (await fetched(await door.connect(), "t", partition=1)).high_watermark == 10


@trio_test
async def test_it_closes_cleanly_right_after_much_was_written(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t", configs={"segment.bytes": "1048576"})
        for _ in range(30):
            await client.send(produce("t", batch([bytes(900_000)])), BY_NAME)
        for _ in range(30):
            assert (await client.receive()).responses[0].partition_responses[0].error_code == 0
    assert (tmp_path / CLEAN_MARK).exists()


@trio_test
async def test_it_closes_cleanly_while_dead_letters_wait(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(
            client, "t", configs={"expiry.policy": "dlq", "message.ttl.ms": "1", "priority.enable": "true"}
        )
        await create_topic(client, "t.dlq", configs={"priority.enable": "true", "stage.max.bytes": "1"})
        await produced(client, "t", batch())
        stages = door.broker.node.releases.stages()
        await until(lambda: any(staged.stage.state.dead_letters for staged in stages))
    assert (tmp_path / CLEAN_MARK).exists()
    async with open_door(tmp_path) as door:
        (staged,) = (each for each in door.broker.node.releases.stages() if each.stage.state.dead_letters)
        assert len(staged.stage.state.dead_letters) == 1, "they wait for the next start"


@trio_test
async def test_no_mark_is_left_when_a_log_could_not_be_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await produced(client, "t", batch())

        def broken(*_: object, **__: object) -> None:
            raise OSError(errno.EIO, "broken")

        monkeypatch.setattr(Log, "close", broken)
    assert not (tmp_path / CLEAN_MARK).exists()
    assert "the next start will recover" in caplog.text
    monkeypatch.undo()
    async with open_door(tmp_path) as door:
        assert (await fetched(await door.connect(), "t")).high_watermark == 1


@pytest.mark.parametrize(("number", "journaled"), [(EXT4, True), (FUSE, False), (OVERLAYFS, False), (None, False)])
@trio_test
async def test_short_ways_to_the_disk_are_taken_where_they_are_known_to_lead_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int, journaled: bool
) -> None:
    monkeypatch.setattr(file_system_kind, "file_system_number", lambda _: number)
    caplog.set_level("INFO")
    whole: list[FileSystemSync] = []
    monkeypatch.setattr(FileSystemSync, "__call__", lambda sync: whole.append(sync))
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t", 8)
        for partition in range(8):
            await client.send(produce("t", batch(), partition=partition), BY_NAME)
        for _ in range(8):
            assert (await client.receive()).responses[0].partition_responses[0].error_code == 0

        async def write_until_journaled() -> None:
            while not door.broker.node.partitions.rounds.statistics()["journal_frames"]:
                await produced(client, "t", batch())

        if journaled:
            with trio.fail_after(10):
                await write_until_journaled()
        else:
            for _ in range(20):
                await produced(client, "t", batch())
        statistics = door.broker.node.partitions.rounds.statistics()
    assert bool(statistics["journal_frames"]) is journaled
    assert journaled or not whole
    way = "the journal" if journaled else "syncing their files"
    assert f"records are made durable by {way}" in caplog.text


WITHOUT_JOURNAL: dict[str, object] = {"log.journal.enable": "false"}


async def told_and_healed(door: Door, breaking: Callable[[], AbstractContextManager[None]]) -> None:
    client = await door.connect()
    made = await create_topic(client, "t")
    await produced(client, "t", batch())
    partition = door.broker.node.partitions.get(made.topic_id, 0)
    assert partition is not None
    with breaking():
        # It is written, and may be found sound: not KAFKA_STORAGE_ERROR, which clients take for not stored.
        assert (await produced(client, "t", batch())).error_code == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert (await fetched(client, "t")).high_watermark == 1
    await until(lambda: partition.offline is None)
    assert (await produced(client, "t", batch())).error_code == 0


@trio_test
async def test_a_failed_sync_is_told_to_producers_and_healed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> None:
        raise OSError(errno.EIO, "broken")

    @contextmanager
    def breaking() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", broken)
            yield

    monkeypatch.setattr("tidegate.machine.open_kernel_sync", lambda _: None)
    async with open_door(tmp_path, WITHOUT_JOURNAL) as door:
        await told_and_healed(door, breaking)


@trio_test
async def test_a_sync_that_fails_in_the_kernel_is_told_and_healed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: KernelSync, descriptors: Sequence[int], done: Callable[[int, OSError], object]) -> None:
        for place in range(len(descriptors)):
            done(place, OSError(errno.EIO, "broken"))

    @contextmanager
    def breaking() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(KernelSync, "submit", broken)
            yield

    async with open_door(tmp_path, WITHOUT_JOURNAL) as door:
        if door.broker.runtime.world.round_sync._kernel is None:
            pytest.skip("this kernel does not sync by itself")
        await told_and_healed(door, breaking)


@trio_test
async def test_a_bug_in_a_timers_call_stops_no_timer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with open_door(tmp_path) as door:
        node = door.broker.node
        called = trio.Event()

        def broken() -> None:
            raise Planted

        node.timers.call_at(node.clock.monotonic(), broken)
        node.timers.call_at(node.clock.monotonic() + 0.01, called.set)
        with trio.fail_after(5):
            await called.wait()
        assert "a timer's call failed" in caplog.text


async def journaled_image(tmp_path: Path, count: int) -> tuple[Path, bytes]:
    """A copy of a data directory as a loss of power may leave it: of `t`, only what was synced before the journal took
    over is in its file. And all that was acknowledged."""
    data, image = tmp_path / "data", tmp_path / "image"
    async with open_door(data) as door:
        client, journal = await door.connect(), door.broker.runtime.foundation.journal
        await create_topic(client, "t")
        await produced(client, "t", batch())
        await until(journal.idle)
        if not journal.statistics()["slots"]:
            pytest.skip("no writes past the cache here")
        (file,) = data.glob("topics/*/0/*.log")
        synced = file.stat().st_size
        for _ in range(count):
            assert (await produced(client, "t", batch())).error_code == 0
        assert journal.statistics()["frames"] == count
        shutil.copytree(data, image)
        os.truncate(image / file.relative_to(data), synced)
        return image, bytes((await fetched(client, "t", max_bytes=1 << 20)).records or b"")


@trio_test
async def test_what_was_acknowledged_comes_back_from_the_journal_after_a_loss_of_power(tmp_path: Path) -> None:
    image, whole = await journaled_image(tmp_path, 20)
    async with open_door(image) as door:
        client = await door.connect()
        found = await fetched(client, "t", max_bytes=1 << 20)
        assert found.high_watermark == 21
        assert bytes(found.records or b"") == whole
        assert (await produced(client, "t", batch())).base_offset == 21
    async with open_door(image) as door:
        assert (await fetched(await door.connect(), "t")).high_watermark == 22


@trio_test
async def test_without_the_journal_that_image_would_have_lost_them(tmp_path: Path) -> None:
    image, _ = await journaled_image(tmp_path, 20)
    shutil.rmtree(image / "journal")
    async with open_door(image) as door:
        assert (await fetched(await door.connect(), "t")).high_watermark == 1


@trio_test
async def test_a_journal_that_was_turned_off_is_still_read(tmp_path: Path) -> None:
    image, _ = await journaled_image(tmp_path, 5)
    async with open_door(image, WITHOUT_JOURNAL) as door:
        assert (await fetched(await door.connect(), "t")).high_watermark == 6
