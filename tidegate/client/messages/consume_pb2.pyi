from tidegate.client.messages import records_pb2 as _records_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Edge(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EDGE_EARLIEST: _ClassVar[Edge]
    EDGE_LATEST: _ClassVar[Edge]

class Settlement(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SETTLEMENT_ACK: _ClassVar[Settlement]
    SETTLEMENT_NACK: _ClassVar[Settlement]
    SETTLEMENT_REJECT: _ClassVar[Settlement]
    SETTLEMENT_RENEW: _ClassVar[Settlement]
EDGE_EARLIEST: Edge
EDGE_LATEST: Edge
SETTLEMENT_ACK: Settlement
SETTLEMENT_NACK: Settlement
SETTLEMENT_REJECT: Settlement
SETTLEMENT_RENEW: Settlement

class ReadRequest(_message.Message):
    __slots__ = ("topic", "partitions", "start", "until_end", "max_records", "max_message_bytes", "uncommitted")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    UNTIL_END_FIELD_NUMBER: _ClassVar[int]
    MAX_RECORDS_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    UNCOMMITTED_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partitions: _containers.RepeatedCompositeFieldContainer[PartitionStart]
    start: Start
    until_end: bool
    max_records: int
    max_message_bytes: int
    uncommitted: bool
    def __init__(self, topic: _Optional[str] = ..., partitions: _Optional[_Iterable[_Union[PartitionStart, _Mapping[str, object]]]] = ..., start: _Optional[_Union[Start, _Mapping[str, object]]] = ..., until_end: _Optional[bool] = ..., max_records: _Optional[int] = ..., max_message_bytes: _Optional[int] = ..., uncommitted: _Optional[bool] = ...) -> None: ...

class PartitionStart(_message.Message):
    __slots__ = ("partition", "start")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    partition: int
    start: Start
    def __init__(self, partition: _Optional[int] = ..., start: _Optional[_Union[Start, _Mapping[str, object]]] = ...) -> None: ...

class Start(_message.Message):
    __slots__ = ("offset", "timestamp_ms", "edge")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_MS_FIELD_NUMBER: _ClassVar[int]
    EDGE_FIELD_NUMBER: _ClassVar[int]
    offset: int
    timestamp_ms: int
    edge: Edge
    def __init__(self, offset: _Optional[int] = ..., timestamp_ms: _Optional[int] = ..., edge: _Optional[_Union[Edge, str]] = ...) -> None: ...

class GroupRequest(_message.Message):
    __slots__ = ("join", "poll", "commit")
    JOIN_FIELD_NUMBER: _ClassVar[int]
    POLL_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    join: GroupJoin
    poll: Poll
    commit: GroupCommit
    def __init__(self, join: _Optional[_Union[GroupJoin, _Mapping[str, object]]] = ..., poll: _Optional[_Union[Poll, _Mapping[str, object]]] = ..., commit: _Optional[_Union[GroupCommit, _Mapping[str, object]]] = ...) -> None: ...

class GroupJoin(_message.Message):
    __slots__ = ("group", "topics", "reset", "auto_commit_ms", "session_timeout_ms", "uncommitted")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    AUTO_COMMIT_MS_FIELD_NUMBER: _ClassVar[int]
    SESSION_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    UNCOMMITTED_FIELD_NUMBER: _ClassVar[int]
    group: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    reset: Edge
    auto_commit_ms: int
    session_timeout_ms: int
    uncommitted: bool
    def __init__(self, group: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ..., reset: _Optional[_Union[Edge, str]] = ..., auto_commit_ms: _Optional[int] = ..., session_timeout_ms: _Optional[int] = ..., uncommitted: _Optional[bool] = ...) -> None: ...

class Poll(_message.Message):
    __slots__ = ("max_records", "max_bytes", "wait_ms")
    MAX_RECORDS_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    max_records: int
    max_bytes: int
    wait_ms: int
    def __init__(self, max_records: _Optional[int] = ..., max_bytes: _Optional[int] = ..., wait_ms: _Optional[int] = ...) -> None: ...

class GroupCommit(_message.Message):
    __slots__ = ("offsets",)
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    offsets: _containers.RepeatedCompositeFieldContainer[_records_pb2.PartitionOffset]
    def __init__(self, offsets: _Optional[_Iterable[_Union[_records_pb2.PartitionOffset, _Mapping[str, object]]]] = ...) -> None: ...

class GroupResponse(_message.Message):
    __slots__ = ("joined", "polled", "committed")
    JOINED_FIELD_NUMBER: _ClassVar[int]
    POLLED_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    joined: GroupJoined
    polled: Polled
    committed: GroupCommitted
    def __init__(self, joined: _Optional[_Union[GroupJoined, _Mapping[str, object]]] = ..., polled: _Optional[_Union[Polled, _Mapping[str, object]]] = ..., committed: _Optional[_Union[GroupCommitted, _Mapping[str, object]]] = ...) -> None: ...

class GroupJoined(_message.Message):
    __slots__ = ("member_id",)
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    member_id: str
    def __init__(self, member_id: _Optional[str] = ...) -> None: ...

class Polled(_message.Message):
    __slots__ = ("generation", "partitions", "assignment")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
    generation: int
    partitions: _containers.RepeatedCompositeFieldContainer[_records_pb2.PartitionRecords]
    assignment: Assignment
    def __init__(self, generation: _Optional[int] = ..., partitions: _Optional[_Iterable[_Union[_records_pb2.PartitionRecords, _Mapping[str, object]]]] = ..., assignment: _Optional[_Union[Assignment, _Mapping[str, object]]] = ...) -> None: ...

class Assignment(_message.Message):
    __slots__ = ("partitions",)
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[_records_pb2.TopicPartition]
    def __init__(self, partitions: _Optional[_Iterable[_Union[_records_pb2.TopicPartition, _Mapping[str, object]]]] = ...) -> None: ...

class GroupCommitted(_message.Message):
    __slots__ = ("refusal",)
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    refusal: _records_pb2.Refusal
    def __init__(self, refusal: _Optional[_Union[_records_pb2.Refusal, _Mapping[str, object]]] = ...) -> None: ...

class ShareRequest(_message.Message):
    __slots__ = ("join", "poll", "settle")
    JOIN_FIELD_NUMBER: _ClassVar[int]
    POLL_FIELD_NUMBER: _ClassVar[int]
    SETTLE_FIELD_NUMBER: _ClassVar[int]
    join: ShareJoin
    poll: Poll
    settle: Settle
    def __init__(self, join: _Optional[_Union[ShareJoin, _Mapping[str, object]]] = ..., poll: _Optional[_Union[Poll, _Mapping[str, object]]] = ..., settle: _Optional[_Union[Settle, _Mapping[str, object]]] = ...) -> None: ...

class ShareJoin(_message.Message):
    __slots__ = ("group", "topics", "session_timeout_ms")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    SESSION_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    group: str
    topics: _containers.RepeatedScalarFieldContainer[str]
    session_timeout_ms: int
    def __init__(self, group: _Optional[str] = ..., topics: _Optional[_Iterable[str]] = ..., session_timeout_ms: _Optional[int] = ...) -> None: ...

class Settle(_message.Message):
    __slots__ = ("receipts", "settlement", "delay_ms", "number")
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    SETTLEMENT_FIELD_NUMBER: _ClassVar[int]
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    receipts: _containers.RepeatedScalarFieldContainer[str]
    settlement: Settlement
    delay_ms: int
    number: int
    def __init__(self, receipts: _Optional[_Iterable[str]] = ..., settlement: _Optional[_Union[Settlement, str]] = ..., delay_ms: _Optional[int] = ..., number: _Optional[int] = ...) -> None: ...

class ShareResponse(_message.Message):
    __slots__ = ("joined", "lent", "settled")
    JOINED_FIELD_NUMBER: _ClassVar[int]
    LENT_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    joined: ShareJoined
    lent: Lent
    settled: Settled
    def __init__(self, joined: _Optional[_Union[ShareJoined, _Mapping[str, object]]] = ..., lent: _Optional[_Union[Lent, _Mapping[str, object]]] = ..., settled: _Optional[_Union[Settled, _Mapping[str, object]]] = ...) -> None: ...

class ShareJoined(_message.Message):
    __slots__ = ("member_id",)
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    member_id: str
    def __init__(self, member_id: _Optional[str] = ...) -> None: ...

class Lent(_message.Message):
    __slots__ = ("records",)
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[LentRecord]
    def __init__(self, records: _Optional[_Iterable[_Union[LentRecord, _Mapping[str, object]]]] = ...) -> None: ...

class LentRecord(_message.Message):
    __slots__ = ("topic", "partition", "record", "delivery_count", "receipt", "lock_ms")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_COUNT_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    LOCK_MS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    record: _records_pb2.Record
    delivery_count: int
    receipt: str
    lock_ms: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., record: _Optional[_Union[_records_pb2.Record, _Mapping[str, object]]] = ..., delivery_count: _Optional[int] = ..., receipt: _Optional[str] = ..., lock_ms: _Optional[int] = ...) -> None: ...

class Settled(_message.Message):
    __slots__ = ("number", "refused")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    number: int
    refused: _containers.RepeatedCompositeFieldContainer[RefusedReceipt]
    def __init__(self, number: _Optional[int] = ..., refused: _Optional[_Iterable[_Union[RefusedReceipt, _Mapping[str, object]]]] = ...) -> None: ...

class RefusedReceipt(_message.Message):
    __slots__ = ("receipt", "refusal")
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    receipt: str
    refusal: _records_pb2.Refusal
    def __init__(self, receipt: _Optional[str] = ..., refusal: _Optional[_Union[_records_pb2.Refusal, _Mapping[str, object]]] = ...) -> None: ...
