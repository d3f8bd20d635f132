"""HTTP/2 and gRPC as grpcio speaks them: TLS, logins, deadlines, packing, health, reflection, goodbye."""

import base64
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from compat_tests.grpc.stubs import PATIENCE_S, Stubs, stubs
from compat_tests.security.certificates import Certificates
from tidegate.client.messages import admin_pb2, consume_pb2, produce_pb2
from tidegate.client.messages.records_pb2 import NewRecord
from tidegate.testing import RunningBroker, broker
from wire.grpc.messages import health_v1_pb2, reflection_v1_pb2, reflection_v1alpha_pb2

TOKEN = "a-token-for-tests"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(Path(tmp_path_factory.mktemp("certificates")))


@pytest.fixture(scope="module")
def secured(certificates: Certificates) -> Iterator[RunningBroker]:
    config = {
        "grpc.port": "-1",
        "grpc.security.protocol": "SSL",
        "grpc.token": TOKEN,
        "listener.name.grpc.ssl.keystore.location": str(certificates.server),
        "listener.name.grpc.ssl.truststore.location": str(certificates.authority),
        "listener.name.grpc.ssl.client.auth": "requested",
        "authorizer.enable": "true",
        "super.users": "User:operator",
        "allow.everyone.if.no.acl.found": "false",
    }
    with broker(config) as running:
        yield running


def trusting(certificates: Certificates, *client: Path) -> grpc.ChannelCredentials:
    chain, key = client if client else (None, None)
    return grpc.ssl_channel_credentials(
        certificates.authority.read_bytes(),
        key.read_bytes() if key else None,
        chain.read_bytes() if chain else None,
    )


def listed(door: Stubs, **options: object) -> list[str]:
    found = door.admin("ListTopics", admin_pb2.ListTopicsRequest(), admin_pb2.ListTopicsResponse, **options)
    return [topic.name for topic in found.topics]


def test_callers_over_tls_are_known_by_token_and_by_certificate(
    secured: RunningBroker, certificates: Certificates
) -> None:
    bearer = {"metadata": (("authorization", f"Bearer {TOKEN}"),)}
    with stubs(secured.grpc_address, trusting(certificates)) as door:
        with pytest.raises(grpc.RpcError) as refused:
            listed(door)
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        request = admin_pb2.CreateTopicRequest(topic="secret")
        door.admin("CreateTopic", request, admin_pb2.CreateTopicResponse, **bearer)
        assert listed(door, **bearer) == ["secret"]
        wrong = base64.b64encode(b"operator:wrong").decode()
        with pytest.raises(grpc.RpcError) as refused:
            listed(door, metadata=(("authorization", f"Basic {wrong}"),))
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
    with stubs(secured.grpc_address, trusting(certificates, *certificates.client("alice"))) as door:
        assert listed(door) == [], "alice is known, and may know of nothing"
        with pytest.raises(grpc.RpcError) as refused:
            door.write("secret", NewRecord(value=b"x"))
        assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED


def test_health_is_open_and_reflection_is_not(secured: RunningBroker, certificates: Certificates) -> None:
    with stubs(secured.grpc_address, trusting(certificates)) as door:
        check = door.channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=lambda each: each.SerializeToString(),
            response_deserializer=health_v1_pb2.HealthCheckResponse.FromString,
        )
        assert check(health_v1_pb2.HealthCheckRequest(), timeout=PATIENCE_S).status == 1
        with pytest.raises(grpc.RpcError) as refused:
            reflected(door, "v1", list_services="")
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED


def reflected(door: Stubs, version: str, **question: str):  # type: ignore[no-untyped-def]
    module = {"v1": reflection_v1_pb2, "v1alpha": reflection_v1alpha_pb2}[version]
    ask = door.channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=lambda each: each.SerializeToString(),
        response_deserializer=module.ServerReflectionResponse.FromString,
    )
    (answer,) = ask(iter([module.ServerReflectionRequest(**question)]), timeout=PATIENCE_S)
    return answer


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection_tells_every_service_with_its_files(door: Stubs, version: str) -> None:
    names = [each.name for each in reflected(door, version, list_services="").list_services_response.service]
    assert {"tidegate.v1.Produce", "tidegate.v1.Consume", "tidegate.v1.Admin", "grpc.health.v1.Health"} <= set(names)
    for symbol in (*names, "tidegate.v1.Produce.Send", "tidegate.v1.NewRecord"):
        files = reflected(door, version, file_containing_symbol=symbol).file_descriptor_response.file_descriptor_proto
        assert files, symbol
    assert reflected(door, version, file_by_filename="none.proto").error_response.error_code == 5


def test_every_method_that_reflection_tells_of_is_served(door: Stubs) -> None:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    for proto in ("produce", "consume", "admin"):
        answer = reflected(door, "v1", file_by_filename=f"tidegate/v1/{proto}.proto")
        described = FileDescriptorProto.FromString(answer.file_descriptor_response.file_descriptor_proto[0])
        for service in described.service:
            for method in service.method:
                call = door.channel.stream_stream(f"/tidegate.v1.{service.name}/{method.name}")(
                    iter([b""]), timeout=2.0
                )
                assert call.code() is not grpc.StatusCode.UNIMPLEMENTED, method.name


def test_deadlines_and_cancelling_are_heeded(door: Stubs, topic_name: str) -> None:
    door.create_topic(topic_name)
    began = time.monotonic()
    with pytest.raises(grpc.RpcError) as refused:
        list(door.read(consume_pb2.ReadRequest(topic=topic_name), timeout=0.3))
    assert refused.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert time.monotonic() - began < 30
    call = door.read(consume_pb2.ReadRequest(topic=topic_name), timeout=PATIENCE_S)
    threading.Timer(0.2, call.cancel).start()
    with pytest.raises(grpc.RpcError) as refused:
        list(call)
    assert refused.value.code() is grpc.StatusCode.CANCELLED
    assert door.write(topic_name, NewRecord(value=b"x")).offsets == [0]


def test_packed_messages_are_taken_and_unknown_packing_is_refused(door: Stubs, topic_name: str) -> None:
    door.create_topic(topic_name)
    values = [b"%d" % number * 1000 for number in range(200)]
    door.write(topic_name, *(NewRecord(value=value) for value in values), compression=grpc.Compression.Gzip)
    assert [record.value for record in door.read_all(topic_name)] == values
    with pytest.raises(grpc.RpcError) as refused:
        door.write(topic_name, NewRecord(value=b"x" * 1000), compression=grpc.Compression.Deflate)
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_message_that_is_too_large_is_refused_and_the_connection_goes_on(door: Stubs, topic_name: str) -> None:
    door.create_topic(topic_name)
    with pytest.raises(grpc.RpcError) as refused:
        door.write(topic_name, NewRecord(value=bytes(5_000_000)))
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "grpc.max.message.bytes" in (refused.value.details() or "")
    with pytest.raises(grpc.RpcError) as refused:
        door.send(produce_pb2.SendRequest(topic=topic_name, records=[NewRecord()] * 10_001), timeout=PATIENCE_S)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert door.write(topic_name, NewRecord(value=bytes(900_000))).offsets == [0]


def test_a_broker_that_stops_says_so() -> None:
    with broker({"grpc.port": "-1"}) as running, stubs(running.grpc_address) as door:
        door.create_topic("t")
        call = door.read(consume_pb2.ReadRequest(topic="t"), timeout=PATIENCE_S)
        door.write("t", NewRecord(value=b"x"))
        assert len(next(call).records) == 1
        running.ask_to_stop()
        with pytest.raises(grpc.RpcError) as ended:
            list(call)
        assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
        assert "the broker stops" in (ended.value.details() or "")
        running.wait_until_stopped()
        running.start()
