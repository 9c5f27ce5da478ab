"""No function of the drop-in libamdhip64 ends the program that gives it null pointers and zeros, or handles and sizes
that mean nothing.
"""

import ctypes
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from strata.cli.hip_run import library

TABLE = Path(__file__).resolve().parents[3] / "hip" / "api" / "exports.def"
ROW = re.compile(r"^EXPORT\( *\w+, *\w+, *([^,]+), *(\w+), \((.*)\) \)$", re.MULTILINE)
STRUCTURES = {"Dim3": 3 * 4, "PitchedPointer": 32, "Extent": 24, "IpcHandle": 64}
SMALL = {
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "uint32_t": ctypes.c_uint32,
    "float": ctypes.c_float,
    "size_t": ctypes.c_size_t,
    "unsigned char": ctypes.c_ubyte,
    "unsigned short": ctypes.c_ushort,
    "uint16_t": ctypes.c_uint16,
    "uint64_t": ctypes.c_uint64,
    "int64_t": ctypes.c_int64,
    "uintptr_t": ctypes.c_size_t,
    "unsigned long long": ctypes.c_ulonglong,
}
# Functions that clang's own code calls, with what it made, and those that take references.
OF_COMPILERS = re.compile(r"__hip(Register|PopCall)|_ZN8hip_impl")


# Those that succeed with zeros, null pointers, no handles and the largest sizes. They take no such argument, or AMD's
# library too does nothing and reports success. Examples are frees of nothing, fills of an empty box, and queries of an
# array whose answer goes nowhere.
SUCCEED = set(
    """
hipInit hipSetDevice hipDeviceSynchronize hipDeviceReset hipSetDeviceFlags hipDeviceGetStreamPriorityRange
hipDeviceSetCacheConfig hipDeviceSetSharedMemConfig hipGetLastError hipPeekAtLastError hipExtGetLastError hipFree
hipHostFree hipFreeHost hipMemGetInfo hipMemset3D hipMemset3DAsync __hipPushCallConfiguration hipConfigureCall
hipArrayGetInfo _Z23hipDestroySurfaceObjectP13__hip_surface hipDeviceGraphMemTrim
""".split()
)


def functions():
    return [
        (result.strip(), name, parameters)
        for result, name, parameters in ROW.findall(TABLE.read_text())
        if not OF_COMPILERS.match(name)
    ]


HANDLES = {
    "stream",
    "event",
    "module",
    "function",
    "graph",
    "node",
    "executable",
    "pool",
    "handle",
    "object",
    "texture",
    "array",
    "start",
    "stop",
}


def of_bytes(count):
    return type("Bytes", (ctypes.Structure,), {"_fields_": [("words", ctypes.c_uint32 * (count // 4))]})


def argument(parameter, hostile):
    """Zero, or what is no handle and the largest size where those are asked for."""
    kind, _, name = parameter.strip().rpartition(" ")
    kind = kind.removeprefix("const ")
    if kind in STRUCTURES:
        return of_bytes(STRUCTURES[kind])()
    if kind in SMALL:
        return SMALL[kind](-1 if hostile and kind == "size_t" else 0)
    return ctypes.c_void_p(0xDEAD0 if hostile and kind == "void*" and name in HANDLES else 0)


def call_each(hostile):
    """Calls them one after the other, each in a process of its own, and prints how it ended and what it returned."""
    hip = ctypes.CDLL(str(library() / "libamdhip64.so.7"))
    for result, name, parameters in functions():
        read, write = os.pipe()
        child = os.fork()
        if not child:
            signal.alarm(20)
            function = getattr(hip, name)
            function.restype = (
                ctypes.c_int
                if result == "int"
                else ctypes.c_void_p
                if "*" in result
                else of_bytes(20)
                if result == "ChannelFormat"
                else None
            )
            code = function(*[argument(one, hostile) for one in parameters.split(",") if one.strip()])
            os.write(write, str(code if result == "int" else 0).encode())
            os._exit(0)
        os.close(write)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(name, status, os.read(read, 16).decode() or "-", flush=True)
        os.close(read)


def test_the_table_is_read_whole():
    rows = len(re.findall(r"^EXPORT\(", TABLE.read_text(), re.MULTILINE))
    assert len(ROW.findall(TABLE.read_text())) == rows > 300


def endings(*hostile):
    """By name: how the process ended, and what the function returned."""
    done = subprocess.run(
        [sys.executable, __file__, *hostile],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"STRATA_DEVICE": "emu:gfx1100"},
    )
    rows = [line.split() for line in done.stdout.splitlines() if re.fullmatch(r"\w+ -?\d+ \S+", line)]
    assert [row[0] for row in rows] == [name for _, name, _ in functions()], done.stderr[-2000:]
    return {name: (status, code) for name, status, code in rows}


def test_null_pointers_and_zeros_end_no_program():
    assert not {name: status for name, (status, _) in endings().items() if status != "0"}


def test_what_is_no_handle_and_the_largest_sizes_are_refused():
    ended = endings("hostile")
    assert not {name: status for name, (status, _) in ended.items() if status != "0"}
    codes = {name: ended[name][1] for result, name, _ in functions() if result == "int"}
    assert {name for name, code in codes.items() if code == "0"} == SUCCEED


if __name__ == "__main__":
    call_each(len(sys.argv) > 1)
