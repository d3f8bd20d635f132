"""Who may call at all: by the right name, and not from a web page that somebody else made.

A page in a browser on this machine can reach a loopback port. It cannot read answers (CORS headers are sent to pages
that `http.cors.allowed.origins` names), and what changes something is refused to pages of other origins; the header
`X-Tidegate` and JSON it cannot even send without asking first. By a name of its own that it lets point here (DNS
rebinding) it would pass for us: so only our own names are answered to.
"""

from http import HTTPStatus

from attrs import evolve

from wire.http.config import Access
from wire.http.messages import Request, Response
from wire.http.problems import Problem

CHANGING_HEADER = "x-tidegate"
BROWSER_HEADERS = ("origin", "sec-fetch-site", "sec-fetch-mode")
READ_ONLY = "this door only shows what there is: http.read.only=true"
FORM_TYPES = ("", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
"""What a page may send anywhere without asking first."""
GRANTED = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Accept, X-Tidegate, Last-Event-ID",
    "Access-Control-Max-Age": "600",
}


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


def is_from_a_page(request: Request) -> bool:
    """Whether a browser sends it for a web page: it says so by headers that a page cannot alter."""
    return any(name in request.headers for name in BROWSER_HEADERS)


def check_changing(request: Request, access: Access) -> None:
    """Refuse a call that changes something and that a web page elsewhere sends, or may send without asking first. A
    program that is no browser needs nothing. Where the door only shows, everybody is refused."""
    if access.read_only:
        raise Problem(HTTPStatus.FORBIDDEN, READ_ONLY)
    origin = request.headers.get("origin")
    if origin is not None and not _may_call(origin, request, access):
        raise Problem(
            HTTPStatus.FORBIDDEN,
            f"a web page of {origin} may not change anything here: http.cors.allowed.origins says whose may",
        )
    if not is_from_a_page(request) or CHANGING_HEADER in request.headers or request.content_type not in FORM_TYPES:
        return
    raise Problem(
        HTTPStatus.FORBIDDEN,
        "a call from a browser that changes something needs the content type application/json or the header "
        "'X-Tidegate: 1'",
    )


def _may_call(origin: str, request: Request, access: Access) -> bool:
    if _is_named(origin, access):
        return True
    host = request.headers.get("host")
    return host is not None and origin.partition("://")[2].lower() == host.strip().lower()


# -- pages of other origins that may call (CORS)


def is_preflight(request: Request) -> bool:
    """Whether a browser asks, before it sends what a page wants, if the page may."""
    return request.method == "OPTIONS" and "access-control-request-method" in request.headers


def preflight(request: Request, access: Access) -> Response:
    """The answer to that."""
    granted = GRANTED if _is_named(request.headers.get("origin", ""), access) else {}
    return shared(Response(HTTPStatus.NO_CONTENT.value, headers=granted), request, access)


def shared(response: Response, request: Request, access: Access) -> Response:
    """The answer, which a page of another origin may read where the configuration says so."""
    origin = request.headers.get("origin")
    if origin is None or not access.origins:
        return response
    headers = {**response.headers, "Vary": "Origin"}
    if _is_named(origin, access):
        headers |= {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": "Location, Retry-After"}
    return evolve(response, headers=headers)


def _is_named(origin: str, access: Access) -> bool:
    return "*" in access.origins or origin in access.origins
