"""TLS against plaintext, on listeners of one and the same broker: records in, records out, and handshakes.

`of_plain` is the rate over TLS as a share of the rate without, `cpu_of_plain` the same of the broker's CPU per record.
"""

from collections.abc import Callable
from pathlib import Path

from tools.bench.brokers import TlsListener
from tools.bench.clients import native
from tools.bench.figures import Figures
from tools.bench.loads.consume import fill
from tools.bench.loads.produce import BATCH_BYTES, RECORD_OVERHEAD_BYTES, WARM_UP
from tools.bench.trial import Trial

Run = Callable[[str, Path | None], Figures]


def _compared(trial: Trial, run: Run) -> Figures:
    """Without TLS, then with; what is told is that with TLS, beside the other."""
    listener = _listener(trial)
    with trial.measured() as meter:
        found = run(trial.bootstrap, None)
    plain = meter.figures(found)
    with trial.measured() as meter:
        found = run(listener.address, listener.authority)
    figures = meter.figures(found)
    figures["of_plain"] = figures["records_per_s"] / plain["records_per_s"]
    figures["cpu_of_plain"] = figures["cpu_s_per_1000"] / plain["cpu_s_per_1000"]
    return figures


def _listener(trial: Trial) -> TlsListener:
    listener = trial.subject.tls
    assert listener is not None, "the row asks for a broker with TLS"
    return listener


def produce(trial: Trial, *, records: int, size: int, partitions: int = 6) -> Figures:
    """Requests that were encoded beforehand, as `produce.preloaded` sends them."""
    trial.topics({"load": partitions})
    count = trial.scaled(records, 1000)
    options = {
        "topic": "load",
        "size": size,
        "partitions": partitions,
        "connections": 4,
        "depth": 5,
        "batch": BATCH_BYTES // (size + RECORD_OVERHEAD_BYTES),
    }

    def run(address: str, authority: Path | None) -> Figures:
        return native.run_over(authority, "produce", address, {**options, "records": count})

    listener = _listener(trial)
    for address, authority in ((trial.bootstrap, None), (listener.address, listener.authority)):
        warm = max(1000, int(count * WARM_UP))
        native.run_over(authority, "produce", address, {**options, "records": warm})
    return _compared(trial, run)


def consume(trial: Trial, *, records: int, size: int, partitions: int = 8, consumers: int = 1) -> Figures:
    """Fetch requests, as `consume.raw` sends them."""
    count = fill(trial, trial.scaled(records, 1000), size, partitions)
    options = {"topic": "load", "partitions": partitions, "consumers": consumers, "records": count}

    def run(address: str, authority: Path | None) -> Figures:
        return native.run_over(authority, "fetch", address, options)

    listener = _listener(trial)
    run(trial.bootstrap, None)
    run(listener.address, listener.authority)
    return _compared(trial, run)


def handshakes(trial: Trial, *, connections: int, at_once: int = 8) -> Figures:
    """Connections one after the other, each with a whole handshake and one request; a record is a connection."""
    listener = _listener(trial)
    count = trial.scaled(connections, 80)

    def run(times: int) -> Figures:
        options = {"connections": times, "at_once": at_once}
        return native.run_over(listener.authority, "handshakes", listener.address, options)

    run(max(80, count // 4))
    with trial.measured() as meter:
        found = run(count)
    return meter.figures(found)
