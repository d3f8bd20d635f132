"""The kinds of content that the registry takes and gives."""

from http import HTTPStatus

from wire.http.messages import Request
from wire.http.problems import Problem

DEFAULT = "application/vnd.schemaregistry.v1+json"
GIVEN = (DEFAULT, "application/vnd.schemaregistry+json", "application/json")
TAKEN = (*GIVEN, "application/octet-stream")
MOST_ALTERNATIVES = 32


def check_content_type(request: Request) -> None:
    """Refuse a body of another kind. One that does not say its kind is taken for JSON, unless it comes from a web page:
    a page elsewhere could send that without asking first."""
    said = request.headers.get("content-type")
    if said is None:
        if "origin" in request.headers:
            raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body needs a Content-Type: {DEFAULT}")
        return
    if _plain(said) not in TAKEN:
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a body of type {' or '.join(TAKEN)} is taken, not {said}")


def chosen(request: Request) -> str:
    """The kind that the caller likes best; a problem if none of ours will do."""
    said = request.headers.get("accept")
    if said is None or not said.strip():
        return DEFAULT
    for wanted in _by_preference(said):
        for each in GIVEN:
            if wanted in ("*/*", "application/*", each):
                return each
    raise Problem(HTTPStatus.NOT_ACCEPTABLE, f"answers are of type {' or '.join(GIVEN)}, not {said}")


def _by_preference(said: str) -> list[str]:
    found = []
    for place, alternative in enumerate(said.split(",")[:MOST_ALTERNATIVES]):
        kind, *parameters = alternative.split(";")
        quality = _quality(parameters)
        if quality > 0:
            found.append((-quality, place, kind.strip().lower()))
    return [kind for _, _, kind in sorted(found)]


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.strip().partition("=")
        if name.lower() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def _plain(said: str) -> str:
    return said.partition(";")[0].strip().lower()
