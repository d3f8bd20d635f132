from wire.grpc.messages import records_pb2 as _records_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Acks(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACKS_ALL: _ClassVar[Acks]
    ACKS_LEADER: _ClassVar[Acks]
    ACKS_NONE: _ClassVar[Acks]

class Partitioner(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PARTITIONER_MURMUR2: _ClassVar[Partitioner]
    PARTITIONER_MURMUR3: _ClassVar[Partitioner]
    PARTITIONER_FNV1A: _ClassVar[Partitioner]
    PARTITIONER_ROUND_ROBIN: _ClassVar[Partitioner]
ACKS_ALL: Acks
ACKS_LEADER: Acks
ACKS_NONE: Acks
PARTITIONER_MURMUR2: Partitioner
PARTITIONER_MURMUR3: Partitioner
PARTITIONER_FNV1A: Partitioner
PARTITIONER_ROUND_ROBIN: Partitioner

class SendRequest(_message.Message):
    __slots__ = ("topic", "records", "acks", "partitioner", "timeout_ms", "number")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    ACKS_FIELD_NUMBER: _ClassVar[int]
    PARTITIONER_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    topic: str
    records: _containers.RepeatedCompositeFieldContainer[_records_pb2.NewRecord]
    acks: Acks
    partitioner: Partitioner
    timeout_ms: int
    number: int
    def __init__(self, topic: _Optional[str] = ..., records: _Optional[_Iterable[_Union[_records_pb2.NewRecord, _Mapping[str, object]]]] = ..., acks: _Optional[_Union[Acks, str]] = ..., partitioner: _Optional[_Union[Partitioner, str]] = ..., timeout_ms: _Optional[int] = ..., number: _Optional[int] = ...) -> None: ...

class SendResponse(_message.Message):
    __slots__ = ("number", "partitions", "offsets", "timestamps_ms", "refused")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMPS_MS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    number: int
    partitions: _containers.RepeatedScalarFieldContainer[int]
    offsets: _containers.RepeatedScalarFieldContainer[int]
    timestamps_ms: _containers.RepeatedScalarFieldContainer[int]
    refused: _containers.RepeatedCompositeFieldContainer[RefusedRecord]
    def __init__(self, number: _Optional[int] = ..., partitions: _Optional[_Iterable[int]] = ..., offsets: _Optional[_Iterable[int]] = ..., timestamps_ms: _Optional[_Iterable[int]] = ..., refused: _Optional[_Iterable[_Union[RefusedRecord, _Mapping[str, object]]]] = ...) -> None: ...

class RefusedRecord(_message.Message):
    __slots__ = ("index", "refusal")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    index: int
    refusal: _records_pb2.Refusal
    def __init__(self, index: _Optional[int] = ..., refusal: _Optional[_Union[_records_pb2.Refusal, _Mapping[str, object]]] = ...) -> None: ...
