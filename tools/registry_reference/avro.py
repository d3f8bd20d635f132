"""Pairs of Avro schemas judged here and by Avro's Java library, whose verdicts ours are meant to be.

A pair is COMPATIBLE, INCOMPATIBLE, or INVALID where one of the two is no schema. Which difference it is, the words tell
in which one of both refuses: a topic of `avro.toml` has an expression for them (`told`).
"""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from coordinators.schemas.formats.avro.schema import FORMAT
from coordinators.schemas.formats.format import InvalidSchema
from tools.reference.maven import Jars
from tools.registry_reference.avro_pairs import AvroPairs

VERSION = "1.12.0"
JARS = Jars(
    "avro",
    VERSION,
    (("org.apache.avro", "avro", VERSION), ("org.slf4j", "slf4j-nop", "2.0.13")),
    f"Avro {VERSION} for Java",
)
JUDGE = Path(__file__).with_name("AvroJudge.java")
PATIENCE_S = 600.0
Verdict = tuple[str, str]
"""One of the three words, and why."""


def judged(pairs: list[tuple[Any, Any]]) -> list[Verdict]:
    """By Java."""
    command = ["java", "-Xss16m", "-cp", f"{JARS.libraries()}/*", str(JUDGE)]
    lines = "".join(json.dumps({"reader": reader, "writer": writer}) + "\n" for reader, writer in pairs)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    return [(word, why) for word, why in map(json.loads, done.stdout.splitlines())]


def judged_here(reader: Any, writer: Any) -> Verdict:
    """By us."""
    try:
        reading, writing = FORMAT.parse(json.dumps(reader)), FORMAT.parse(json.dumps(writer))
    except InvalidSchema as error:
        return "INVALID", str(error)
    reasons = reading.incompatibilities(writing)
    return ("INCOMPATIBLE" if reasons else "COMPATIBLE"), "; ".join(reasons)


def compare(cases: int, seed: int, known: Mapping[str, Mapping[str, str]]) -> tuple[int, dict[str, list[str]]]:
    """How many pairs, and those that are judged otherwise, by topic."""
    pairs = list(AvroPairs(Random(seed)).pairs(cases))
    found: dict[str, list[str]] = {}
    for (reader, writer), their in zip(pairs, judged(pairs), strict=True):
        our = judged_here(reader, writer)
        if our[0] != their[0]:
            told = f"here {our[0]} {our[1]}, there {their[0]} {their[1]}"
            topic = next((name for name, each in known.items() if re.search(each["told"], told)), told[:200])
            found.setdefault(topic, []).append(f"reader {json.dumps(reader)}\n  writer {json.dumps(writer)}\n  {told}")
    return len(pairs), found
