"""A lost catalogue is made anew: topics keep their ids, and nothing is handed out twice."""

from pathlib import Path

import pytest

from engine.catalogue.catalogue import Commit, Put
from engine.catalogue.copy import copy_path
from engine.catalogue.rebuild import (
    PRODUCER_IDS_SKIPPED,
    PRODUCER_IDS_SKIPPED_UNKNOWN,
    Rebuilt,
    UnknownTopics,
    rebuild,
)
from engine.catalogue.records import TopicRecord
from engine.errors import StorageError
from tests.engine.catalogues import FILES, create, delete, lay_out, opened, rows, topic
from tests.engine.logs import idempotent

ORDERS, PAYMENTS = topic("orders", 2, retention_ms="60000"), topic("payments")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    catalogue = opened(path)
    create(catalogue, ORDERS)
    create(catalogue, PAYMENTS)
    delete(catalogue, PAYMENTS)
    catalogue.commit(Commit((), (Put("producer-ids", b"2000"), Put("cluster/id", b"abc"))))
    catalogue.close()
    for each in (ORDERS, PAYMENTS):
        lay_out(path, each)
    return path


def made_anew(data_dir: Path, *, adopt: bool = False, **names: str) -> Rebuilt:
    return rebuild(str(data_dir), FILES, node_id=1, names=names, adopt=adopt)


def found(data_dir: Path) -> dict[str, bytes]:
    catalogue = opened(data_dir)
    try:
        return {key: value for key, (value, _) in rows(catalogue).items()}
    finally:
        catalogue.close()


@pytest.mark.parametrize("content", [None, b"", b"no database at all"])
def test_a_lost_database_comes_back_from_its_copy(data_dir: Path, content: bytes | None) -> None:
    before = found(data_dir)
    path = data_dir / "catalogue.sqlite"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    made = made_anew(data_dir)
    assert (made.topics, made.deleting, made.from_copy, made.adopted) == (1, 1, True, ())
    after = found(data_dir)
    assert int(after.pop("producer-ids")) == int(before.pop("producer-ids")) + PRODUCER_IDS_SKIPPED
    assert after == before
    if content is not None:
        assert made.set_aside == ("catalogue.sqlite.damaged-1",)
        assert (data_dir / made.set_aside[0]).read_bytes() == content


def test_a_database_that_lost_changes_comes_back_whole(data_dir: Path) -> None:
    before = (data_dir / "catalogue.sqlite").read_bytes()
    catalogue = opened(data_dir)
    create(catalogue, topic("refunds"))
    catalogue.close()
    (data_dir / "catalogue.sqlite").write_bytes(before)
    with pytest.raises(StorageError, match="lost changes"):
        opened(data_dir)
    made_anew(data_dir)
    assert "topics/refunds" in found(data_dir)


def test_it_can_be_repeated_and_keeps_what_was_set_aside(data_dir: Path) -> None:
    first, second = made_anew(data_dir), made_anew(data_dir)
    assert first.set_aside == ("catalogue.sqlite.damaged-1",)
    assert second.set_aside == ("catalogue.sqlite.damaged-2",)
    assert second.revision > first.revision
    assert "topics/orders" in found(data_dir)


def test_without_a_copy_the_database_tells_what_it_can(data_dir: Path) -> None:
    Path(copy_path(str(data_dir))).unlink()
    made = made_anew(data_dir)
    assert (made.topics, made.from_copy) == (1, False)
    after = found(data_dir)
    assert TopicRecord.decode(after["topics/orders"]) == ORDERS
    assert int(after["producer-ids"]) == 2000 + PRODUCER_IDS_SKIPPED_UNKNOWN


def without_both(data_dir: Path) -> None:
    Path(copy_path(str(data_dir))).unlink()
    (data_dir / "catalogue.sqlite").unlink()


def test_without_both_the_names_are_asked_for(data_dir: Path) -> None:
    without_both(data_dir)
    with pytest.raises(UnknownTopics) as refusal:
        made_anew(data_dir)
    assert refusal.value.topic_ids == sorted([ORDERS.id.hex(), PAYMENTS.id.hex()])
    assert not (data_dir / "catalogue.sqlite").exists()


def test_without_both_topics_are_taken_in_under_the_names_that_are_given(data_dir: Path) -> None:
    without_both(data_dir)
    (data_dir / "topics" / ORDERS.id.hex() / "2").mkdir()
    made = made_anew(data_dir, adopt=True, **{ORDERS.id.hex(): "orders"})
    recovered = f"recovered-{PAYMENTS.id.hex()}"
    assert sorted(made.adopted) == ["orders", recovered]
    after = found(data_dir)
    assert TopicRecord.decode(after["topics/orders"]) == TopicRecord("orders", ORDERS.id, 3)
    assert sum(key.startswith("partitions/") for key in after) == 4
    assert f"topics/{recovered}" in after


def test_two_topics_do_not_get_one_name(data_dir: Path) -> None:
    lay_out(data_dir, topic("strange"))
    with pytest.raises(StorageError, match="two topics would be called 'orders'"):
        made_anew(data_dir, **{topic("strange").id.hex(): "orders"})


def test_producer_ids_go_on_above_all_that_any_log_holds(data_dir: Path) -> None:
    without_both(data_dir)
    log = data_dir / "topics" / ORDERS.id.hex() / "0" / "00000000000000000000.log"
    log.write_bytes(idempotent(0, producer_id=123_456))
    made_anew(data_dir, adopt=True)
    assert int(found(data_dir)["producer-ids"]) == 123_457 + PRODUCER_IDS_SKIPPED_UNKNOWN


def test_a_crash_in_the_midst_of_it_is_repeated(data_dir: Path) -> None:
    (data_dir / "catalogue.sqlite.new").write_bytes(b"half")
    (data_dir / "catalogue.sqlite").unlink()
    made_anew(data_dir)
    assert "topics/orders" in found(data_dir)
    assert not (data_dir / "catalogue.sqlite.new").exists()
