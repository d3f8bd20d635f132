"""Real Apache Kafka, started on this machine: what Tidegate is compared with.

`broker.reference_kafka()` starts a single-node broker, `java.java_tool()` runs one of Kafka's command-line
tools; `python -m tools.reference.install` fetches the jars that both need.
"""
