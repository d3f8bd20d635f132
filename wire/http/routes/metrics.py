"""`/metrics`: what Prometheus scrapes, as text or as OpenMetrics."""

from wire.http.exposition import gather, render
from wire.http.messages import Call, Response
from wire.http.routing import Route


async def metrics(call: Call) -> Response:
    """Every figure; docs/operations/metrics.md says what each means."""
    await call.broker.in_thread(call.broker.metrics.prepare)
    gathered = await gather(call.broker.metrics)
    body, media_type = await call.broker.in_thread(render, gathered, call.request.headers.get("accept", ""))
    return Response(200, body, media_type)


ROUTES = (
    Route(
        "GET",
        "/metrics",
        metrics,
        "Figures for Prometheus",
        media_type="text/plain",
        needs_readiness=False,
    ),
)
