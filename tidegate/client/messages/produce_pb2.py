"""The messages of tidegate/v1/produce.proto; written by tools/protos.py."""

from google.protobuf.message_factory import GetMessageClass

from tidegate.client.messages import records_pb2  # noqa: F401
from tidegate.client.messages.pool import POOL, declare

declare('tidegate/v1/produce.proto', b'\n\x19tidegate/v1/produce.proto\x12\x0btidegate.v1\x1a\x19tidegate/v1/records.proto"\xef\x01\n\x0bSendRequest\x12\x14\n\x05topic\x18\x01 \x01(\tR\x05topic\x120\n\x07records\x18\x02 \x03(\x0b2\x16.tidegate.v1.NewRecordR\x07records\x12%\n\x04acks\x18\x03 \x01(\x0e2\x11.tidegate.v1.AcksR\x04acks\x12:\n\x0bpartitioner\x18\x04 \x01(\x0e2\x18.tidegate.v1.PartitionerR\x0bpartitioner\x12\x1d\n\ntimeout_ms\x18\x05 \x01(\x05R\ttimeoutMs\x12\x16\n\x06number\x18\x06 \x01(\x03R\x06number"\xbb\x01\n\x0cSendResponse\x12\x16\n\x06number\x18\x01 \x01(\x03R\x06number\x12\x1e\n\npartitions\x18\x02 \x03(\x05R\npartitions\x12\x18\n\x07offsets\x18\x03 \x03(\x03R\x07offsets\x12#\n\rtimestamps_ms\x18\x04 \x03(\x03R\x0ctimestampsMs\x124\n\x07refused\x18\x05 \x03(\x0b2\x1a.tidegate.v1.RefusedRecordR\x07refused"U\n\rRefusedRecord\x12\x14\n\x05index\x18\x01 \x01(\x05R\x05index\x12.\n\x07refusal\x18\x02 \x01(\x0b2\x14.tidegate.v1.RefusalR\x07refusal*4\n\x04Acks\x12\x0c\n\x08ACKS_ALL\x10\x00\x12\x0f\n\x0bACKS_LEADER\x10\x01\x12\r\n\tACKS_NONE\x10\x02*s\n\x0bPartitioner\x12\x17\n\x13PARTITIONER_MURMUR2\x10\x00\x12\x17\n\x13PARTITIONER_MURMUR3\x10\x01\x12\x15\n\x11PARTITIONER_FNV1A\x10\x02\x12\x1b\n\x17PARTITIONER_ROUND_ROBIN\x10\x032\x8d\x01\n\x07Produce\x12;\n\x04Send\x12\x18.tidegate.v1.SendRequest\x1a\x19.tidegate.v1.SendResponse\x12E\n\nSendStream\x12\x18.tidegate.v1.SendRequest\x1a\x19.tidegate.v1.SendResponse(\x010\x01b\x06proto3')
SendRequest = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.SendRequest"))
SendResponse = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.SendResponse"))
RefusedRecord = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.RefusedRecord"))
ACKS_ALL = 0
ACKS_LEADER = 1
ACKS_NONE = 2
PARTITIONER_MURMUR2 = 0
PARTITIONER_MURMUR3 = 1
PARTITIONER_FNV1A = 2
PARTITIONER_ROUND_ROBIN = 3
