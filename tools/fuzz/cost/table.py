"""The table of what requests cost at worst, between two marks of a page, from the results of a campaign."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from tools.fuzz.cost.search import Worst
from wire.kafka.apis import registered

BEGIN, END = "<!-- costs: begin -->", "<!-- costs: end -->"
HEAD = """| API | version | requests | longest turn, ms | memory, MiB | answer, KiB | another's p99, ms | dearest |
|---|---|---|---|---|---|---|---|"""


@frozen
class CostRow:
    """The worst of one API version."""

    api: str
    version: int
    requests: int
    stall_ms: float
    growth_mib: float
    answer_kib: float
    another_alone_ms: float
    another_meanwhile_ms: float
    dearest: str

    def __str__(self) -> str:
        return (
            f"| {self.api} | {self.version} | {self.requests} | {self.stall_ms:.1f} | {self.growth_mib:.1f} "
            f"| {self.answer_kib:,.0f} | {self._another} | {self.dearest} |"
        )

    @property
    def _another(self) -> str:
        return f"{self.another_alone_ms:.1f} → {self.another_meanwhile_ms:.1f}" if self.another_meanwhile_ms else ""


def row(worst: Worst) -> CostRow:
    """What a search found, as a row."""
    return CostRow(
        api=registered()[worst.api_key].name,
        version=worst.version,
        requests=len(worst.findings),
        stall_ms=round(worst.stall.cost.stall_ms, 1),
        growth_mib=round(worst.growth.cost.growth_bytes / 2**20, 1),
        answer_kib=round(worst.answer.cost.answer_bytes / 1024, 1),
        another_alone_ms=round(worst.another_alone_ms, 1),
        another_meanwhile_ms=round(worst.another_meanwhile_ms, 1),
        dearest=str(worst.stall.genome),
    )


def merged(old: Sequence[CostRow], new: Sequence[CostRow]) -> list[CostRow]:
    """The newer rows in the places of the older ones, in order."""
    by_version = {(one.api, one.version): one for one in (*old, *new)}
    return [by_version[key] for key in sorted(by_version)]


def load(path: Path) -> list[CostRow]:
    """The rows of an earlier campaign, none if there was none."""
    return [CostRow(**fields) for fields in json.loads(path.read_text())] if path.exists() else []


def save(path: Path, rows: Sequence[CostRow]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fields: list[dict[str, Any]] = [asdict(one) for one in rows]
    path.write_text(json.dumps(fields, indent=1) + "\n")


def written_into(page: str, rows: Sequence[CostRow]) -> str:
    """The page with the table between its marks replaced."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    table = "\n".join([BEGIN, HEAD, *map(str, rows), END])
    return before + table + after
