"""Addresses of this door in answers: absolute, as these clients expect them."""

from urllib.parse import urlsplit

from coordinators.topics import Topics
from wire.http.messages import Call

WILDCARDS = ("0.0.0.0", "::")


def base_url(call: Call, topics: Topics) -> str:
    """What addresses begin with: `http.advertised.url`; the name by which the caller called a door that is bound to
    every address."""
    told = topics.settings.text("http.advertised.url").rstrip("/")
    parts = urlsplit(told)
    host = call.request.headers.get("host")
    if parts.hostname in WILDCARDS and host:
        return f"{parts.scheme}://{host}"
    return told
