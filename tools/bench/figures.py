"""The figures a measurement can have: how they are called, and which way is better."""

from attrs import frozen

Figures = dict[str, float]


@frozen
class Kind:
    """What a figure says, and whether more of it is better (None: neither, it explains others)."""

    title: str
    more_is_better: bool | None = False
    digits: int = 2


KINDS: dict[str, Kind] = {
    "records_per_s": Kind("records/s", more_is_better=True, digits=0),
    "cpu_s": Kind("broker CPU s"),
    "cpu_s_per_1000": Kind("broker CPU s per 1,000 records", digits=4),
    "p50_ms": Kind("p50 ms"),
    "p99_ms": Kind("p99 ms"),
    "p999_ms": Kind("p99.9 ms"),
    "publish_p50_ms": Kind("publish p50 ms"),
    "publish_p99_ms": Kind("publish p99 ms"),
    "publish_p999_ms": Kind("publish p99.9 ms"),
    "memory_mb": Kind("resident MB (peak)", digits=0),
    "start_s": Kind("start to ready s"),
    "idle_mb": Kind("resident MB, idle", digits=0),
    "idle_cpu_percent": Kind("CPU %, idle"),
    "form_s": Kind("s until a new group has its partitions"),
    "join_s": Kind("s until a new member has its share"),
    "leave_s": Kind("s until a leaver's share is taken over"),
    "recovery_s": Kind("s until the first acknowledgement"),
    "recovery_all_s": Kind("s until every partition acknowledges"),
    "released_per_s": Kind("records released/s", more_is_better=True, digits=0),
    "bytes_each": Kind("resident bytes for each", digits=0),
    "mb_per_s": Kind("MB/s", more_is_better=True, digits=0),
    "of_plain": Kind("of the rate without TLS", more_is_better=None),
    "cpu_of_plain": Kind("times the CPU without TLS", more_is_better=None),
    "speed_up": Kind("times one node", more_is_better=True),
    "topics_s": Kind("s to make the topics"),
    "delivered_per_s": Kind("records/s delivered", more_is_better=None, digits=0),
    "nats_per_s": Kind("records/s of NATS, not kept", more_is_better=None, digits=0),
    "nats_cpu_s_per_1000": Kind("CPU s of NATS per 1,000 records", more_is_better=None, digits=4),
    "client_cpu_s": Kind("client CPU s", more_is_better=None),
    "broker_thread_busy": Kind("busiest broker thread, cores", more_is_better=None),
    "broker_busy": Kind("broker, cores", more_is_better=None),
    "client_busy": Kind("client, cores", more_is_better=None),
    "stolen": Kind("taken by the host, cores", more_is_better=None),
}


def kind_of(figure: str) -> Kind:
    """A figure's kind; those of growth carry the point at their end, after `@`."""
    name, _, point = figure.partition("@")
    if name not in KINDS:
        raise KeyError(f"no figure is called {name!r}: tools/bench/figures.py lists them")
    kind = KINDS[name]
    return Kind(f"{kind.title} at {point}", kind.more_is_better, kind.digits) if point else kind
