"""The messages of grpc/health/v1/health.proto; written by tools/protos.py."""

from google.protobuf.message_factory import GetMessageClass

from wire.grpc.messages.pool import POOL, declare

declare('grpc/health/v1/health.proto', b'\n\x1bgrpc/health/v1/health.proto\x12\x0egrpc.health.v1".\n\x12HealthCheckRequest\x12\x18\n\x07service\x18\x01 \x01(\tR\x07service"\xb1\x01\n\x13HealthCheckResponse\x12I\n\x06status\x18\x01 \x01(\x0e21.grpc.health.v1.HealthCheckResponse.ServingStatusR\x06status"O\n\rServingStatus\x12\x0b\n\x07UNKNOWN\x10\x00\x12\x0b\n\x07SERVING\x10\x01\x12\x0f\n\x0bNOT_SERVING\x10\x02\x12\x13\n\x0fSERVICE_UNKNOWN\x10\x032\xae\x01\n\x06Health\x12P\n\x05Check\x12".grpc.health.v1.HealthCheckRequest\x1a#.grpc.health.v1.HealthCheckResponse\x12R\n\x05Watch\x12".grpc.health.v1.HealthCheckRequest\x1a#.grpc.health.v1.HealthCheckResponse0\x01b\x06proto3')
HealthCheckRequest = GetMessageClass(POOL.FindMessageTypeByName("grpc.health.v1.HealthCheckRequest"))
HealthCheckResponse = GetMessageClass(POOL.FindMessageTypeByName("grpc.health.v1.HealthCheckResponse"))
