"""The bounds that the Kafka door keeps."""

from attrs import frozen


@frozen
class Limits:
    """Bounds of the door, from the broker's configuration."""

    max_frame_bytes: int = 100 * 1024 * 1024
    max_control_frame_bytes: int = 8 * 1024 * 1024
    max_large_request_bytes: int = 256 * 1024 * 1024
    max_connections: int = 10_000
    max_connections_per_address: int = 10_000
    max_idle_ms: int = 600_000
    max_requests_in_flight: int = 100
    max_bytes_in_flight: int = 32 * 1024 * 1024
    max_request_elements: int = 50_000
    max_response_bytes: int = 32 * 1024 * 1024
    request_progress_timeout_ms: int = 30_000
    max_fetch_bytes: int = 55 * 1024 * 1024
