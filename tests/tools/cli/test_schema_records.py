"""Records of `_schemas`: what a topic of Confluent's registry comes to, and what is written for it."""

import json
from typing import Any

import pytest

from tools.cli.errors import NotFound, UsageMistake
from tools.cli.schema_door import SchemaDoor
from tools.cli.schema_records import SchemaTopic, exported

TOPIC = """\
{"keytype":"NOOP","magic":0}\tNULL
{"keytype":"CONFIG","subject":null,"magic":0}\t{"compatibilityLevel":"FULL"}
{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}\t{"subject":"a","version":1,"id":1,"schema":"\\"int\\"","deleted":false}
{"keytype":"SCHEMA","subject":"a","version":2,"magic":1}\t{"subject":"a","version":2,"id":2,"schema":"\\"long\\"","deleted":false}
{"keytype":"SCHEMA","subject":"b","version":1,"magic":1}\t{"subject":"b","version":1,"id":1,"schema":"\\"int\\"","deleted":false}
{"keytype":"SCHEMA","subject":"c","version":1,"magic":1}\t{"subject":"c","version":1,"id":3,"schema":"\\"x\\"","deleted":true}
{"keytype":"SCHEMA","subject":"c","version":1,"magic":1}\t
{"keytype":"DELETE_SUBJECT","subject":"a","magic":0}\t{"subject":"a","version":1}
{"keytype":"MODE","subject":"b","magic":0}\t{"mode":"READONLY"}
{"keytype":"CONFIG","subject":"b","magic":0}\t{"compatibilityLevel":"NONE"}
{"keytype":"CONFIG","subject":"b","magic":0}\tNULL
"""


def read(text: str) -> SchemaTopic:
    topic = SchemaTopic()
    topic.read(text.splitlines())
    return topic


def test_what_is_said_last_counts() -> None:
    topic = read(TOPIC)
    assert {place: bool(each["deleted"]) for place, each in topic.versions.items()} == {
        ("a", 1): True,
        ("a", 2): False,
        ("b", 1): False,
    }
    assert (topic.configs, topic.modes) == ({None: {"compatibilityLevel": "FULL"}}, {"b": "READONLY"})


def test_what_is_written_reads_as_the_same() -> None:
    topic = read(TOPIC)
    again = read("\n".join(topic.lines()))
    assert (again.versions, again.configs, again.modes) == (topic.versions, topic.configs, topic.modes)
    keys = [json.loads(line.partition("\t")[0]) for line in topic.lines()]
    assert [key.get("version") for key in keys if key["keytype"] == "SCHEMA"] == [1, 1, 2], "by rising ids"


@pytest.mark.parametrize("line", ["x", "{}", "[]\t{}", '{"keytype":"SCHEMA","subject":"a","version":1}\t{"id":"x"}'])
def test_a_line_that_is_none_is_named(line: str) -> None:
    with pytest.raises(UsageMistake, match="line 2"):
        read(f"\n{line}")


def test_all_that_confluents_config_records_set_is_read_and_written_and_the_rest_named() -> None:
    members = {
        "compatibilityLevel": "FULL",
        "compatibilityPolicy": "LENIENT",
        "compatibilityGroup": "major",
        "normalize": False,
        "alias": "orders",
        "defaultMetadata": {"properties": {"owner": "shop"}},
        "overrideRuleSet": {"domainRules": [{"name": "known", "kind": "CONDITION"}]},
    }
    key = json.dumps({"keytype": "CONFIG", "subject": "old", "magic": 0})
    others = {"subject": "old", "validateFields": True, "validateRules": None, "overrideMetadata": None}
    topic = read(f"{key}\t{json.dumps({**members, **others})}")
    assert (topic.configs, topic.passed_over) == ({"old": members}, {"validateFields"})
    (line,) = topic.lines()
    assert json.loads(line.partition("\t")[2]) == {"subject": "old", **members}


class AnotherRegistry(SchemaDoor):
    """One that has no list of what is set."""

    def __init__(self) -> None:
        self.answers = {
            "config": {"compatibilityLevel": "NONE"},
            "mode": {"mode": "READWRITE"},
            "contexts": [".", ".shop"],
            "schemas": [{"subject": "a", "version": 1, "id": 1, "schema": "x"}],
            "config/:.shop:": {"normalize": True},
            "config/a": {"compatibilityGroup": "major", "compatibilityLevel": "FULL"},
            "mode/a": {"mode": "READONLY"},
        }

    def ask(self, method: str, *path: str, body: Any = None, **query: Any) -> Any:
        if "/".join(path) not in self.answers:
            raise NotFound("nothing")
        return self.answers["/".join(path)]


def test_of_another_registry_contexts_and_subjects_are_asked_for_one_by_one() -> None:
    topic = exported(AnotherRegistry())
    assert topic.configs == {
        None: {"compatibilityLevel": "NONE"},
        ":.shop:": {"normalize": True},
        "a": {"compatibilityLevel": "FULL", "compatibilityGroup": "major"},
    }
    assert topic.modes == {"a": "READONLY"}
