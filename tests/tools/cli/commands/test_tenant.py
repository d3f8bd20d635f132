"""Tenants from the command line."""

from pathlib import Path

from tests.tools.cli.conftest import run
from tidegate import testing
from tools.cli.errors import Exit


def test_a_tenant_from_its_making_to_its_end(tmp_path: Path) -> None:
    with testing.broker(data_dir=tmp_path / "data", timeout_s=60) as broker:
        where = ("-b", broker.bootstrap, "--timeout", "60")
        made = run("tenant", "create", "acme", "--limit", "topics=1", "--limit", "storage_bytes=10Ki", *where)
        assert made.code == 0, made.err
        assert run("tenant", "create", "acme", *where).code != 0
        assert run("topic", "create", "acme.orders", *where).code == 0
        refused = run("topic", "create", "acme.more", *where)
        assert refused.code != 0
        assert "its limit is 1" in refused.err
        assert "acme" in run("tenant", "list", *where).out
        changed = run("tenant", "limits", "acme", "--limit", "topics=none", "--rewrite", "-o", "json", *where)
        assert (changed.data["limits"]["topics"], changed.data["limits"]["storage_bytes"]) == (None, 10_240)
        assert changed.data["rewrite"] is True
        shown = run("tenant", "show", "acme", *where)
        assert "storage_bytes" in shown.out
        kept = run("tenant", "delete", "acme", "--yes", *where)
        assert kept.code != 0
        assert "1 topics" in kept.err
        assert run("tenant", "delete", "acme", "--yes", "--force", *where).code == 0
        assert run("tenant", "show", "acme", *where).code == Exit.NOT_FOUND


def test_what_makes_no_sense_is_said_before_anybody_is_asked() -> None:
    nowhere = ("-b", "127.0.0.1:1")
    for arguments in (
        ("create", "acme", "--limit", "apples=3"),
        ("create", "acme", "--limit", "topics=many"),
        ("limits", "acme"),
    ):
        assert run("tenant", *arguments, *nowhere).code == 2
