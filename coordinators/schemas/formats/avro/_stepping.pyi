from array import array

VERSION: int

def is_sound(program: array[int], payload: bytes, /) -> bool: ...
