"""The topic of the audit log: who writes and reads it, and what is in it."""

from pathlib import Path

import trio
from trio.testing import trio_test

from tests.wire.kafka.door import until
from tests.wire.kafka.guarded import ROOT, open_guarded
from tests.wire.kafka.requests import batch, bodies, create_topic, fetched, produced


@trio_test
async def test_what_was_denied_and_what_was_changed_is_in_the_topic_and_nobody_else_writes_there(
    tmp_path: Path,
) -> None:
    async with open_guarded(tmp_path, {"audit.topic.enable": "true"}) as guarded:
        root, alice = await guarded.client(ROOT), await guarded.client("alice")
        await create_topic(root, "orders")
        assert (await produced(alice, "orders", batch([b"a secret"]))).error_code == 29
        guarded.access.audit.flush()
        await until(lambda: "__audit" in guarded.access.topics.by_name)
        records = b""
        with trio.fail_after(10):
            while b"}" not in records:
                records = bodies((await fetched(root, "__audit", max_wait_ms=200)).records)
        text = records.decode("latin-1")
        assert '"operation":"WRITE","resource":"TOPIC","name":"orders","allowed":false' in text
        assert '"request":"create_topics","operation":"CREATE"' in text
        assert "a secret" not in text
        assert (await produced(root, "__audit", batch())).error_code == 17
        assert (await fetched(alice, "__audit")).error_code == 29
