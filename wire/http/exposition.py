"""A scrape: figures are gathered on the loop in slices, and written out as Prometheus' text in a thread."""

from collections.abc import Callable, Iterator

import trio
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from coordinators.waiting import Breathing
from engine.metrics import Family, Metrics

SAMPLES_PER_SLICE = 100


async def gather(metrics: Metrics) -> list[Metric]:
    """Every figure as of now, or of some slices ago."""
    breathing = Breathing(SAMPLES_PER_SLICE)
    found: list[Metric] = []
    for family in metrics.steps():
        if family is None:
            await trio.lowlevel.checkpoint()
            continue
        metric = _metric(family)
        for sample in family.samples:
            metric.add_sample(_sample_name(family, sample.suffix), dict(sample.labels), sample.value)
            await breathing.did()
        await breathing.did()
        found.append(metric)
    return found


def _metric(family: Family) -> Metric:
    # prometheus-client names a counter without its ending and puts it back itself.
    name = family.name.removesuffix("_total") if family.kind == "counter" else family.name
    return Metric(name, family.meaning, family.kind)


def _sample_name(family: Family, suffix: str) -> str:
    return family.name + suffix


class _Gathered(Collector):
    """Figures that were gathered before."""

    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        return iter(self._metrics)


def render(metrics: list[Metric], accept: str) -> tuple[bytes, str]:
    """The text and its media type, in the form the caller asks for; runs in a thread."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Gathered(metrics))
    # Reads /proc: CPU, memory and open files of this process.
    ProcessCollector(registry=registry)
    encoder: Callable[[CollectorRegistry], bytes]
    encoder, media_type = choose_encoder(accept)
    return encoder(registry), media_type
