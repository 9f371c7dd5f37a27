"""Start a program without access to the user's files and the network, on Linux. `sandbox` starts this module as a program.

Landlock (https://docs.kernel.org/userspace-api/landlock.html) restricts files, seccomp
(https://docs.kernel.org/userspace-api/seccomp_filter.html) the network: neither needs a privilege, a namespace or a program. A
network namespace would also separate the JVM from glacierbase, which connects to it. A missing mechanism is left out.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterable, Sequence
from stat import S_ISDIR

# Rights of Landlock on files; those from `_MAKE` on are for folders.
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_OF_ABI_2, _TRUNCATE = (1 << 14) - 1, 1 << 14
_ON_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE
# The calls' numbers are the same on every machine.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2

# Of seccomp: the machine's identity, and the numbers of socket, connect, sendto, sendmsg and sendmmsg.
_MACHINES = {"x86_64": (0xC000003E, 41, 42, 44, 46, 307), "aarch64": (0xC00000B7, 198, 203, 206, 211, 269)}
_IO_URING_SETUP = 425  # It makes calls that seccomp does not filter.
_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 13  # 13: EACCES
_OTHER_ABI = 0x40000000
_INET, _INET6, _STREAM, _FAST_OPEN = 2, 10, 1, 0x20000000

_libc = ctypes.CDLL(None, use_errno=True)
_Instruction = tuple[int, int, int, int]


def keep_files(readable: Iterable[str], writable: Iterable[str]) -> None:
    """Let this process and its children open these files and folders only. Needs Linux 5.19."""
    version = _libc.syscall(_CREATE_RULESET, None, 0, 1)
    if version < 2:  # Version 1 forbids moving files to another folder, which Spark does.
        return
    every = _OF_ABI_2 | (_TRUNCATE if version > 2 else 0)
    rules = _checked(_libc.syscall(_CREATE_RULESET, struct.pack("Q", every), 8, 0))
    for path in readable:
        _allow(rules, path, _EXECUTE | _READ | _LIST)
    for path in writable:
        _allow(rules, path, every & ~_EXECUTE)
    _checked(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _checked(_libc.syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH)
    except OSError:  # The path does not exist, or is not accessible anyway.
        return
    allowed = rights if S_ISDIR(os.fstat(place).st_mode) else rights & _ON_FILES
    _checked(_libc.syscall(_ADD_RULE, rules, 1, struct.pack("=Qi", allowed, place), 0))
    os.close(place)


def keep_network() -> None:
    """Let this process and its children accept connections, but open none."""
    if platform.machine() not in _MACHINES:
        return
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in _filter(*_MACHINES[platform.machine()]))
    content = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(content))
    _checked(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    if _libc.prctl(_SECCOMP, _FILTER, header, 0, 0) and ctypes.get_errno() != errno.EINVAL:  # A kernel without it.
        _checked(-1)


def _filter(machine: int, socket: int, connect: int, *sends: int) -> list[_Instruction]:
    """Return the filter: only TCP sockets, which cannot connect, nor send before they are connected."""
    program = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, machine), _returns(_REFUSE)]
    program += [(_LOAD, 0, 0, 0), (_AT_LEAST, 0, 1, _OTHER_ABI), _returns(_REFUSE)]
    for call in (connect, _IO_URING_SETUP):
        program += _of(call, [_returns(_REFUSE)])
    program += _of(socket, [
        _argument(0), (_EQUAL, 1, 0, _INET), (_EQUAL, 0, 4, _INET6),
        _argument(1), (_AND, 0, 0, 0xF), (_EQUAL, 0, 1, _STREAM), _returns(_ALLOW), _returns(_REFUSE),
    ])  # fmt: skip
    for call, flags in zip(sends, (3, 2, 3), strict=True):
        program += _of(call, [_argument(flags), (_ANY_BIT, 0, 1, _FAST_OPEN), _returns(_REFUSE), _returns(_ALLOW)])
    return [*program, _returns(_ALLOW)]


def _of(call: int, body: Sequence[_Instruction]) -> list[_Instruction]:
    return [(_EQUAL, 0, len(body), call), *body]


def _argument(index: int) -> _Instruction:
    return _LOAD, 0, 0, 16 + 8 * index


def _returns(answer: int) -> _Instruction:
    return _RETURN, 0, 0, answer


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


def main(arguments: Sequence[str]) -> None:
    """Confine this process, and become the program: `readable… -- writable… -- program…`."""
    first = arguments.index("--")
    second = arguments.index("--", first + 1)
    keep_files(arguments[:first], arguments[first + 1 : second])
    keep_network()
    program = list(arguments[second + 1 :])
    os.execv(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1:])
