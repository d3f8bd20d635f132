"""Calls and answers as nodes carry them to each other."""

from wire.http.carried import Answered, read_call, written_answer, written_call
from wire.http.messages import Request, Response


def test_a_call_arrives_without_what_says_who_calls() -> None:
    headers = {"content-type": "application/json", "authorization": "Bearer secret", "origin": "http://a", "host": "b"}
    data = written_call(Request("POST", "/groups/g/members/1-a/commit?x=y", headers, b"{}"))
    assert b"secret" not in data
    call = read_call(data)
    assert (call.method, call.target, call.body) == ("POST", "/groups/g/members/1-a/commit?x=y", b"{}")
    assert call.headers == {"content-type": "application/json"}
    assert call.is_carried


def test_an_answer_goes_out_as_it_is() -> None:
    answer = Response(409, b"{}", "application/problem+json", {"Retry-After": "1"})
    assert Answered(written_answer(answer)).response("/there") == answer
