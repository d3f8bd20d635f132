"""`grpc.reflection`, v1 and v1alpha: what can be called here, for tools that have no proto files.

The two differ in the name of their package alone; tools of before 2023 know only the older.
"""

from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.message import Message

from wire.grpc.calls import GrpcCall
from wire.grpc.declared import file_named, file_of_symbol, service_names, with_imports
from wire.grpc.messages import reflection_v1_pb2, reflection_v1alpha_pb2
from wire.grpc.methods import GrpcMethod
from wire.grpc.status import Status

NO_EXTENSIONS = "there are no extensions here"


def _serving(response_class: type[Message]) -> Callable[[GrpcCall[Any]], Any]:
    async def serve(call: GrpcCall[Any]) -> None:
        """One answer to each question, in order."""
        while (request := await call.receive()) is not None:
            response: Any = response_class(valid_host=request.host, original_request=request)
            _answer(request, response)
            await call.send(response)

    return serve


def _answer(request: Any, response: Any) -> None:
    question = request.WhichOneof("message_request")
    if question == "list_services":
        for name in sorted(service_names()):
            response.list_services_response.service.add(name=name)
    elif question == "file_by_filename":
        _describe(response, file_named(request.file_by_filename), request.file_by_filename)
    elif question == "file_containing_symbol":
        _describe(response, file_of_symbol(request.file_containing_symbol), request.file_containing_symbol)
    elif question == "all_extension_numbers_of_type":
        name = request.all_extension_numbers_of_type
        if file_of_symbol(name) is None:
            _refuse(response, Status.NOT_FOUND, f"{name} is not declared here")
        else:
            response.all_extension_numbers_response.base_type_name = name
    elif question == "file_containing_extension":
        _refuse(response, Status.NOT_FOUND, NO_EXTENSIONS)
    else:
        _refuse(response, Status.INVALID_ARGUMENT, "the question is empty")


def _describe(response: Any, file: FileDescriptor | None, asked: str) -> None:
    if file is None:
        _refuse(response, Status.NOT_FOUND, f"{asked} is not declared here")
        return
    response.file_descriptor_response.file_descriptor_proto.extend(each.serialized_pb for each in with_imports(file))


def _refuse(response: Any, status: Status, message: str) -> None:
    response.error_response.error_code = int(status)
    response.error_response.error_message = message


METHODS = tuple(
    GrpcMethod(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        module.ServerReflectionRequest,
        _serving(module.ServerReflectionResponse),
        needs_readiness=False,
    )
    for version, module in (("v1", reflection_v1_pb2), ("v1alpha", reflection_v1alpha_pb2))
)
