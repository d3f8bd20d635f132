"""Tenants from the command line."""

from pathlib import Path

from tests.tools.cli.conftest import run
from tidegate import testing
from tools.bench.tenants import free_ports
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


def test_a_tenant_goes_with_all_that_it_has(tmp_path: Path) -> None:
    ruled = {"authorizer.enable": "true", "super.users": "User:ANONYMOUS", "registry.port": -1}
    with testing.broker(ruled, data_dir=tmp_path / "data", timeout_s=60) as broker:
        where = ("-b", broker.bootstrap, "--timeout", "60")

        def done(*arguments: str) -> str:
            ended = run(*arguments, *where)
            assert ended.code == 0, ended.err
            return ended.out + ended.err

        password = tmp_path / "password"
        password.write_text("open sesame")
        for name in ("acme", "zulu"):
            done("tenant", "create", name)
            done("topic", "create", f"{name}.orders")
            done("user", "add", f"{name}.ann", "--password-file", str(password))
            done("acl", "add", f"{name}.ann", "read", "--topic", f"{name}.orders")
            done("quota", "set", "producer_byte_rate=1000", "--user", f"{name}.ann")
        assert "1 topic, 1 rule, 1 user (acme.ann), 1 quota" in done(
            "tenant", "delete", "acme", "--yes", "--everything"
        )
        for listed in (("topic", "list"), ("acl", "list"), ("user", "list"), ("quota", "list")):
            told = done(*listed)
            assert "acme" not in told
            assert "zulu" in told
        done("topic", "delete", "zulu.orders", "--yes")
        told = done("tenant", "delete", "zulu", "--yes")
        assert "left behind: 1 rule, 1 user (zulu.ann), 1 quota" in told
        assert "zulu" in done("acl", "list")
        done("tenant", "delete", "zulu", "--yes", "--everything")
        assert "zulu" not in done("acl", "list") + done("user", "list") + done("quota", "list")


def test_a_tenants_user_lists_its_topics_though_disks_are_not_its_affair(tmp_path: Path) -> None:
    outside, inside = (f"127.0.0.1:{port}" for port in free_ports(2))
    settings = {
        "listeners": f"PLAINTEXT://{outside},ACME://{inside}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,ACME:PLAINTEXT",
        "listener.name.acme.tenant": "acme",
        "listener.name.acme.tenant.rewrite": "true",
    }
    with testing.broker(settings, data_dir=tmp_path / "data", timeout_s=60):
        assert run("tenant", "create", "acme", "-b", outside, "--timeout", "60").code == 0
        assert run("topic", "create", "orders", "-b", inside, "--timeout", "60").code == 0
        told = run("topic", "list", "-o", "json", "-b", inside, "--timeout", "60")
        assert told.code == 0, told.err
        (listed,) = told.data
        assert (listed["name"], listed["size_bytes"]) == ("orders", None)
        (listed,) = run("topic", "list", "-o", "json", "-b", outside, "--timeout", "60").data
        assert (listed["name"], listed["size_bytes"]) == ("acme.orders", 0)
        refused = run("user", "list", "-b", inside, "--timeout", "60")
        assert refused.code == Exit.REFUSED
        assert "a user who belongs to no tenant" in refused.err


def test_what_makes_no_sense_is_said_before_anybody_is_asked() -> None:
    nowhere = ("-b", "127.0.0.1:1")
    for arguments in (
        ("create", "acme", "--limit", "apples=3"),
        ("create", "acme", "--limit", "topics=many"),
        ("limits", "acme"),
        ("delete", "acme", "--everything", "--force"),
    ):
        assert run("tenant", *arguments, *nowhere).code == 2
