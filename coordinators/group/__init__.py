"""Consumer groups: who is a member of a group, which partitions each member reads, and how far the group has read.

`groups.py` is the way in: doors hand it requests (`requests.py`). Each request becomes an operation on the shard of its
group (`machine.py`), one per partition of `__consumer_offsets`. Groups of the classic protocol, in which a member
assigns, are in `classic/`; groups of the new one, in which the broker does, in `consumer/`. Committed offsets are the
same for both (`commits.py`, `offsets.py`).
"""
