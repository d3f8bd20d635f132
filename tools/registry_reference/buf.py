"""Pairs of Protobuf schemas judged here and by `buf breaking`, by its rules of what is written (WIRE).

A pair that one of them refuses alone is a difference, by the rules that buf names or by the words of our reasons. What
both refuse is none, for whichever reasons.
"""

import json
import subprocess
import tempfile
from pathlib import Path
from random import Random

from coordinators.schemas.formats.protobuf.schema import FORMAT
from tools.reference import buf
from tools.registry_reference.protobuf_pairs import ProtobufPairs

CONFIG = "version: v2\nbreaking:\n  use: [WIRE]\n"
PATIENCE_S = 600.0


def judged(older: list[str], newer: list[str]) -> list[set[str]]:
    """The rules that each newer schema breaks, by buf. Each pair is a package of its own."""
    with tempfile.TemporaryDirectory(prefix="tidegate-buf-") as directory:
        for side, texts in (("older", older), ("newer", newer)):
            folder = Path(directory) / side
            folder.mkdir()
            (folder / "buf.yaml").write_text(CONFIG)
            for number, text in enumerate(texts):
                (folder / f"{number}.proto").write_text(text)
        command = [buf.program(), "breaking", "newer", "--against", "older", "--error-format", "json"]
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    found: list[set[str]] = [set() for _ in newer]
    for line in done.stdout.splitlines():
        told = json.loads(line)
        found[int(Path(told["path"]).stem)].add(told["type"])
    if done.returncode not in (0, 100):
        raise RuntimeError(f"buf has failed: {done.stderr[:2000]}")
    return found


def compare(cases: int, seed: int) -> tuple[int, dict[str, list[str]]]:
    """How many pairs, and those that are judged otherwise, by rule."""
    pairs = [(older.text(), newer.text()) for older, newer in ProtobufPairs(Random(seed)).pairs(cases)]
    theirs = judged([older for older, _ in pairs], [newer for _, newer in pairs])
    found: dict[str, list[str]] = {}
    for (older, newer), rules in zip(pairs, theirs, strict=True):
        reasons = FORMAT.parse(newer).incompatibilities(FORMAT.parse(older))
        if bool(reasons) == bool(rules):
            continue
        for topic in rules or {each.split()[0] for each in reasons}:
            told = f"was\n{older}  is\n{newer}  here: {'; '.join(reasons) or 'compatible'}\n  buf: {sorted(rules)}"
            found.setdefault(topic, []).append(told)
    return len(pairs), found
