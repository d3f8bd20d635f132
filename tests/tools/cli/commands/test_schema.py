"""Schemas from the command line, and records that are written and read by them."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.tools.cli.conftest import run
from tidegate import testing
from tools.cli.errors import Exit

ONE = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
TWO = {**ONE, "fields": [*ONE["fields"], NOTE]}
UNFIT = {**ONE, "fields": [{"name": "other", "type": "int"}]}


def written(directory: Path, name: str, schema: object) -> str:
    file = directory / name
    file.write_text(json.dumps(schema))
    return str(file)


def test_a_subject_from_its_first_version_to_another_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with testing.broker({"registry.port": "-1"}, data_dir=tmp_path / "data", timeout_s=60) as broker:
        where = ("-b", broker.bootstrap, "--timeout", "60")
        assert "there are no schemas" in run("schema", "list", *where).err
        made = run("schema", "register", "orders-value", written(tmp_path, "one.avsc", ONE), *where)
        assert made.code == 0, made.err
        assert "version 1, under the id 1" in made.out
        unfit = run("schema", "check", "orders-value", written(tmp_path, "unfit.avsc", UNFIT), *where)
        assert (unfit.code, "version 1" in unfit.err) == (Exit.FAILED, True)
        assert run("schema", "check", "orders-value", written(tmp_path, "two.avsc", TWO), *where).code == 0
        at = ("--registry", broker.registry_url, "--timeout", "60")
        second = run("schema", "register", "orders-value", str(tmp_path / "two.avsc"), "-o", "json", *at)
        assert (second.data["version"], second.data["id"]) == (2, 2)
        (listed,) = run("schema", "list", "-o", "json", *where).data
        assert listed == {"subject": "orders-value", "versions": [1, 2], "id": 2, "type": "AVRO"}
        shown = run("schema", "show", "orders-value", "--version", "1", *where)
        assert json.loads(shown.out) == ONE
        assert json.loads(run("schema", "show", "2", "-o", "json", *where).data["schema"]) == TWO
        assert '+      "name": "note"' in run("schema", "diff", "orders-value", "1", *where).out
        assert "FULL" in run("schema", "config", "orders-value", "--level", "full", *where).out

        config = ("schema", "config", "old-orders-value", *where)
        assert "level FULL, mode READWRITE, alias orders-value" not in run(*config).out
        set_both = run(*config, "--set", "alias=orders-value", "--set", "normalize=true", "--level", "none")
        assert set_both.out.strip().endswith("level NONE, mode READWRITE, normalize true, alias orders-value")
        assert run("schema", "show", "old-orders-value", "--version", "1", *where).code == 0
        gone = run(*config, "--unset", "alias", "--unset", "compatibility", "--unset", "normalize")
        assert gone.out.strip().endswith("old-orders-value: level BACKWARD, mode READWRITE")
        readonly = ("schema", "config", "orders-value", *where)
        assert "READONLY" in run(*readonly, "--mode", "READONLY").out
        assert "READWRITE" in run(*readonly, "--unset", "mode").out
        assert run(*config, "--set", "alias").code == Exit.USAGE

        sent = run("produce", "orders", "--schema", "orders-value", '{"id": 7}', '{"id": 8, "note": "x"}', *where)
        assert sent.code == 0, sent.err
        assert run("produce", "orders", "--schema", "orders-value:1", '{"id": "seven"}', *where).code == Exit.USAGE
        plain = run("produce", "orders", "no schema at all", *where)
        assert plain.code == 0
        read = run("consume", "orders", "-e", "--decode", *where)
        assert read.out.splitlines() == ['{"id":7,"note":null}', '{"id":8,"note":"x"}', "no schema at all"]

        dump = run("schema", "export", *where)
        file = tmp_path / "dump.tsv"
        file.write_text(dump.out)
        assert run("schema", "delete", "orders-value", *where).code == 0
        assert run("schema", "delete", "orders-value", "--permanent", "--yes", *where).code == 0
        assert run("schema", "show", "orders-value", *where).code == Exit.NOT_FOUND
        taken = run("schema", "import", str(file), *where)
        assert taken.code == 0, taken.err
        again = run("schema", "export", *where)
        assert again.out == dump.out


def test_what_is_set_moves_with_the_schemas_and_the_schemas_stay_what_they_were(tmp_path: Path) -> None:
    with testing.broker({"registry.port": "-1"}, timeout_s=60) as broker:
        where = ("-b", broker.bootstrap, "--timeout", "60")
        url = broker.registry_url
        for subject, version in (("orders", ONE), ("plain", ONE), (":.shop:orders", TWO)):
            assert ask(url, "POST", f"subjects/{subject}/versions", {"schema": json.dumps(version)})["version"] == 1
        settings = {
            "config/orders": {
                "compatibility": "FULL_TRANSITIVE",
                "compatibilityPolicy": "LENIENT",
                "compatibilityGroup": "major",
                "normalize": True,
                "overrideMetadata": {"properties": {"owner": "shop"}},
                "defaultRuleSet": {"domainRules": [{"name": "known", "kind": "CONDITION", "expr": "true"}]},
            },
            "config/old-orders": {"alias": "orders"},
            "config/:.shop:": {"compatibility": "NONE", "defaultMetadata": {"tags": {"$.id": ["PII"]}}},
            "mode/plain": {"mode": "READONLY"},
        }
        for path, body in settings.items():
            assert ask(url, "PUT", path, body) == body
        dump = run("schema", "export", *where)
        (tmp_path / "dump.tsv").write_text(dump.out)
    with testing.broker({"registry.port": "-1"}, timeout_s=60) as broker:
        where = ("-b", broker.bootstrap, "--timeout", "60")
        url = broker.registry_url
        # What holds there must not change what comes; nor may what is set there keep it from coming.
        ask(url, "PUT", "config", {"overrideMetadata": {"properties": {"owner": "somebody else"}}})
        ask(url, "PUT", "config/plain", {"alias": "orders"})
        ask(url, "PUT", "mode/orders", {"mode": "READONLY"})
        for _ in range(2):
            taken = run("schema", "import", str(tmp_path / "dump.tsv"), *where)
            assert taken.code == 0, taken.err
        assert ask(url, "GET", "config/plain") == {"alias": "orders"}
        assert ask(url, "GET", "mode/orders") == {"mode": "READONLY"}
        for path, body in (("config/plain", {"alias": ""}), ("config", {"overrideMetadata": None})):
            ask(url, "PUT", path, body)
        assert ask(url, "GET", "subjects/old-orders/versions") == [1]
        mended = run("schema", "export", *where).out.splitlines()
        mode = '{"keytype":"MODE","subject":"orders","magic":0}\t{"subject":"orders","mode":"READONLY"}'
        assert sorted(mended) == sorted([*dump.out.splitlines(), mode])


def ask(url: str, method: str, path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(f"{url}/{path}", data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


def test_what_makes_no_sense_is_said_before_anybody_is_asked(tmp_path: Path) -> None:
    nowhere = ("-b", "127.0.0.1:1", "--timeout", "1")
    file = written(tmp_path, "one.avsc", ONE)
    for arguments in (
        ("register", "s", str(tmp_path / "missing.avsc")),
        ("register", "s", file, "--reference", "Line"),
        ("import", file),
    ):
        assert run("schema", *arguments, *nowhere).code == Exit.USAGE, arguments
