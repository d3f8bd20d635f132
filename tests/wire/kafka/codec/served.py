"""Every API and version that the broker serves, for tests that go through all of them."""

from tools.generate_messages import DIRECTIONS
from wire.kafka.codec.schema import Direction

SERVED: dict[int, tuple[int, int]] = {
    0: (3, 13),
    1: (4, 18),
    2: (1, 11),
    3: (0, 13),
    8: (2, 10),
    9: (1, 10),
    10: (0, 6),
    11: (0, 9),
    12: (0, 4),
    13: (0, 5),
    14: (0, 5),
    15: (0, 6),
    16: (0, 5),
    17: (0, 1),
    18: (0, 4),
    19: (2, 7),
    20: (1, 6),
    21: (0, 2),
    22: (0, 5),
    23: (2, 4),
    24: (0, 5),
    25: (0, 4),
    26: (0, 5),
    27: (1, 2),
    28: (0, 5),
    32: (1, 4),
    33: (0, 2),
    34: (1, 2),
    35: (1, 4),
    36: (0, 2),
    37: (0, 3),
    42: (0, 2),
    44: (0, 1),
    47: (0, 0),
    58: (0, 0),
    60: (0, 2),
    61: (0, 0),
    65: (0, 0),
    66: (0, 2),
    68: (0, 1),
    69: (0, 1),
    75: (0, 0),
    83: (0, 0),
    84: (0, 0),
    85: (0, 1),
    86: (0, 0),
    87: (0, 1),
}
CASES: list[tuple[int, int, Direction]] = [
    (key, version, direction)
    for key, (first, last) in SERVED.items()
    for version in range(first, last + 1)
    for direction in DIRECTIONS
]
LATEST: list[tuple[int, int, Direction]] = [
    (key, last, direction) for key, (_, last) in SERVED.items() for direction in DIRECTIONS
]
