"""The hash of object keys, as Iceberg computes it: 32 bits of MurmurHash3 with seed 0.

https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp, in the public domain
"""

from __future__ import annotations

from base64 import urlsafe_b64encode

_ALL = 0xFFFFFFFF
_BITS = 20


def murmur3_32(data: bytes) -> int:
    """Return the hash as a number without sign."""
    value, end = 0, len(data) & ~3
    for at in range(0, end, 4):
        value ^= _mixed(int.from_bytes(data[at : at + 4], "little"))
        value = (_rotated(value, 13) * 5 + 0xE6546B64) & _ALL
    value ^= _mixed(int.from_bytes(data[end:], "little")) ^ len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        value = ((value ^ value >> shift) * factor) & _ALL
    return value ^ value >> 16


def base2_directories(path: str) -> tuple[str, ...]:
    """Return the directories of a file in object storage since Iceberg 1.7.0: the last 20 bits of its hash.

    Args:
        path: `PARTITION PATH/FILE`, or the name of the file where the key has no partition path.
    """
    return in_directories(f"{murmur3_32(path.encode()):032b}"[-_BITS:])


def in_directories(bits: str) -> tuple[str, ...]:
    """Return bits, at most 20, as directories: `0101`, `0011`, `1010` and `00001111`."""
    return tuple(filter(None, (bits[:4], bits[4:8], bits[8:12], bits[12:])))


def base64_directory(path: str) -> str:
    """Return the directory of a file in object storage before Iceberg 1.7.0: its whole hash."""
    return urlsafe_b64encode(murmur3_32(path.encode()).to_bytes(4, "little")).decode().rstrip("=")


def _mixed(block: int) -> int:
    return _rotated(block * 0xCC9E2D51 & _ALL, 15) * 0x1B873593 & _ALL


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & _ALL
