"""Calls of a kernel object: what its parameters take, what it returns, the variables of its module."""

import ctypes

import numpy as np
import pytest
import strata
from strata import Tensor, uop

AXPY = """
extern "C" __global__ void axpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""


@pytest.fixture(scope="module")
def axpy():
    return strata.hip_kernel(AXPY, name="axpy", grid=4, block=64)


def expected(n=200, a=2.5):
    y = np.ones(256, np.float32)
    y[:n] += np.float32(a) * np.arange(256, dtype=np.float32)[:n]
    return y


def test_a_call_takes_numbers_and_changes_its_tensors(axpy):
    x, y = Tensor(np.arange(256, dtype=np.float32)), Tensor.ones(256)
    (out,) = axpy(200, 2.5, x, y)
    np.testing.assert_array_equal(out.numpy(), expected())
    np.testing.assert_array_equal(y.numpy(), expected())
    np.testing.assert_array_equal(x.numpy(), np.arange(256, dtype=np.float32))


@pytest.mark.parametrize(
    "n",
    [200, np.int32(200), np.uint8(200), np.int64(200), np.array(200), ctypes.c_int(200)],
    ids=lambda n: type(n).__name__,
)
@pytest.mark.parametrize(
    "a",
    [2.5, np.float32(2.5), np.float64(2.5), np.float16(2.5), ctypes.c_float(2.5), np.float32(2.5).tobytes()],
    ids=lambda a: type(a).__name__,
)
def test_numbers_of_every_make_are_converted(axpy, n, a):
    (out,) = axpy(n, a, np.arange(256, dtype=np.float32), np.ones(256, np.float32))
    np.testing.assert_array_equal(out.numpy(), expected())


def test_integers_become_the_float_that_a_parameter_is(axpy):
    for a in (2, True, np.int8(2)):
        (out,) = axpy(256, a, np.arange(256, dtype=np.float32), np.ones(256, np.float32))
        np.testing.assert_array_equal(out.numpy(), expected(256, int(a)))


X = np.ones(256, np.float32)
MISTAKES = {
    "too few": ((200, 2.5, X), "takes 4 parameters .int n, float a, float. x, float. y., 3 arguments were given"),
    "too many": ((200, 2.5, X, X, 1), "5 arguments were given"),
    "a tensor for a number": (
        (Tensor(X), 2.5, X, X),
        "parameter 0 .int n, 4 bytes.: it is passed by value; give a number",
    ),
    "an array for a number": ((X, 2.5, X, X), "parameter 0 .int n, 4 bytes.: it is passed by value"),
    "a number for a tensor": ((200, 2.5, 7, X), "parameter 2 .float. x, 8 bytes.: a pointer takes a tensor"),
    "bytes for a tensor": ((200, 2.5, b"12345678", X), "parameter 2 .float. x, 8 bytes.: a pointer takes a tensor"),
    "None for a number": ((None, 2.5, X, X), "parameter 0 .int n, 4 bytes.: only a pointer can be None"),
    "a float for an int": ((200.0, 2.5, X, X), "parameter 0 .int n, 4 bytes.: the number 200 is no integer"),
    "a NumPy float for an int": ((np.float32(3), 2.5, X, X), "the number 3 is no integer"),
    "an int too large": ((2**31, 2.5, X, X), "2147483648 does not fit int32"),
    "an int too small": ((-(2**31) - 1, 2.5, X, X), "does not fit int32"),
    "a float too large": (
        (200, 1e39, X, X),
        "parameter 1 .float a, 4 bytes.: the number 1e.39 is too large for float32",
    ),
    "too many bytes": ((200, b"12345678", X, X), "parameter 1 .float a, 4 bytes.: 8 bytes were given"),
}


@pytest.mark.parametrize("arguments, message", MISTAKES.values(), ids=MISTAKES.keys())
def test_an_argument_that_does_not_fit_is_named(axpy, arguments, message):
    with pytest.raises(strata.LaunchError, match=message):
        axpy(*arguments)


def test_a_lazy_launch_names_the_argument_when_it_is_realized():
    kernel = strata.hip_kernel('extern "C" __global__ void fill(float* x, int n) {}', name="fill", grid=1, block=8)
    (out,) = Tensor.zeros(8).custom_kernel(2.5, kernel=kernel)
    with pytest.raises(strata.LaunchError, match="parameter 1 .int n, 4 bytes.: the number 2.5 is no integer"):
        out.realize()


STRUCTS = """
struct Params { float scale; int shift; double bias; };
extern "C" __global__ void apply(double* out, Params p, float3 v) { out[threadIdx.x] = p.scale * threadIdx.x + p.shift + p.bias + v.x * v.y * v.z; }
"""  # noqa: E501


class Params(ctypes.Structure):
    _fields_ = [("scale", ctypes.c_float), ("shift", ctypes.c_int), ("bias", ctypes.c_double)]


RECORD = np.dtype([("scale", "f4"), ("shift", "i4"), ("bias", "f8")])


@pytest.mark.parametrize(
    "params",
    [
        Params(0.5, 3, 0.25),
        np.array((0.5, 3, 0.25), RECORD),
        np.array([(0.5, 3, 0.25)], RECORD)[0],
        bytes(Params(0.5, 3, 0.25)),
        bytearray(Params(0.5, 3, 0.25)),
    ],
    ids=["ctypes", "record array", "record", "bytes", "bytearray"],
)
def test_structs_are_taken_whole(params):
    kernel = strata.hip_kernel(STRUCTS, name="apply", grid=1, block=8)
    (out,) = kernel(Tensor.empty(8, dtype="float64"), params, np.array([1, 2, 4], np.float32).tobytes())
    np.testing.assert_array_equal(out.numpy(), 0.5 * np.arange(8) + 3 + 0.25 + 8)


@pytest.mark.parametrize(
    "params, message",
    [(b"short", "16 bytes.: 5 bytes were given"), (bytes(24), "16 bytes.: 24 bytes were given"), (3, "it is a struct")],
)
def test_a_struct_of_another_size_is_an_error(params, message):
    kernel = strata.hip_kernel(STRUCTS, name="apply", grid=1, block=8)
    with pytest.raises(strata.LaunchError, match=message):
        kernel(Tensor.empty(8, dtype="float64"), params, bytes(12))


TYPES = {
    "bool": np.bool_(True),
    "char": np.int8(-5),
    "unsigned char": np.uint8(250),
    "short": np.int16(-300),
    "unsigned short": np.uint16(65000),
    "int": np.int32(-70000),
    "unsigned": np.uint32(4000000000),
    "long long": np.int64(-(2**40)),
    "size_t": np.uint64(2**63 + 1),
    "_Float16": np.float16(1.5),
    "float": np.float32(0.1),
    "double": np.float64(0.1),
}


@pytest.mark.parametrize("cpp, value", TYPES.items(), ids=TYPES.keys())
@pytest.mark.parametrize("mangled", [False, True])
def test_every_type_of_number_arrives(cpp, value, mangled):
    linkage = "" if mangled else 'extern "C"'
    kernel = strata.hip_kernel(
        (
            f"{linkage} __global__ void keep(char before, {cpp} value, {cpp}* out, char after) {{ out[0] = value; "
            f"out[1] = before + after; }}"
        ),
        grid=1,
        block=1,
    )
    for given in (value, value.item()):
        (out,) = kernel(1, given, np.zeros(2, value.dtype), 0)
        assert out.numpy()[0] == value and out.numpy()[1] == np.array(1).astype(value.dtype)


def test_a_null_pointer_is_None_and_a_kernel_may_have_no_tensor():
    kernel = strata.hip_kernel(
        """
    __device__ int seen;
    extern "C" __global__ void look(const float* x, int n) { seen = x ? 1 : n; }
    """,
        name="look",
        grid=1,
        block=1,
    )
    assert kernel(None, 7) == ()
    assert kernel.globals["seen"].numpy("int32").tolist() == [7]


def lazily(kernel):
    return lambda out, *inputs, outputs: out.custom_kernel(*inputs, kernel=kernel, outputs=outputs)


@pytest.mark.parametrize("how", [lambda kernel: kernel, lazily], ids=["called", "custom_kernel"])
def test_outputs_are_what_the_kernel_may_write_or_what_the_call_says(how):
    kernel = strata.hip_kernel(
        """
    extern "C" __global__ void three(float* sum, const float* x, float* product, const float* __restrict__ y) {
        int i = threadIdx.x; sum[i] = x[i] + y[i]; product[i] = x[i] * y[i];
    }
    """,
        name="three",
        grid=1,
        block=4,
    )
    arguments = [Tensor.empty(4), np.arange(4, dtype=np.float32), Tensor.empty(4), np.full(4, 3, np.float32)]
    total, product = kernel(*arguments)
    assert total.tolist() == [3, 4, 5, 6] and product.tolist() == [0, 3, 6, 9]
    call = how(kernel)
    (product,) = call(*arguments, outputs="product")
    assert product.tolist() == [0, 3, 6, 9]
    y, total = call(*arguments, outputs=["y", 0])
    assert y.tolist() == [3] * 4 and total.tolist() == [3, 4, 5, 6]
    with pytest.raises(strata.UsageError, match="no parameter 'z'; its parameters: sum, x, product, y"):
        call(*arguments, outputs="z")
    with pytest.raises(strata.UsageError, match="4: kernel 'three' has 4 parameters"):
        call(*arguments, outputs=4)
    with pytest.raises(strata.UsageError, match="place or its parameter's name was expected, got 1.5"):
        call(*arguments, outputs=[1.5])
    call = how(
        strata.hip_kernel(
            'extern "C" __global__ void set(float* x, float value) { *x = value; }', name="set", grid=1, block=1
        )
    )
    with pytest.raises(strata.UsageError, match="argument 1 of kernel 'set' is no tensor"):
        call(Tensor.empty(1), 2.5, outputs=1)


def test_outputs_of_a_kernel_graph_are_named_by_their_places():
    def scaled(out, factor, x):
        i = uop.range(4, 0, "local")
        return uop.sink(out[i].store(x[i].load() * factor).end(i))

    x = Tensor([1.0, 2.0, 3.0, 4.0])
    out, same = Tensor.empty(4).custom_kernel(2.5, x, kernel=scaled)
    (alone,) = Tensor.empty(4).custom_kernel(2.5, x, kernel=scaled, outputs=0)
    second, first = Tensor.empty(4).custom_kernel(2.5, x, kernel=scaled, outputs=[2, 0])
    assert out.tolist() == alone.tolist() == first.tolist() == [2.5, 5.0, 7.5, 10.0]
    assert same.tolist() == second.tolist() == x.tolist()
    for place in (1, 3):
        with pytest.raises(strata.UsageError, match=f"outputs.*{place}"):
            Tensor.empty(4).custom_kernel(2.5, x, kernel=scaled, outputs=place)


def test_a_lazy_launch_takes_numbers_too_and_keeps_them():
    kernel = strata.hip_kernel(
        (
            'extern "C" __global__ void fill(float* x, float value, int n) { if (threadIdx.x < n) x[threadIdx.x] '
            "= value; }"
        ),
        name="fill",
        grid=1,
        block=8,
    )
    strata.reset_stats()
    a, b = (Tensor.zeros(8).contiguous().custom_kernel(value, 4, kernel=kernel)[0] for value in (1.5, -2.0))
    assert strata.stats().kernels == 0
    assert a.tolist() == [1.5] * 4 + [0] * 4 and b.tolist() == [-2.0] * 4 + [0] * 4


def test_a_function_that_builds_a_kernel_gets_its_numbers_as_they_are():
    from strata import uop

    def scaled(out, x, factor):
        i = uop.range(out.size, 0, "global")
        return uop.sink(out[i].store(x[i].load() * factor).end(i))

    out, _ = Tensor.empty(4).custom_kernel(Tensor([1.0, 2.0, 3.0, 4.0]), 2.5, kernel=scaled)
    assert out.tolist() == [2.5, 5, 7.5, 10]


def test_assembly_takes_numbers():
    text = (
        "s_load_b64 s[4:5], s[0:1], 0x0\ns_load_b32 s6, s[0:1], 0x8\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v1, "
        "0\nv_mov_b32 v2, s6\nglobal_store_b32 v1, v2, s[4:5]\ns_endpgm"
    )
    kernel = strata.asm_kernel(text, arch="gfx1100", name="put", args=["out", "n:int32"], grid=1, block=32)
    with strata.config(device="emu:gfx1100"):
        (out,) = kernel(Tensor.zeros(1, dtype="int32"), -9)
        assert out.tolist() == [-9]
        with pytest.raises(strata.LaunchError, match="parameter 1 .a value n, 4 bytes.: it is passed by value"):
            kernel(Tensor.zeros(1, dtype="int32"), Tensor.zeros(1, dtype="int32"))
    with pytest.raises(strata.UsageError, match="'n:i33'"):
        strata.asm_kernel(text, arch="gfx1100", args=["out", "n:i33"])


@pytest.mark.amd
def test_a_code_object_takes_numbers():
    image = strata.compile(strata.hip_kernel(AXPY, name="axpy")).code_object
    (out,) = strata.asm_kernel(image, grid=4, block=64)(
        200, 2.5, np.arange(256, dtype=np.float32), np.ones(256, np.float32), outputs=3
    )
    np.testing.assert_array_equal(out.numpy(), expected())


def test_a_launch_may_say_its_own_shape(axpy):
    (out,) = axpy(256, 1, X, np.zeros(256, np.float32), grid=1, block=32)
    assert out.numpy().sum() == 32
    with pytest.raises(strata.LaunchError, match="grid .0,.: every dimension"):
        axpy(256, 1, X, X, grid=0)


VARIABLES = """
__device__ float table[4] = {1, 2, 3, 4};
__constant__ int limit = 3;
namespace deep { __device__ long long count; }
extern "C" __global__ void use(float* out) {
    if (threadIdx.x < limit) out[threadIdx.x] = table[threadIdx.x];
    atomicAdd(reinterpret_cast<unsigned long long*>(&deep::count), 1ull);
}
"""


def test_variables_of_the_module_are_read_and_written():
    kernel = strata.hip_kernel(VARIABLES, name="use", grid=1, block=4)
    g = kernel.globals
    assert sorted(g) == ["deep::count", "limit", "table"] and len(g) == 3
    assert g["table"].numpy("float32").tolist() == [1, 2, 3, 4] and g["table"].nbytes == 16
    assert bytes(g["limit"]) == b"\x03\0\0\0"
    (out,) = kernel(Tensor.zeros(4))
    assert out.tolist() == [1, 2, 3, 0]
    g["table"] = np.array([5, 6, 7, 8], np.float32)
    g["limit"] = 4
    (out,) = kernel(Tensor.zeros(4))
    assert out.tolist() == [5, 6, 7, 8]
    g["deep::count"] = np.int64(100)
    kernel(Tensor.zeros(4))
    assert g["deep::count"].numpy("int64", shape=(1, 1)).tolist() == [[104]]
    g["table"] = Tensor([0.0, 1.0, 2.0, 3.0])
    assert g["table"].numpy("float32").tolist() == [0, 1, 2, 3]


@pytest.mark.amd
def test_each_device_has_variables_of_its_own():
    devices = ["emu:gfx1100", "emu:gfx942"]
    kernel = strata.hip_kernel(VARIABLES.replace("limit = 3", "limit = 2"), name="use", grid=1, block=4)
    (out,) = kernel(Tensor.zeros(4, device=devices[1]))
    assert out.tolist() == [1, 2, 0, 0]
    for use in (lambda g: g["limit"], sorted, len, lambda g: g.__setitem__("limit", 4)):
        with pytest.raises(
            strata.UsageError,
            match=r"used on emu:gfx942, not on the default device emu:gfx1100.*globals.on\(.emu:gfx942",
        ):
            use(kernel.globals)
    here, there = (kernel.globals.on(device) for device in devices)
    assert [g["deep::count"].numpy("int64").tolist() for g in (here, there)] == [[0], [4]]
    there["limit"] = 4
    for device, values in zip(devices, ([1, 2, 0, 0], [1, 2, 3, 4])):
        assert kernel(Tensor.zeros(4, device=device))[0].tolist() == values
    assert kernel.globals["limit"].numpy("int32").tolist() == [2]
    with strata.config(device=devices[1]):
        assert kernel.globals["limit"].numpy("int32").tolist() == [4]
    with pytest.raises(strata.DeviceError, match="emu:gfx1100"):
        kernel.globals.on("gfx9000")


def test_mistakes_with_variables_are_named():
    g = strata.hip_kernel(VARIABLES, name="use", grid=1, block=4).globals
    with pytest.raises(strata.UsageError, match="no variable 'tables'; it has: .*limit"):
        g["tables"]
    with pytest.raises(strata.UsageError, match="'table' has 16 bytes, 12 were given"):
        g["table"] = np.zeros(3, np.float32)
    with pytest.raises(strata.DTypeError, match="'limit' has 4 bytes, no whole number of float64"):
        g["limit"].numpy("float64")


def test_a_kernel_that_was_launched_is_not_loaded_again(axpy):
    x, y = Tensor(X).realize(), Tensor(X).realize()
    axpy(1, 1, x, y)
    before = strata.stats().compile_ms
    for _ in range(50):
        axpy(1, 1, x, y)
    assert strata.stats().compile_ms == before
    assert y.numpy()[0] == 52


POINTEES = {
    "float": "float32",
    "double": "float64",
    "_Float16": "float16",
    "hip_bfloat16": "bfloat16",
    "int": "int32",
    "unsigned long": "uint64",
    "short": "int16",
}
DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]


@pytest.mark.parametrize("pointee", POINTEES)
def test_a_tensor_of_another_type_than_its_pointer_is_an_error_that_names_both(pointee):
    own = getattr(strata.dtypes, POINTEES[pointee])
    source = (
        f'#include <hip/hip_bfloat16.h>\nextern "C" __global__ void first(const {pointee}* x, {pointee}* y) {{ '
        f"y[0] = x[0]; }}"
    )
    kernel = strata.hip_kernel(source, name="first", grid=1, block=1)
    floats, taken = pointee in ("float", "double", "_Float16", "hip_bfloat16"), []
    for name in DTYPES:
        type = getattr(strata.dtypes, {"bool": "boolean"}.get(name, name))
        x, y = Tensor([1, 0]).cast(type).realize(), Tensor([0, 0]).cast(own).realize()
        try:
            kernel(x, y)[0].numpy()
            taken.append(name)
        except strata.DTypeError as error:
            assert (
                str(type).removeprefix("dtypes.") in str(error) and "parameter 0" in str(error) and "cast" in str(error)
            )
    if floats:
        assert taken == [POINTEES[pointee]]
    else:
        assert POINTEES[pointee] in taken and all(
            getattr(strata.dtypes, name).itemsize == own.itemsize for name in taken
        )


@pytest.mark.parametrize(
    "given",
    [ctypes.pointer(Params(0.5, 3, 0.25)), ctypes.c_void_p(64), ctypes.c_char_p(b"12345678"), ctypes.byref(Params())],
    ids=lambda p: type(p).__name__,
)
def test_a_pointer_of_the_host_is_no_argument(given):
    kernel = strata.hip_kernel(STRUCTS, name="apply", grid=1, block=8)
    with pytest.raises(strata.Error):
        kernel(Tensor.empty(8, dtype="float64"), given, bytes(12))
