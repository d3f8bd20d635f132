"""`/metrics`: what Prometheus scrapes, as text or as OpenMetrics."""

from coordinators.waiting import in_worker
from engine.metrics import Metrics
from engine.workers import Workers
from wire.http.exposition import gather, render
from wire.http.messages import Call, Response
from wire.http.rights import DESCRIBE_THE_CLUSTER
from wire.http.routing import Route


async def metrics(call: Call, figures: Metrics, workers: Workers) -> Response:
    """Every figure; docs/operations/metrics.md says what each means."""
    await in_worker(workers, figures.prepare)
    gathered = await gather(figures)
    body, media_type = await in_worker(workers, render, gathered, call.request.headers.get("accept", ""))
    return Response(200, body, media_type)


ROUTES = (
    Route(
        "GET",
        "/metrics",
        metrics,
        "Figures for Prometheus",
        media_type="text/plain",
        needs_readiness=False,
        rights=DESCRIBE_THE_CLUSTER,
    ),
)
