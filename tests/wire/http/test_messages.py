"""What passes between the connection and the routes."""

from wire.http.messages import Request, Response


def test_a_request_needs_no_headers_and_no_body() -> None:
    request = Request("GET", "/health")
    assert (dict(request.headers), request.body) == ({}, b"")


def test_an_answer_is_json_unless_it_says_otherwise() -> None:
    assert Response(200).media_type == "application/json"
