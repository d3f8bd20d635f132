"""`python -m tools.registry_reference [apicurio|avro|buf]`: what others judge or answer otherwise than this registry.

    apicurio  the same calls to Tidegate and to Apicurio
    avro      compatibility of pairs of Avro schemas, by Avro's Java library
    buf       compatibility of pairs of Protobuf schemas, by `buf breaking`

Every difference has to be of a topic that `apicurio.toml`, `avro.toml` or `buf.toml` gives a reason for, and every
reason needs a difference: else the command ends with 1. So the lists in docs/schemas.md, which have the same rows, stay
true. `--all` shows every difference, whether or not there is a reason.
"""

import argparse
import sys
import tomllib
from pathlib import Path

PARTS = ("apicurio", "avro", "buf")
CASES = 20_000
MOST_SHOWN = 5
"""Of a topic, unless all are asked for."""


def reasons(part: str) -> dict[str, dict[str, str]]:
    """By topic, what is so here and what is so there."""
    with Path(__file__).with_name(f"{part}.toml").open("rb") as file:
        return tomllib.load(file)


def compared(part: str, cases: int, seed: int) -> tuple[int, dict[str, list[str]]]:
    """How much was compared, and what differs, by topic."""
    # Each needs other programs and libraries: only those of the part that is asked for.
    if part == "avro":
        from tools.registry_reference import avro

        return avro.compare(cases, seed, reasons(part))
    if part == "buf":
        from tools.registry_reference import buf

        return buf.compare(cases, seed)
    from tools.registry_reference import apicurio

    return apicurio.compare()


def verdict(count: int, found: dict[str, list[str]], known: set[str], *, shows_all: bool) -> int:
    """Tell, and whether the list of reasons is true."""
    for topic, told in found.items():
        if shows_all or topic not in known:
            print(f"{topic}:", *(told if shows_all else told[:MOST_SHOWN]), sep="\n  ")
    unused = sorted(known - found.keys())
    if unused:
        print(f"no difference any more: {', '.join(unused)}")
    unknown = found.keys() - known
    print(f"{count} compared, {sum(map(len, found.values()))} differences, {len(unknown)} topics without a reason")
    return 1 if unknown or unused else 0


def main() -> int:
    """Compare, and tell."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.registry_reference",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("part", nargs="?", choices=PARTS, default=PARTS[0])
    parser.add_argument("--all", action="store_true", help="show every difference")
    parser.add_argument("--cases", type=int, default=CASES, help=f"pairs of schemas, made at random ({CASES})")
    parser.add_argument("--seed", type=int, default=1, help="of the pairs (1)")
    given = parser.parse_args()
    count, found = compared(given.part, given.cases, given.seed)
    return verdict(count, found, set(reasons(given.part)), shows_all=given.all)


if __name__ == "__main__":
    sys.exit(main())
