"""Every status of the interface for C, in the order of its checks; threads over one plan; counters."""

import ctypes as c
import threading
from pathlib import Path

import numpy as np
import pytest
import strata

LIBRARY = Path(strata.__file__).parents[2] / "lib/libstrata.so.1"
pytestmark = [
    pytest.mark.emulated,
    pytest.mark.skipif(not LIBRARY.exists(), reason="the library for C is not built"),
]
FLOAT32, FLOAT64, INT8, INT32 = 12, 13, 2, 6
pointer, handle = c.byref, c.c_void_p


class Tensor(c.Structure):
    _fields_ = [("data", c.c_uint64), ("bytes", c.c_uint64), ("dtype", c.c_int32), ("rank", c.c_int32),
                ("shape", c.c_int64 * 8), ("strides", c.c_int64 * 8)]  # fmt: skip


class Error(c.Structure):
    _fields_ = [("size", c.c_uint32), ("status", c.c_int32), ("message", c.c_char_p), ("operand", c.c_char_p),
                ("needed", c.c_uint64), ("got", c.c_uint64)]  # fmt: skip


class Preference(c.Structure):
    _fields_ = [("size", c.c_uint32), ("flags", c.c_uint32), ("max_workspace", c.c_uint64), ("target", c.c_char_p),
                ("beam", c.c_int32), ("reserved", c.c_int32), ("later", c.c_uint64)]  # fmt: skip


class Operand(c.Structure):
    _fields_ = [("size", c.c_uint32), ("flags", c.c_uint32), ("name", c.c_char_p), ("alignment", c.c_uint64),
                ("like", Tensor)]  # fmt: skip


class Counters(c.Structure):
    _fields_ = [("size", c.c_uint32), ("reserved", c.c_uint32), ("launches", c.c_uint64),
                ("compilations", c.c_uint64), ("allocations", c.c_uint64), ("live_bytes", c.c_uint64)]  # fmt: skip


ASM = Preference(Preference.later.offset, 0, 0, b"asm")


U32, U64, P = c.c_uint32, c.c_uint64, c.c_void_p
ARGUMENTS = {
    "alloc": (P, U64, P), "free": (P, U64), "upload": (P, P, U64, P, U64), "download": (P, P, P, U64, U64),
    "run": (P, P, U64, U64, P, U32), "bind": (P, U64, U64, P, U32, P), "call_set": (P, U32, U64),
    "plan_sku": (P, P, U64, P, P),
}  # fmt: skip


class Library:
    """The calls, with their statuses as names; handles that are made are results."""

    def __init__(self):
        self.lib = c.CDLL(str(LIBRARY))
        self.lib.strata_last_error.restype = c.POINTER(Error)
        self.lib.strata_status_name.restype = self.lib.strata_version.restype = c.c_char_p
        self.lib.strata_plan_workspace.restype = c.c_uint64
        for name, kinds in ARGUMENTS.items():
            getattr(self.lib, f"strata_{name}").argtypes = kinds

    def status(self, name, *arguments):
        return self.lib.strata_status_name(getattr(self.lib, f"strata_{name}")(*arguments)).decode()

    def made(self, name, *arguments, kind=handle):
        out = kind()
        assert self.status(name, *arguments, pointer(out)) == "OK", self.error()
        return out

    def error(self):
        e = self.lib.strata_last_error().contents
        assert e.message
        return self.lib.strata_status_name(e.status).decode(), e.operand.decode(), e.needed, e.got

    def desc(self, context, name, tensors=(), **ints):
        desc = self.made("desc_create", context, name.encode())
        for operand, dtype, shape in tensors:
            sizes = (c.c_int64 * len(shape))(*shape)
            assert self.status("desc_tensor", desc, operand.encode(), dtype, len(shape), sizes, None) == "OK"
        for attribute, value in ints.items():
            assert self.status("desc_ints", desc, attribute.encode(), pointer(c.c_int64(value)), 1) == "OK"
        return desc

    def select(self, context, desc, preference=ASM):
        plan = handle()
        status = self.status("select", context, desc, preference and pointer(preference), pointer(plan))
        assert bool(plan) == (status == "OK")
        self.lib.strata_desc_destroy(desc)
        return plan if plan else self.error()

    def operands(self, context, plan):
        out = (Tensor * self.lib.strata_plan_operands(plan))()
        for i in range(len(out)):
            operand = Operand(c.sizeof(Operand))
            assert self.status("plan_operand", plan, i, pointer(operand)) == "OK"
            out[i] = operand.like
            out[i].data = self.made("alloc", context, max(operand.like.bytes, 64), kind=c.c_uint64).value
        return out


@pytest.fixture(scope="module")
def lib():
    return Library()


@pytest.fixture(scope="module")
def context(lib):
    context = lib.made("open", 1, None, b"emu:gfx1100")
    yield context
    lib.lib.strata_close(context)


@pytest.fixture(scope="module")
def plan(lib, context):
    return lib.select(context, lib.desc(context, "swiglu", [("x", FLOAT32, (2, 4, 8))], axis=1))


def test_open_serves_its_versions_and_says_what_is_wrong(lib):
    context = handle()
    assert lib.lib.strata_abi_version() == 1 and lib.lib.strata_version().decode() == strata.__version__
    for abi in (0, 2):
        assert lib.status("open", abi, None, None, pointer(context)) == "VERSION"
        assert lib.error() == ("VERSION", "abi", 1, abi)
    assert lib.status("open", 1, None, b"emu:gfx1", pointer(context)) == "DEVICE"
    assert lib.status("open", 1, None, None, None) == "ARGUMENT"
    options = Preference(8, 2)
    assert lib.status("open", 1, pointer(options), None, pointer(context)) == "ARGUMENT"
    assert not context


SELECTED = {
    "an operation that there is not": (("swigul", []), ("UNSUPPORTED", "", 0, 0)),
    "an operand that there is not": (("swiglu", [("z", FLOAT32, (3,))]), ("ARGUMENT", "z", 0, 0)),
    "a missing operand": (("swiglu", []), ("ARGUMENT", "x", 0, 0)),
    "mixed types": (("add", [("a", FLOAT32, (2,)), ("b", FLOAT64, (3,))]), ("UNSUPPORTED", "b", 0, 0)),
    "no axis": (("swiglu", [("x", INT8, ())]), ("INVALID", "x", 1, 0)),
    "a negative size": (("neg", [("x", FLOAT32, (4, -2))]), ("INVALID", "x", 0, (1 << 64) - 2)),
    "no halves": (("swiglu", [("x", INT8, (3,))]), ("INVALID", "x", 4, 3)),
    "another output": (("neg", [("x", FLOAT32, (4,)), ("y", FLOAT32, (5,))]), ("INVALID", "y", 4, 5)),
    "nine axes": (("swiglu", [("x", INT8, (2,) * 9)]), ("UNSUPPORTED", "x", 8, 9)),
    "a type": (("swiglu", [("x", INT8, (4,))]), ("UNSUPPORTED", "x", 0, 0)),
    "2^63 bytes": (("neg", [("x", FLOAT32, (1 << 31, 1 << 31))]), ("INVALID", "x", 1 << 63, (1 << 64) - 1)),
}


@pytest.mark.parametrize("what", SELECTED)
def test_select_says_the_first_that_is_wrong(lib, context, what):
    (name, tensors), error = SELECTED[what]
    assert lib.select(context, lib.desc(context, name, tensors)) == error


def test_select_says_which_preference_it_cannot_meet(lib, context):
    def of(*preference):
        desc = lib.desc(context, "neg", [("x", FLOAT32, (4,))])
        return lib.select(context, desc, Preference(c.sizeof(Preference), *preference))

    assert of(0, 0, b"ptx") == ("UNSUPPORTED", "target", 0, 0)
    assert of(2, 0, b"asm")[:2] == ("ARGUMENT", "preference")
    assert of(0, 0, b"asm", 0, 0, 1)[:2] == ("ARGUMENT", "preference")  # a member of a later version
    assert isinstance(of(1, 0, b"asm", 0, 0, 0), handle)


def test_a_run_says_the_first_that_is_wrong_by_stages(lib, context, plan):
    operands = lib.operands(context, plan)

    def of():
        status = lib.status("can_implement", plan, operands, 2)
        return status if status == "OK" else lib.error()

    right = [operands[0].data, operands[1].data]
    assert of() == "OK"
    operands[0].data = right[1]
    assert of() == ("INVALID", "y", right[1], right[1])
    operands[1].data += 4
    assert of() == ("MISALIGNED", "y", 16, 4)
    operands[0].data = 0
    assert of() == ("ARGUMENT", "x", 1, 0)
    operands[1].bytes = 127
    assert of() == ("BUFFER", "y", 128, 127)
    operands[0].strides[2] = 3
    assert of() == ("INVALID", "x", 1, 3)
    operands[0].rank = 9
    assert of() == ("ARGUMENT", "operands", 8, 9)
    assert lib.status("can_implement", plan, None, 2) == "ARGUMENT"
    assert lib.status("can_implement", None, operands, 2) == "ARGUMENT"
    assert lib.status("run", plan, None, 0, 0, operands, 1) == "ARGUMENT"


def test_a_workspace_that_is_missing_is_said(lib, context):
    plan = lib.select(context, lib.desc(context, "sum", [("x", FLOAT32, (1 << 18,))]))
    needed, operands = lib.lib.strata_plan_workspace(plan), lib.operands(context, plan)
    assert needed > 0
    assert lib.status("run", plan, None, 0, needed, operands, 2) == "WORKSPACE"
    assert lib.error() == ("WORKSPACE", "workspace", needed, 0)
    space = lib.made("alloc", context, needed + 16, kind=c.c_uint64)
    assert lib.status("run", plan, None, space, needed - 1, operands, 2) == "WORKSPACE"
    assert lib.error() == ("WORKSPACE", "workspace", needed, needed - 1)
    assert lib.status("run", plan, None, space.value + 16, needed, operands, 2) == "WORKSPACE"
    assert lib.status("run", plan, None, space, needed, operands, 2) == "OK"
    preference = Preference(c.sizeof(Preference), 0, needed - 1, b"asm")
    desc = lib.desc(context, "sum", [("x", FLOAT32, (1 << 18,))])
    assert lib.select(context, desc, preference) == ("UNSUPPORTED", "max_workspace", needed, needed - 1)


def computed(lib, context, plan, operands, values, run):
    x = np.full((2, 4, 8), values, np.float32)
    y = np.zeros((2, 2, 8), np.float32)
    assert lib.status("upload", context, None, operands[0].data, x.ctypes.data, 256) == "OK"
    assert run() == "OK"
    assert lib.status("download", context, None, y.ctypes.data, operands[1].data, 128) == "OK"
    return y[1, 1, 7]


def silu(v):
    return v / (1 + np.exp(-v))


def test_threads_run_one_plan_and_bound_calls(lib, context, plan):
    wrong = []

    def work(t):
        operands, stream = lib.operands(context, plan), lib.made("stream_create", context)
        call = lib.made("bind", plan, 0, 0, operands, 2)
        for run in (
            lambda: lib.status("run", plan, None, 0, 0, operands, 2),
            lambda: lib.status("call_run", call, None),
            lambda: (lib.status("call_run", call, stream), lib.status("synchronize", context, stream))[1],
        ):
            got = computed(lib, context, plan, operands, t, run)
            if abs(got - t * silu(t)) > 1e-5:
                wrong.append((t, got))
        lib.lib.strata_call_destroy(call)
        lib.lib.strata_stream_destroy(stream)

    threads = [threading.Thread(target=work, args=(t,)) for t in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_bound_call_takes_other_addresses(lib, context, plan):
    operands = lib.operands(context, plan)
    call = lib.made("bind", plan, 0, 0, operands, 2)
    assert lib.status("call_set", call, 2, 64) == "ARGUMENT"
    assert lib.status("call_set", call, 1, operands[0].data) == "INVALID"
    assert lib.status("call_set", call, 1, operands[1].data + 4) == "MISALIGNED"
    operands[1].data = lib.made("alloc", context, 128, kind=c.c_uint64).value
    assert lib.status("call_set", call, 1, operands[1].data) == "OK"
    assert (
        abs(computed(lib, context, plan, operands, 2, lambda: lib.status("call_run", call, None)) - 2 * silu(2)) < 1e-5
    )
    lib.lib.strata_call_destroy(call)


def test_counters_and_handles_are_those_of_a_context(lib):
    context = lib.made("open", 1, None, b"emu:gfx942")
    plan = lib.select(context, lib.desc(context, "swiglu", [("x", FLOAT32, (2, 4, 8))], axis=1))
    operands = lib.operands(context, plan)
    run = lambda: lib.status("run", plan, None, 0, 0, operands, 2)  # noqa: E731
    assert computed(lib, context, plan, operands, 1, run) > 0
    counters = Counters(c.sizeof(Counters))
    assert lib.status("count", context, pointer(counters)) == "OK"
    assert (counters.launches, counters.allocations, counters.live_bytes) == (1, 2, 256 + 128)
    assert lib.status("free", context, operands[0].data) == "OK"
    assert lib.status("free", context, operands[0].data) == "ARGUMENT"
    assert lib.status("alloc", context, 1 << 60, pointer(c.c_uint64())) == "MEMORY"
    lib.lib.strata_close(context)
    assert lib.lib.strata_plan_operands(plan) == 2  # a plan outlives its context
    lib.lib.strata_plan_destroy(plan)


def test_a_plan_says_its_text_and_hash(lib, plan):
    length, bits = c.c_uint64(), c.c_uint64()
    assert lib.status("plan_sku", plan, None, 0, pointer(length), pointer(bits)) == "OK"
    text = c.create_string_buffer(length.value + 1)
    assert lib.status("plan_sku", plan, text, length.value, None, None) == "BUFFER"
    assert lib.status("plan_sku", plan, text, length.value + 1, None, None) == "OK"
    p = strata.plan.select("swiglu", x=strata.Spec((2, 4, 8)), axis=1, prefer={"target": "asm"})
    assert text.value.decode() == p._core.sku and bits.value == p.sku_hash


def test_a_fault_is_a_status_and_the_context_goes_on(lib, context):
    tensors = [("x", FLOAT32, (4, 6)), ("indices", INT32, (2, 6))]
    plan = lib.select(context, lib.desc(context, "gather", tensors, axis=0))
    operands = lib.operands(context, plan)
    for index, status in ((9, "FAULT"), (3, "OK")):
        indices = np.full((2, 6), index, np.int32)
        assert lib.status("upload", context, None, operands[1].data, indices.ctypes.data, indices.nbytes) == "OK"
        assert lib.status("run", plan, None, 0, 0, operands, 3) == status
    assert b"index 9 is outside of axis 0" in lib.lib.strata_last_error().contents.message
