"""Versions and subjects deleted: softly first, then for good, and never what others refer to."""

import json
from functools import partial

import pytest
from trio.testing import trio_test

from coordinators.schemas.errors import (
    ReferenceExists,
    SubjectNotFound,
    SubjectNotSoftDeleted,
    SubjectSoftDeleted,
    VersionNotFound,
    VersionNotSoftDeleted,
    VersionSoftDeleted,
)
from coordinators.schemas.names import Subject
from coordinators.schemas.rows import Reference
from engine.catalogue.catalogue import Catalogue
from tests.coordinators.schemas.registries import RegistryNode, avro

ORDERS = Subject(".", "orders-value")
LINES = Subject(".", "lines")
LINE = json.dumps({"type": "record", "name": "Line", "fields": [{"name": "n", "type": "int"}]})
ORDER = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "line", "type": "Line"}]})


@trio_test
async def test_a_subject_is_hidden_and_then_gone(catalogue: Catalogue) -> None:
    node = RegistryNode(catalogue)
    await node.register("orders-value", avro("a"))
    await node.register("orders-value", avro("a", "b="))
    await node.register("bills-value", avro("a"))
    await node.put_level(ORDERS, "NONE")
    with pytest.raises(SubjectNotSoftDeleted):
        await node.deleting.subject(ORDERS, permanent=True)
    assert await node.deleting.subject(ORDERS) == [1, 2]
    assert node.registry.latest("orders-value") is None
    assert ORDERS not in node.registry.settings
    assert node.registry.by_id(2) is not None, "what was written with it can still be read"
    with pytest.raises(SubjectSoftDeleted):
        await node.deleting.subject(ORDERS)
    assert await node.deleting.subject(ORDERS, permanent=True) == [1, 2]
    for other in (node, RegistryNode(catalogue)):
        assert other.registry.subject(ORDERS) is None
        assert other.registry.by_id(2) is None
        assert other.registry.by_id(1) is not None, "another subject has it"
    with pytest.raises(SubjectNotFound):
        await node.deleting.subject(ORDERS, permanent=True)
    assert (await node.register("orders-value", avro("z"))).schema.id == 3, "no id comes twice"


@trio_test
async def test_versions_go_one_by_one(node: RegistryNode) -> None:
    for text in (avro("a"), avro("a", "b="), avro("a", "c=")):
        await node.register("orders-value", text)
    with pytest.raises(VersionNotFound):
        await node.deleting.version(ORDERS, 9)
    with pytest.raises(VersionNotSoftDeleted):
        await node.deleting.version(ORDERS, 1, permanent=True)
    assert await node.deleting.version(ORDERS, None) == 3
    with pytest.raises(VersionSoftDeleted):
        await node.deleting.version(ORDERS, 3)
    assert node.versions("orders-value") == [(1, 1, False), (2, 2, False), (3, 3, True)]
    assert (await node.register("orders-value", avro("a", "d="))).version.number == 4
    assert await node.deleting.version(ORDERS, 3, permanent=True) == 3
    assert node.versions("orders-value") == [(1, 1, False), (2, 2, False), (4, 4, False)]
    assert await node.deleting.subject(ORDERS) == [1, 2, 4]
    with pytest.raises(SubjectNotFound):
        await node.deleting.version(ORDERS, None)


@trio_test
async def test_what_others_refer_to_stays(node: RegistryNode) -> None:
    await node.register("lines", LINE)
    await node.register("orders-value", ORDER, Reference("Line", "lines", 1))
    with pytest.raises(ReferenceExists, match="id 2"):
        await node.deleting.subject(LINES)
    await node.deleting.subject(ORDERS)
    await node.deleting.subject(LINES)
    with pytest.raises(ReferenceExists):
        await node.deleting.subject(LINES, permanent=True)
    await node.deleting.subject(ORDERS, permanent=True)
    assert await node.deleting.subject(LINES, permanent=True) == [1]
    assert not node.registry.referrers
    assert not node.registry.contexts["."].schemas


@trio_test
async def test_nobody_deletes_what_another_node_has_just_begun_to_refer_to(catalogue: Catalogue) -> None:
    one, other = RegistryNode(catalogue), RegistryNode(catalogue)
    await one.register("lines", LINE)
    other.follow(catalogue.revision())

    refer = partial(one.register, "orders-value", ORDER, Reference("Line", "lines", 1))
    other.before_commit.append(refer)
    with pytest.raises(ReferenceExists):
        await other.deleting.subject(LINES)


@trio_test
async def test_a_subject_that_refers_to_itself_goes_whole(node: RegistryNode) -> None:
    await node.put_level(LINES, "NONE")
    await node.register("lines", LINE)
    await node.register("lines", ORDER, Reference("Line", "lines", 1))
    with pytest.raises(ReferenceExists):
        await node.deleting.version(LINES, 1)
    assert await node.deleting.subject(LINES) == [1, 2]
    assert await node.deleting.subject(LINES, permanent=True) == [1, 2]
