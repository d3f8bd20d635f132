"""Kafka Streams applications, by the streams protocol and by the classic one."""
