"""Where the messages are declared: apart from others that a program may have loaded under the same names."""

from google.protobuf.descriptor_pool import DescriptorPool

POOL = DescriptorPool()
FILES: list[str] = []
"""What was declared, by the names of the proto files."""


def declare(name: str, serialized: bytes) -> None:
    """Add a proto file to the pool."""
    POOL.AddSerializedFile(serialized)
    FILES.append(name)
