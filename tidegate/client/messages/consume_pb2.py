"""The messages of tidegate/v1/consume.proto; written by tools/protos.py."""

from google.protobuf.message_factory import GetMessageClass

from tidegate.client.messages import records_pb2  # noqa: F401
from tidegate.client.messages.pool import POOL, declare

declare('tidegate/v1/consume.proto', b'\n\x19tidegate/v1/consume.proto\x12\x0btidegate.v1\x1a\x19tidegate/v1/records.proto"\x96\x02\n\x0bReadRequest\x12\x14\n\x05topic\x18\x01 \x01(\tR\x05topic\x12;\n\npartitions\x18\x02 \x03(\x0b2\x1b.tidegate.v1.PartitionStartR\npartitions\x12(\n\x05start\x18\x03 \x01(\x0b2\x12.tidegate.v1.StartR\x05start\x12\x1b\n\tuntil_end\x18\x04 \x01(\x08R\x08untilEnd\x12\x1f\n\x0bmax_records\x18\x05 \x01(\x03R\nmaxRecords\x12*\n\x11max_message_bytes\x18\x06 \x01(\x05R\x0fmaxMessageBytes\x12 \n\x0buncommitted\x18\x07 \x01(\x08R\x0buncommitted"X\n\x0ePartitionStart\x12\x1c\n\tpartition\x18\x01 \x01(\x05R\tpartition\x12(\n\x05start\x18\x02 \x01(\x0b2\x12.tidegate.v1.StartR\x05start"{\n\x05Start\x12\x18\n\x06offset\x18\x01 \x01(\x03H\x00R\x06offset\x12#\n\x0ctimestamp_ms\x18\x02 \x01(\x03H\x00R\x0btimestampMs\x12\'\n\x04edge\x18\x03 \x01(\x0e2\x11.tidegate.v1.EdgeH\x00R\x04edgeB\n\n\x08position"\xa4\x01\n\x0cGroupRequest\x12,\n\x04join\x18\x01 \x01(\x0b2\x16.tidegate.v1.GroupJoinH\x00R\x04join\x12\'\n\x04poll\x18\x02 \x01(\x0b2\x11.tidegate.v1.PollH\x00R\x04poll\x122\n\x06commit\x18\x03 \x01(\x0b2\x18.tidegate.v1.GroupCommitH\x00R\x06commitB\t\n\x07request"\xd8\x01\n\tGroupJoin\x12\x14\n\x05group\x18\x01 \x01(\tR\x05group\x12\x16\n\x06topics\x18\x02 \x03(\tR\x06topics\x12\'\n\x05reset\x18\x03 \x01(\x0e2\x11.tidegate.v1.EdgeR\x05reset\x12$\n\x0eauto_commit_ms\x18\x04 \x01(\x05R\x0cautoCommitMs\x12,\n\x12session_timeout_ms\x18\x05 \x01(\x05R\x10sessionTimeoutMs\x12 \n\x0buncommitted\x18\x06 \x01(\x08R\x0buncommitted"]\n\x04Poll\x12\x1f\n\x0bmax_records\x18\x01 \x01(\x05R\nmaxRecords\x12\x1b\n\tmax_bytes\x18\x02 \x01(\x05R\x08maxBytes\x12\x17\n\x07wait_ms\x18\x03 \x01(\x05R\x06waitMs"E\n\x0bGroupCommit\x126\n\x07offsets\x18\x01 \x03(\x0b2\x1c.tidegate.v1.PartitionOffsetR\x07offsets"\xbb\x01\n\rGroupResponse\x122\n\x06joined\x18\x01 \x01(\x0b2\x18.tidegate.v1.GroupJoinedH\x00R\x06joined\x12-\n\x06polled\x18\x02 \x01(\x0b2\x13.tidegate.v1.PolledH\x00R\x06polled\x12;\n\tcommitted\x18\x03 \x01(\x0b2\x1b.tidegate.v1.GroupCommittedH\x00R\tcommittedB\n\n\x08response"*\n\x0bGroupJoined\x12\x1b\n\tmember_id\x18\x01 \x01(\tR\x08memberId"\xb4\x01\n\x06Polled\x12\x1e\n\ngeneration\x18\x01 \x01(\x05R\ngeneration\x12=\n\npartitions\x18\x02 \x03(\x0b2\x1d.tidegate.v1.PartitionRecordsR\npartitions\x12<\n\nassignment\x18\x03 \x01(\x0b2\x17.tidegate.v1.AssignmentH\x00R\nassignment\x88\x01\x01B\r\n\x0b_assignment"I\n\nAssignment\x12;\n\npartitions\x18\x01 \x03(\x0b2\x1b.tidegate.v1.TopicPartitionR\npartitions"Q\n\x0eGroupCommitted\x123\n\x07refusal\x18\x01 \x01(\x0b2\x14.tidegate.v1.RefusalH\x00R\x07refusal\x88\x01\x01B\n\n\x08_refusal"\x9f\x01\n\x0cShareRequest\x12,\n\x04join\x18\x01 \x01(\x0b2\x16.tidegate.v1.ShareJoinH\x00R\x04join\x12\'\n\x04poll\x18\x02 \x01(\x0b2\x11.tidegate.v1.PollH\x00R\x04poll\x12-\n\x06settle\x18\x03 \x01(\x0b2\x13.tidegate.v1.SettleH\x00R\x06settleB\t\n\x07request"g\n\tShareJoin\x12\x14\n\x05group\x18\x01 \x01(\tR\x05group\x12\x16\n\x06topics\x18\x02 \x03(\tR\x06topics\x12,\n\x12session_timeout_ms\x18\x03 \x01(\x05R\x10sessionTimeoutMs"\xa2\x01\n\x06Settle\x12\x1a\n\x08receipts\x18\x01 \x03(\tR\x08receipts\x127\n\nsettlement\x18\x02 \x01(\x0e2\x17.tidegate.v1.SettlementR\nsettlement\x12\x1e\n\x08delay_ms\x18\x03 \x01(\x05H\x00R\x07delayMs\x88\x01\x01\x12\x16\n\x06number\x18\x04 \x01(\x03R\x06numberB\x0b\n\t_delay_ms"\xaa\x01\n\rShareResponse\x122\n\x06joined\x18\x01 \x01(\x0b2\x18.tidegate.v1.ShareJoinedH\x00R\x06joined\x12\'\n\x04lent\x18\x02 \x01(\x0b2\x11.tidegate.v1.LentH\x00R\x04lent\x120\n\x07settled\x18\x03 \x01(\x0b2\x14.tidegate.v1.SettledH\x00R\x07settledB\n\n\x08response"*\n\x0bShareJoined\x12\x1b\n\tmember_id\x18\x01 \x01(\tR\x08memberId"9\n\x04Lent\x121\n\x07records\x18\x01 \x03(\x0b2\x17.tidegate.v1.LentRecordR\x07records"\xc7\x01\n\nLentRecord\x12\x14\n\x05topic\x18\x01 \x01(\tR\x05topic\x12\x1c\n\tpartition\x18\x02 \x01(\x05R\tpartition\x12+\n\x06record\x18\x03 \x01(\x0b2\x13.tidegate.v1.RecordR\x06record\x12%\n\x0edelivery_count\x18\x04 \x01(\x05R\rdeliveryCount\x12\x18\n\x07receipt\x18\x05 \x01(\tR\x07receipt\x12\x17\n\x07lock_ms\x18\x06 \x01(\x05R\x06lockMs"X\n\x07Settled\x12\x16\n\x06number\x18\x01 \x01(\x03R\x06number\x125\n\x07refused\x18\x02 \x03(\x0b2\x1b.tidegate.v1.RefusedReceiptR\x07refused"Z\n\x0eRefusedReceipt\x12\x18\n\x07receipt\x18\x01 \x01(\tR\x07receipt\x12.\n\x07refusal\x18\x02 \x01(\x0b2\x14.tidegate.v1.RefusalR\x07refusal**\n\x04Edge\x12\x11\n\rEDGE_EARLIEST\x10\x00\x12\x0f\n\x0bEDGE_LATEST\x10\x01*b\n\nSettlement\x12\x12\n\x0eSETTLEMENT_ACK\x10\x00\x12\x13\n\x0fSETTLEMENT_NACK\x10\x01\x12\x15\n\x11SETTLEMENT_REJECT\x10\x02\x12\x14\n\x10SETTLEMENT_RENEW\x10\x032L\n\x07Consume\x12A\n\x04Read\x12\x18.tidegate.v1.ReadRequest\x1a\x1d.tidegate.v1.PartitionRecords0\x01b\x06proto3')
ReadRequest = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.ReadRequest"))
PartitionStart = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.PartitionStart"))
Start = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.Start"))
GroupRequest = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.GroupRequest"))
GroupJoin = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.GroupJoin"))
Poll = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.Poll"))
GroupCommit = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.GroupCommit"))
GroupResponse = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.GroupResponse"))
GroupJoined = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.GroupJoined"))
Polled = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.Polled"))
Assignment = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.Assignment"))
GroupCommitted = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.GroupCommitted"))
ShareRequest = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.ShareRequest"))
ShareJoin = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.ShareJoin"))
Settle = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.Settle"))
ShareResponse = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.ShareResponse"))
ShareJoined = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.ShareJoined"))
Lent = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.Lent"))
LentRecord = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.LentRecord"))
Settled = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.Settled"))
RefusedReceipt = GetMessageClass(POOL.FindMessageTypeByName("tidegate.v1.RefusedReceipt"))
EDGE_EARLIEST = 0
EDGE_LATEST = 1
SETTLEMENT_ACK = 0
SETTLEMENT_NACK = 1
SETTLEMENT_REJECT = 2
SETTLEMENT_RENEW = 3
