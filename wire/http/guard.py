"""Who may call at all: by the right name, and not from a web page that somebody else made.

A page in a browser on this machine can reach a loopback port. It cannot read answers (no CORS headers are sent), and
it can send neither the header `X-Tidegate` nor JSON without asking first, which is not granted. By a name of its own
that it lets point here (DNS rebinding) it would pass for us: so only our own names are answered to.
"""

from http import HTTPStatus

from wire.http.config import Access
from wire.http.messages import Request
from wire.http.problems import Problem

CHANGING_HEADER = "x-tidegate"


def check_host(request: Request, access: Access) -> None:
    """Refuse a caller that calls us by a name that is not ours."""
    host = request.headers.get("host")
    if access.hosts is None or host is None:
        return
    name = host_name(host)
    if name not in access.hosts:
        ours = " or ".join(sorted(access.hosts))
        raise Problem(
            HTTPStatus.MISDIRECTED_REQUEST, f"the header Host says {name!r}, which is not this broker: call it {ours}"
        )


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets, in lower case."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def is_json(kind: str) -> bool:
    """Whether a content type is one of JSON's, which no web page sends elsewhere without asking first."""
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def check_changing(request: Request) -> None:
    """Refuse a call that changes something and that a web page elsewhere could have sent."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.headers.get(CHANGING_HEADER) != "1" and not is_json(kind):
        raise Problem(
            HTTPStatus.FORBIDDEN,
            "a call that changes something needs the header 'X-Tidegate: 1' or the content type application/json",
        )
