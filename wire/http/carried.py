"""A call of the HTTP door, and its answer, as one node carries them to another for what lives there."""

from http import HTTPStatus

import msgspec

from wire.http.messages import Request, Response
from wire.http.problems import Problem

KEPT_HEADERS = ("accept", "content-type")


class CarriedCall(msgspec.Struct, array_like=True):
    """A request, as far as routes look at it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class CarriedAnswer(msgspec.Struct, array_like=True):
    """Its answer."""

    status: int
    body: bytes
    media_type: str
    headers: dict[str, str]


def written_call(request: Request) -> bytes:
    """As it is carried."""
    headers = {name: request.headers[name] for name in KEPT_HEADERS if name in request.headers}
    return msgspec.msgpack.encode(CarriedCall(request.method, request.target, headers, request.body))


def read_call(data: bytes) -> Request:
    """As it came."""
    call = msgspec.msgpack.decode(data, type=CarriedCall)
    return Request(call.method, call.target, call.headers, call.body, is_carried=True)


def written_answer(response: Response) -> bytes:
    """As it is carried back. What is written piece by piece does not live on one node."""
    assert response.write is None, "only what lives on a node is carried, and its answers are whole"
    answer = CarriedAnswer(response.status, response.body, response.media_type, dict(response.headers))
    return msgspec.msgpack.encode(answer)


class Answered(Problem):
    """Raised where another node has answered: its answer goes out as it is."""

    def __init__(self, data: bytes) -> None:
        self.answer = msgspec.msgpack.decode(data, type=CarriedAnswer)
        super().__init__(HTTPStatus(self.answer.status), "another node has answered")

    def response(self, instance: str = "") -> Response:  # noqa: ARG002 - it has its own
        """As it goes out."""
        return Response(self.answer.status, self.answer.body, self.answer.media_type, self.answer.headers)
