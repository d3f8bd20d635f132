"""Tenants by every path of the operations door: each uses all of it within its namespace, and neither finds what is the
other's, whichever of them says its names with the prefix."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import trio
from trio.testing import trio_test

from tests.wire.http.two_tenants import Tenant, open_two

PATIENCE_S = 30.0
V2 = "application/vnd.kafka.v2+json"
JSON_V2 = "application/vnd.kafka.json.v2+json"


def mentions(answer: Any, *names: str) -> bool:
    text = json.dumps(answer)
    return any(name in text for name in names)


async def polled(tenant: Tenant, path: str, count: int) -> list[Any]:
    """So many records, however many polls that takes."""
    found: list[Any] = []
    with trio.fail_after(PATIENCE_S):
        while len(found) < count:
            found += (await tenant.get(f"{path}/records?wait_ms=2000"))["records"]
    return found


async def joined(tenant: Tenant, group: str = "g", topic: str = "orders") -> str:
    order = {"topics": [tenant.called(topic)], "reset": "earliest", "auto_commit": False}
    made = await tenant.done("POST", f"/groups/{tenant.called(group)}/members", order)
    return f"/groups/{made['group']}/members/{made['member']}"


@trio_test
async def test_groups_of_one_name_read_what_is_their_tenants(tmp_path: Path) -> None:
    async with open_two(tmp_path) as two:
        paths = {}
        for tenant in two.both:
            await tenant.publish("orders", tenant.name)
            paths[tenant.name] = await joined(tenant)
        for tenant in two.both:
            (record,) = await polled(tenant, paths[tenant.name], 1)
            assert (record["topic"], record["value"]) == (tenant.called("orders"), tenant.name)
            await tenant.done("POST", f"{paths[tenant.name]}/commit", {})
            page = await tenant.get("/groups")
            assert [each["group"] for each in page["items"]] == [tenant.called("g")]
            shown = await tenant.get(f"/groups/{tenant.called('g')}")
            assert shown["offsets"]["items"][0]["topic"] == tenant.called("orders")
            assert shown["offsets"]["items"][0]["committed_offset"] == 1
            assert shown["members"]["items"][0]["assignment"][0]["topic"] == tenant.called("orders")
            assert not mentions([page, shown], *({"acme", "zulu"} - {tenant.prefix.rstrip(".")}))
        assert (await two.zulu.ask("GET", f"{paths['acme']}/records")).status == 404
        for method in ("GET", "DELETE"):
            answer = await two.zulu.ask(method, "/groups/acme.g")
            assert answer.json()["detail"] == "this group is not within the tenant's namespace"
        for tenant in two.both:
            await tenant.done("DELETE", paths[tenant.name])
            await tenant.done("DELETE", f"/groups/{tenant.called('g')}")


@trio_test
async def test_share_groups_and_their_receipts(tmp_path: Path) -> None:
    async with open_two(tmp_path) as two:
        lent = {}
        for tenant in two.both:
            order = {"topics": [tenant.called("work")]}
            await tenant.publish("work", "early")
            made = await tenant.done("POST", f"/share-groups/{tenant.called('g')}/members", order)
            path = f"/share-groups/{made['group']}/members/{made['member']}"
            with trio.fail_after(PATIENCE_S):
                while not (await tenant.done("POST", f"{path}/heartbeat"))["assignment"]:
                    await tenant.get(f"{path}/records?wait_ms=50")
            await tenant.get(f"{path}/records?wait_ms=0")
            await tenant.publish("work", tenant.name)
            (lent[tenant.name],) = await polled(tenant, path, 1)
            assert lent[tenant.name]["value"] == tenant.name
            assert lent[tenant.name]["receipt"].startswith(f"{tenant.called('work')}:")
        for tenant in two.both:
            listed = await tenant.get("/share-groups")
            assert [(each["group"], each["in_hand"]) for each in listed["items"]] == [(tenant.called("g"), 1)]
            held = await tenant.get(f"/share-groups/{tenant.called('g')}/in-flight")
            assert [each["topic"] for each in held["items"]] == [tenant.called("work")]
            shown = await tenant.get(f"/share-groups/{tenant.called('g')}")
            assert {each["topic"] for each in shown["offsets"]["items"]} == {tenant.called("work")}
        receipts = {"receipts": [lent["acme"]["receipt"]]}
        assert (await two.zulu.ask("POST", "/messages/ack", receipts)).status == 409
        others = {"topic": "acme.work"}
        assert (await two.zulu.done("POST", "/share-groups/acme.g/release", others))["released"] == 0
        assert (await two.acme.done("POST", "/messages/ack", receipts))["settled"] == 1
        taken = await two.zulu.done("POST", "/share-groups/zulu.g/release", {"topic": "zulu.work"})
        assert taken["released"] == 1


@trio_test
async def test_dead_letters_name_where_they_come_from_as_the_tenant_does(tmp_path: Path) -> None:
    async with open_two(tmp_path) as two:
        for tenant in two.both:
            await tenant.publish("work", "early")
            order = {"topics": [tenant.called("work")]}
            made = await tenant.done("POST", f"/share-groups/{tenant.called('g')}/members", order)
            path = f"/share-groups/{made['group']}/members/{made['member']}"
            with trio.fail_after(PATIENCE_S):
                while not (await tenant.done("POST", f"{path}/heartbeat"))["assignment"]:
                    await tenant.get(f"{path}/records?wait_ms=50")
            await tenant.get(f"{path}/records?wait_ms=0")
            await tenant.publish("work", "bad")
            (lent,) = await polled(tenant, path, 1)
            await tenant.done("POST", "/messages/reject", {"receipts": [lent["receipt"]]})
            letters: list[Any] = []
            with trio.fail_after(PATIENCE_S):
                while not letters:
                    answer = await tenant.ask("GET", f"/topics/{tenant.called('work.dlq')}/messages")
                    letters = answer.json()["messages"] if answer.status == 200 else []
            headers = {each["name"]: each["value"] for each in letters[0]["headers"]}
            assert headers["__dlq.errors.topic"] == tenant.called("work")
            assert headers["__dlq.errors.group"] == tenant.called("g")
            assert headers.get("__dlq.errors.tenant") == (None if tenant.prefix else "acme")


@trio_test
async def test_transactional_ids_of_one_name_do_not_fence_each_other(tmp_path: Path) -> None:
    async with open_two(tmp_path) as two:
        producers = {}
        for tenant in two.both:
            await tenant.publish("orders", "first")
            made = await tenant.done("POST", "/producers/init", {"transactional_id": tenant.called("tx")})
            assert made["transactional_id"] == tenant.called("tx")
            producers[tenant.name] = {"producer": made["producer"]}
        for tenant in two.both:
            producer = producers[tenant.name]
            await tenant.done("POST", "/transactions/begin", producer)
            order = {**producer, "topic": tenant.called("orders"), "records": [{"value": tenant.name}]}
            told = await tenant.done("POST", "/transactions/publish", order)
            assert told["records"][0]["error"] is None, told
            places = [{"topic": tenant.called("orders"), "partition": 0, "offset": 1}]
            order = {**producer, "group": tenant.called("g"), "offsets": places}
            await tenant.done("POST", "/transactions/offsets", order)
            await tenant.done("POST", "/transactions/commit", producer)
            listed = (await tenant.get("/transactions"))["items"]
            assert [each["transactional_id"] for each in listed] == [tenant.called("tx")]
        assert (await two.zulu.ask("POST", "/transactions/begin", producers["acme"])).status == 404
        # What is the other's becomes a name of its own, which nobody has.
        order = {"transactional_id": "acme.tx"}
        assert (await two.zulu.ask("POST", "/producers/init", order)).status >= 400
        await two.acme.done("POST", "/transactions/begin", producers["acme"])
        assert len((await two.root.get("/transactions"))["items"]) == 2


@trio_test
async def test_the_rest_proxys_paths(tmp_path: Path) -> None:
    async with open_two(tmp_path) as two:
        for tenant in two.both:
            topic, kinds = tenant.called("orders"), {"content-type": JSON_V2}
            written = {"records": [{"key": None, "value": tenant.name}]}
            await tenant.done("POST", f"/topics/{topic}", json.dumps(written).encode(), kinds)
            instance = {"name": "me", "format": "json", "auto.offset.reset": "earliest"}
            kinds = {"content-type": V2}
            made = await tenant.done("POST", f"/consumers/{tenant.called('g')}", json.dumps(instance).encode(), kinds)
            path = f"/consumers/{tenant.called('g')}/instances/{made['instance_id']}"
            await tenant.done("POST", f"{path}/subscription", json.dumps({"topics": [topic]}).encode(), kinds)
            found: list[Any] = []
            with trio.fail_after(PATIENCE_S):
                while not found:
                    found = await tenant.get(f"{path}/records?timeout=5000")
            assert [(each["topic"], each["value"]) for each in found] == [(topic, tenant.name)]
            await tenant.done("POST", f"{path}/offsets", b"", kinds)
        assert (await two.zulu.ask("GET", "/consumers/g/instances/me/records")).status == 404
        as_v2 = {"accept": V2}
        for tenant in two.both:
            assert await tenant.done("GET", "/topics", None, as_v2) == [tenant.called("orders")]
            shown = await tenant.done("GET", f"/topics/{tenant.called('orders')}", None, as_v2)
            assert shown["name"] == tenant.called("orders")
            body = json.dumps({"topic_name": tenant.called("bridge")}).encode()
            await tenant.done("POST", "/admin/topics", body, {"content-type": V2})
            path = f"/topics/{tenant.called('orders')}/partitions"
            assert len(await tenant.get(path)) == 1
            assert await tenant.get(f"{path}/0/offsets") == {"beginning_offset": 0, "end_offset": 1}
            await tenant.done("DELETE", f"/topics/{tenant.called('bridge')}")
        for path in (
            "/topics/acme.orders",
            "/topics/acme.orders/partitions",
            "/topics/acme.orders/partitions/0/offsets",
        ):
            assert (await two.zulu.ask("GET", path, None, as_v2)).status == 404
        (cluster,) = (await two.acme.get("/v3/clusters"))["data"]
        base = f"/v3/clusters/{cluster['cluster_id']}/topics"
        for tenant in two.both:
            await tenant.done("POST", base, {"topic_name": tenant.called("made")})
            listed = [each["topic_name"] for each in (await tenant.get(base))["data"]]
            assert listed == [tenant.called("made"), tenant.called("orders")]
            record = {"value": {"type": "JSON", "data": 1}}
            told = await tenant.done("POST", f"{base}/{tenant.called('made')}/records", record)
            assert told["topic_name"] == tenant.called("made")
        for other in ("acme.made", "acme.orders"):
            assert (await two.zulu.ask("GET", f"{base}/{other}")).status == 404
            assert (await two.zulu.ask("DELETE", f"{base}/{other}")).status == 404
        assert {"acme.made", "zulu.made"} <= two.topics


@trio_test
async def test_topics_are_made_listed_described_and_deleted(tmp_path: Path) -> None:
    async with open_two(tmp_path) as two:
        for tenant in two.both:
            configs = {"dead.letter.topic": tenant.called("letters")}
            answer = await tenant.ask("POST", "/topics", {"name": tenant.called("orders"), "configs": configs})
            assert (answer.status, answer.headers["location"]) == (201, f"/topics/{tenant.called('orders')}")
            assert answer.json()["name"] == tenant.called("orders")
        for tenant in two.both:
            page = await tenant.get("/topics")
            assert ([each["name"] for each in page["items"]], page["total"]) == ([tenant.called("orders")], 1)
            assert (await tenant.get(f"/topics?prefix={tenant.called('or')}"))["total"] == 1
            shown = await tenant.get(f"/topics/{tenant.called('orders')}")
            assert shown["name"] == tenant.called("orders")
            values = {each["name"]: each["value"] for each in shown["configs"]}
            assert values["dead.letter.topic"] == tenant.called("letters")
            again = await tenant.ask("POST", "/topics", {"name": tenant.called("orders")})
            assert again.status == 409
            assert not mentions(again.json(), "acme", *(() if tenant.prefix else ("zulu",)))
        assert two.topics >= {"acme.orders", "zulu.orders"}
        for method in ("GET", "DELETE"):
            answer = await two.zulu.ask(method, "/topics/acme.orders")
            assert answer.status == 404
            assert "\\u0000" not in answer.body.decode()
        await two.acme.done("DELETE", "/topics/orders")
        assert "acme.orders" not in two.topics
        assert "zulu.orders" in two.topics


@trio_test
async def test_delayed_records_by_schedule_ids_of_one_name(tmp_path: Path) -> None:
    async with open_two(tmp_path) as two:
        for tenant in two.both:
            headers = [{"name": "tide-delay", "value": "600000"}, {"name": "tide-schedule-id", "value": "s1"}]
            record = {"key": "k", "value": tenant.name, "headers": headers}
            await tenant.done("POST", f"/topics/{tenant.called('orders')}/messages", record)
        due_ms = two.http.broker.clock.now_ms() + 3_600_000
        await two.acme.done("PATCH", "/topics/orders/delayed/0/s1", {"deliver_at_ms": due_ms})
        for tenant in two.both:
            path = f"/topics/{tenant.called('orders')}/delayed"
            assert [each["id"] for each in (await tenant.get(path))["items"]] == ["s1"]
            shown = await tenant.get(f"{path}/0/s1")
            assert (shown["topic"], shown["value"]) == (tenant.called("orders"), tenant.name)
            assert (shown["record"]["due_ms"] == due_ms) == (tenant is two.acme)
            assert (await tenant.get(f"{path}/histogram"))["buckets"]
            assert (await tenant.get(f"{path}/fates?id=s1"))["items"][0]["topic"] == tenant.called("orders")
        for method, body in (("GET", None), ("DELETE", None), ("PATCH", {"release_now": True})):
            assert (await two.zulu.ask(method, "/topics/acme.orders/delayed/0/s1", body)).status == 404
        await two.acme.done("DELETE", "/topics/orders/delayed/0/s1")
        assert (await two.acme.get("/topics/orders/delayed/0/s1"))["fate"] == "CANCELLED"
        assert (await two.zulu.get("/topics/zulu.orders/delayed/0/s1"))["fate"] == "PENDING"


@trio_test
async def test_traces_and_dead_letters(tmp_path: Path) -> None:
    async with open_two(tmp_path) as two:
        traceparent = {"name": "traceparent", "value": f"00-{'5' * 32}-{'1' * 16}-01"}
        for tenant in two.both:
            record = {"key": "k", "value": tenant.name, "headers": [traceparent]}
            await tenant.done("POST", f"/topics/{tenant.called('orders')}/messages", record)
            await tenant.done("POST", "/topics", {"name": tenant.called("orders.dlq")})
            path = await joined(tenant)
            await polled(tenant, path, 1)
            await tenant.done("POST", f"{path}/commit", {})
        for tenant in two.both:
            listed = (await tenant.get("/traces"))["items"]
            assert {each["topic"] for each in listed} == {tenant.called("orders")}
            (mine,) = (await tenant.get(f"/traces/{'5' * 32}"))["items"]
            assert (mine["topic"], mine["groups"]) == (tenant.called("orders"), [tenant.called("g")])
            table = (await tenant.ask("GET", f"/traces/{'5' * 32}/table")).body.decode()
            place = f"/traces/at/{tenant.called('orders')}/0/0"
            assert (await tenant.get(place))["trace_id"] == "5" * 32
            searched = await tenant.get(f"/traces/search?group={tenant.called('g')}&topic={tenant.called('orders')}")
            assert searched["total"] == 1
            letters = (await tenant.get("/dlq"))["items"]
            assert [(each["topic"], each["sources"]) for each in letters] == [
                (tenant.called("orders.dlq"), [tenant.called("orders")])
            ]
            others = {"acme.", "zulu."} - {tenant.prefix}
            assert not mentions([listed, mine, table, letters], *others)
        for query in ("topic=acme.orders", "group=acme.g"):
            assert (await two.zulu.get(f"/traces/search?{query}"))["total"] == 0
        assert (await two.zulu.ask("GET", "/traces/at/acme.orders/0/0")).status == 404
        assert (await two.root.get("/traces/search?topic=acme.orders"))["total"] == 1


@trio_test
async def test_the_operators_paths_stay_the_operators(tmp_path: Path) -> None:
    async with open_two(tmp_path) as two:
        for path in ("/metrics", "/tenants", "/cluster", "/config", "/quotas", "/traces/stats", "/transactions/stats"):
            assert (await two.acme.ask("GET", path)).status == 403, path
            assert (await two.root.ask("GET", path)).status == 200, path
        assert (await two.acme.ask("GET", "/nothing")).status == 403


@trio_test
async def test_rights_are_asked_for_on_full_names(tmp_path: Path) -> None:
    settings: dict[str, object] = {"authorizer.enable": True, "super.users": "User:root"}
    async with open_two(tmp_path, settings) as two:
        await two.root.done("POST", "/topics", {"name": "acme.orders"})
        for path in ("/topics/orders", "/topics/none", "/topics/orders/delayed", "/traces/at/orders/0/0"):
            assert (await two.acme.ask("GET", path)).status == 403, path
        refused = await two.acme.ask("POST", "/groups/g/members", {"topics": ["orders"]})
        assert refused.status == 403
        assert not mentions(refused.json(), "acme.g")
        assert (await two.acme.get("/topics"))["total"] == 0
        assert (await two.acme.get("/dlq"))["total"] == 0


@trio_test
async def test_who_belongs_to_a_tenant_that_is_gone_is_let_in_nowhere(tmp_path: Path) -> None:
    async with open_two(tmp_path) as two:
        await two.acme.get("/topics")
        await two.root.done("DELETE", "/tenants/acme")
        for path in ("/topics", "/groups", "/traces", "/v3/clusters"):
            assert (await two.acme.ask("GET", path)).status == 403, path


@trio_test
async def test_requests_count_as_the_tenants_and_wait_for_its_rate(tmp_path: Path) -> None:
    async with open_two(tmp_path) as two:
        before = (await two.root.get("/tenants/acme"))["usage"]["requests"]
        for _ in range(3):
            await two.acme.get("/topics")
        assert (await two.root.get("/tenants/acme"))["usage"]["requests"] == before + 3


@trio_test
async def test_a_letter_that_names_anothers_topic_is_not_sent_there_by_the_operator(tmp_path: Path) -> None:
    async with open_two(tmp_path) as two:
        for tenant in two.both:
            await tenant.publish("orders", "first")
        for name in ("zulu.orders", "orders"):
            told = [{"name": "__dlq.errors.topic", "value": name}, {"name": "__dlq.errors.tenant", "value": "acme"}]
            headers = told if name == "orders" else told[:1]
            await two.acme.done("POST", "/topics/orders.dlq/messages", {"key": "k", "value": name, "headers": headers})
        done = await two.root.done("POST", "/dlq/acme.orders.dlq/redrive", {})
        assert [(each["to"], each["left"] is None) for each in done["letters"]] == [
            ("zulu.orders", False),
            ("acme.orders", True),
        ]
        assert len((await two.zulu.get("/topics/zulu.orders/messages"))["messages"]) == 1
        assert len((await two.acme.get("/topics/orders/messages"))["messages"]) == 2


FIRST, SECOND = ({"schemaType": "JSON", "schema": json.dumps({"type": kind})} for kind in ("integer", "string"))


@trio_test
async def test_records_are_held_against_the_tenants_own_schemas(tmp_path: Path) -> None:
    async with open_two(tmp_path) as two:
        kinds = {"content-type": "application/vnd.schemaregistry.v1+json"}
        for tenant, schema in ((two.acme, FIRST), (two.zulu, SECOND)):
            target = f"/schemas/subjects/{tenant.called('orders')}-value/versions"
            made = await tenant.done("POST", target, json.dumps(schema).encode(), kinds)
            assert made["id"] == 1, "each counts for itself"
            assert await tenant.get("/schemas/subjects") == [f"{tenant.called('orders')}-value"]
            for name, configs in (
                ("orders", {"schema.validation": "full"}),
                ("plain", {"schema.subject": f"{tenant.called('orders')}-value"}),
                ("spy", {"schema.subject": ":.acme:orders-value"}),
            ):
                await tenant.done("POST", "/topics", {"name": tenant.called(name), "configs": configs})
        number, text = b"\0\0\0\0\1" + b"7", b"\0\0\0\0\1" + b'"x"'
        for tenant, right, wrong in ((two.acme, number, text), (two.zulu, text, number)):
            path = f"/topics/{tenant.called('orders')}/messages"
            for payload, status in ((right, 200), (wrong, 400), (b"\0\0\0\0\2" + right[5:], 400)):
                answer = await tenant.ask("POST", path, {"valueBase64": b64encode(payload).decode()})
                assert answer.status == status, answer
            path = f"/topics/{tenant.called('plain')}/messages"
            for payload, status in ((right[5:], 200), (wrong[5:], 400)):
                answer = await tenant.ask("POST", path, {"valueBase64": b64encode(payload).decode()})
                assert answer.status == status, answer
            # A config may name a context; none but the tenant's own is there for it.
            path = f"/topics/{tenant.called('spy')}/messages"
            assert (await tenant.ask("POST", path, {"value": 7})).status == 400


@trio_test
async def test_rest_by_schema_goes_by_the_tenants_own_schemas(tmp_path: Path) -> None:
    by_schema = {"content-type": "application/vnd.kafka.jsonschema.v2+json"}
    async with open_two(tmp_path) as two:
        kinds = {"content-type": "application/vnd.schemaregistry.v1+json"}
        for subject, schema in (("orders-value", SECOND), ("others-value", FIRST)):
            target = f"/schemas/subjects/{subject}/versions"
            await two.root.done("POST", target, json.dumps(schema).encode(), kinds)
        for tenant, schema, value in ((two.acme, FIRST, 7), (two.zulu, SECOND, "x")):
            path = f"/topics/{tenant.called('orders')}"
            body: dict[str, Any] = {"value_schema": schema["schema"], "records": [{"value": value}]}
            told = await tenant.done("POST", path, json.dumps(body).encode(), by_schema)
            assert told["value_schema_id"] == 1, "of its own"
            assert await tenant.get("/schemas/subjects") == [f"{tenant.called('orders')}-value"]
            body = {"value_schema_id": 2, "records": [{"value": value}]}
            assert (await tenant.ask("POST", path, json.dumps(body).encode(), by_schema)).status == 404
            # What others have registered under an id does not read its records, nor does a subject that names others.
            await tenant.publish("orders", "as it is")
            cluster = (await tenant.get("/v3/clusters"))["data"][0]["cluster_id"]
            for subject in (":.acme:orders-value", ":.:orders-value", ":.zulu:zulu.orders-value"):
                if subject != f":.{tenant.name}:{tenant.called('orders')}-value":
                    asked = {"value": {"type": "JSONSCHEMA", "subject": subject, "schema_version": 1, "data": value}}
                    target = f"/v3/clusters/{cluster}/topics/{tenant.called('orders')}/records"
                    answer = await tenant.ask("POST", target, asked)
                    assert answer.json()["error_code"] in (404, 422, 42208), answer
                    assert "offset" not in answer.json()
        for tenant, value in ((two.acme, 7), (two.zulu, "x")):
            kinds = {"content-type": V2}
            instance = {"format": "jsonschema", "auto.offset.reset": "earliest"}
            made = await tenant.done("POST", f"/consumers/{tenant.called('g')}", json.dumps(instance).encode(), kinds)
            path = f"/consumers/{tenant.called('g')}/instances/{made['instance_id']}"
            places = {"partitions": [{"topic": tenant.called("orders"), "partition": 0}]}
            await tenant.done("POST", f"{path}/assignments", json.dumps(places).encode(), kinds)
            accepted = {"accept": "application/vnd.kafka.jsonschema.v2+json"}
            answer = await tenant.ask("GET", f"{path}/records?timeout=5000&max_bytes=1", None, accepted)
            assert (answer.status, [each["value"] for each in answer.json()]) == (200, [value])
