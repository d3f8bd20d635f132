"""Records of `_schemas`: what a topic of Confluent's registry comes to, and what is written for it."""

import json

import pytest

from tools.cli.errors import UsageMistake
from tools.cli.schema_records import SchemaTopic

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
    assert (topic.levels, topic.modes) == ({None: "FULL"}, {"b": "READONLY"})


def test_what_is_written_reads_as_the_same() -> None:
    topic = read(TOPIC)
    again = read("\n".join(topic.lines()))
    assert (again.versions, again.levels, again.modes) == (topic.versions, topic.levels, topic.modes)
    keys = [json.loads(line.partition("\t")[0]) for line in topic.lines()]
    assert [key.get("version") for key in keys if key["keytype"] == "SCHEMA"] == [1, 1, 2], "by rising ids"


@pytest.mark.parametrize("line", ["x", "{}", "[]\t{}", '{"keytype":"SCHEMA","subject":"a","version":1}\t{"id":"x"}'])
def test_a_line_that_is_none_is_named(line: str) -> None:
    with pytest.raises(UsageMistake, match="line 2"):
        read(f"\n{line}")
