"""On which kind of file system the data lies: short ways to the disk are taken only where they are known to lead there.

Syncing a file by its descriptor is what every file system has to get right. The journal's writes (`O_DIRECT` and
`O_DSYNC`, handed in by `io_submit`) and `syncfs` are not: a FUSE server is sent no FSYNC for either (Linux 6.18), so
that what was acknowledged is gone with the power unless the server is careful by itself. Network file systems have
caches of their own. ADR 0018 tells which are known, and why.
"""

import ctypes
import os

from attrs import frozen

EXT4 = 0xEF53
XFS = 0x58465342
BTRFS = 0x9123683E
TMPFS = 0x01021994
FUSE = 0x65735546
OVERLAYFS = 0x794C7630

KNOWN = {EXT4: "ext4", XFS: "XFS", BTRFS: "btrfs", TMPFS: "tmpfs"}
OTHERS = {
    FUSE: "FUSE or virtiofs",
    OVERLAYFS: "overlayfs",
    0x6969: "NFS",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB",
    0x01021997: "9p",
    0x00C36400: "Ceph",
    0x2FC12FC1: "ZFS",
    0xF2F52010: "F2FS",
}
_STATFS_BYTES = 512
"""More than any system's `struct statfs` takes. It begins with the type, a long."""


@frozen
class FileSystemKind:
    """A file system's name, for people, and whether it is known to keep what the short ways write."""

    name: str
    is_known: bool


def kind_of(number: int | None) -> FileSystemKind:
    """The kind by the number that the kernel gives it."""
    if number is None:
        return FileSystemKind("a file system that the system does not name", False)
    if number in KNOWN:
        return FileSystemKind(KNOWN[number], True)
    return FileSystemKind(OTHERS.get(number, f"a file system of type 0x{number:x}"), False)


def file_system_number(path: str) -> int | None:
    """The kernel's number of the file system that a path is on; None where it cannot tell."""
    try:
        statfs = ctypes.CDLL(None, use_errno=True).statfs
    except AttributeError:
        return None
    content = ctypes.create_string_buffer(_STATFS_BYTES)
    if statfs(os.fsencode(path), content) != 0:
        return None
    return ctypes.c_ulong.from_buffer(content).value & 0xFFFFFFFF


def file_system_kind(*paths: str) -> FileSystemKind:
    """The kind of all of these that exist; where they differ, one that is not known."""
    present = [path for path in paths if os.path.exists(path)]
    kinds = {kind_of(file_system_number(path)) for path in present}
    devices = {os.stat(path).st_dev for path in present}
    if len(kinds) == 1 and len(devices) == 1:
        return kinds.pop()
    return FileSystemKind(" and ".join(sorted(kind.name for kind in kinds)) or "nothing", False)
