"""Searches the requests of one API version for the dearest: a systematic beginning, then mutations of the worst."""

import random
from collections.abc import Iterator

from attrs import define, field, frozen

from tools.fuzz.cost.genomes import Builder, Genome, mutated, systematic
from tools.fuzz.cost.subject import Cost, subject
from wire.kafka.codec.schema import StructSchema, load_schema

REQUEST_BYTES = 1 << 20
BREEDERS = 4


@frozen
class Bounds:
    """What one request may cost, whatever it says."""

    stall_ms: float = 50.0
    growth_bytes: int = 20 * REQUEST_BYTES

    def excess(self, cost: Cost) -> float:
        """How much of what is allowed was taken; above 1 a bound is broken."""
        unanswered = 1.1 if cost.outcome == "silent" else 0.0
        return max(cost.stall_ms / self.stall_ms, cost.growth_bytes / self.growth_bytes, unanswered)


@frozen
class Finding:
    """A request and what it cost."""

    api_key: int
    version: int
    genome: Genome
    cost: Cost


@define
class Worst:
    """The dearest requests found for one API version, by what they cost most of."""

    api_key: int
    version: int
    findings: list[Finding] = field(factory=list)
    another_alone_ms: float = 0.0
    another_meanwhile_ms: float = 0.0
    """The p99 of another client, without and with the dearest request once a second; 0 where it was not measured."""

    @property
    def stall(self) -> Finding:
        return max(self.findings, key=lambda finding: finding.cost.stall_ms)

    @property
    def growth(self) -> Finding:
        return max(self.findings, key=lambda finding: finding.cost.growth_bytes)

    @property
    def answer(self) -> Finding:
        return max(self.findings, key=lambda finding: finding.cost.answer_bytes)

    def complaints(self, bounds: Bounds) -> list[Finding]:
        """What broke a bound, the worst first."""
        broken = [finding for finding in self.findings if bounds.excess(finding.cost) > 1]
        return sorted(broken, key=lambda finding: -bounds.excess(finding.cost))


def worst_of(api_key: int, version: int, *, mutations: int, seed: int, bounds: Bounds) -> Worst:
    """Asks one request after the other, of a fresh broker where the last one had grown; the same seed asks the same."""
    worst = Worst(api_key, version)
    chance = random.Random(f"{seed}/{api_key}/{version}")
    candidates = _candidates(worst, load_schema(api_key, version, "request"), mutations, chance, bounds)
    left: Genome | None = next(candidates)
    while left is not None:
        with subject() as broker:
            builder = Builder(api_key, version, broker.vocabulary)
            while left is not None and not broker.is_spent:
                cost = broker.cost(builder.frames(left, REQUEST_BYTES))
                worst.findings.append(Finding(api_key, version, left, cost))
                left = next(candidates, None)
    return worst


def watch_another(worst: Worst) -> None:
    """Measures what another client notices of the dearest request."""
    with subject() as broker:
        builder = Builder(worst.api_key, worst.version, broker.vocabulary)
        frames = builder.frames(worst.stall.genome, REQUEST_BYTES)
        worst.another_alone_ms, worst.another_meanwhile_ms = broker.waits_of_another_ms(frames)


def _candidates(
    worst: Worst, schema: StructSchema, mutations: int, chance: random.Random, bounds: Bounds
) -> Iterator[Genome]:
    """Those to begin with, then children of the dearest so far."""
    yield from systematic(schema)
    for _ in range(mutations):
        ranked = sorted(worst.findings, key=lambda finding: -bounds.excess(finding.cost))
        yield mutated(chance.choice(ranked[:BREEDERS]).genome, schema, chance)
