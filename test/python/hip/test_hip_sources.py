"""HIP sources as people have them: names of kernels, files, declarations and language standards of their own."""

import re

import numpy as np
import pytest
import strata
from strata import Tensor

MANY = """
template <class T, int N> __global__ void scale(T* x, T by) { if (threadIdx.x < N) x[threadIdx.x] *= by; }
template <class T> struct Twice { static __device__ T of(T x) { return x + x; } };
template <template <class> class F, class T> __global__ void map(T* x) { x[threadIdx.x] = F<T>::of(x[threadIdx.x]); }
namespace deep { __global__ void over(float* x, int by) { x[threadIdx.x] += by; } __global__ void over(float* x, float by) { x[threadIdx.x] -= by; } }
template <class T> __global__ void twin(T* x, int by) { x[threadIdx.x] += by; }
template <class T> __global__ void twin(T* x, const float* by) { x[threadIdx.x] -= *by; }
__global__ void a(float* x) { x[threadIdx.x] = 7; }
__global__ void h(_Float16* x, _Float16 by) { x[threadIdx.x] = by; }
"""  # noqa: E501
NAMES = {
    "scale<float, 4>": ("float32", [2.0], [2, 2, 2, 2, 1, 1]),
    "scale<float,2>": ("float32", [2.0], [2, 2, 1, 1, 1, 1]),
    "scale<_Float16, 3>": ("float16", [2.0], [2, 2, 2, 1, 1, 1]),
    "scale<unsigned char, 6>": ("uint8", [200], [200] * 6),
    "map<Twice, int>": ("int32", [], [2] * 6),
    "deep::over(float*, int)": ("float32", [3], [4] * 6),
    "deep::over(float *, float)": ("float32", [3], [-2] * 6),
    "twin<double>(double*, int)": ("float64", [3], [4] * 6),
    "twin<float>(float *, const float*)": ("float32", [[3.0]], [-2] * 6),
    "a": ("float32", [], [7] * 6),
    "h": ("float16", [0.5], [0.5] * 6),
}


@pytest.mark.parametrize("name, case", NAMES.items(), ids=NAMES.keys())
def test_a_kernel_is_found_by_what_cpp_calls_it(name, case):
    dtype, numbers, expected = case
    (out,) = strata.hip_kernel(MANY, name=name, grid=1, block=6)(
        Tensor.ones(6, dtype=dtype), *(Tensor(n) if isinstance(n, list) else n for n in numbers)
    )
    assert out.tolist() == expected


@pytest.mark.parametrize(
    "name, message",
    [
        ("scale<float>", "has no kernel 'scale<float>'"),
        ("skale<float, 4>", "has no kernel 'skale<float, 4>'.*(undeclared identifier 'skale'|\"skale\" is undefined)"),
        ("deep::over(double*)", "has no kernel"),
        ("twin<float>(float*, double)", "has no kernel 'twin<float>.float"),
        ("char", "has no kernel 'char'; its kernels: .*a.float"),
        ("deep::over", "has 2 kernels 'deep::over'"),
        ("", "5 kernels, say which by name: |4 kernels, say which by name: "),
    ],
)
def test_a_name_that_is_none_says_what_there_is(name, message):
    kernel = strata.hip_kernel(MANY, name=name, grid=1, block=6)
    with pytest.raises(strata.UsageError, match=message):
        kernel(Tensor.ones(6))


def test_a_mistake_in_a_template_is_found_in_the_text():
    with pytest.raises(strata.CompileError) as caught:
        strata.hip_kernel(
            "template <class T> __global__ void k(T* x) {\n  x[0] = x.nothing;\n}", name="k<float>", grid=1, block=1
        )(Tensor.ones(1))
    assert caught.value.line == 2


@pytest.mark.parametrize("suffix", [".hip", ".cpp", ".cc", ".cu"])
@pytest.mark.parametrize("form", ["path", "Path", "str"])
def test_a_file_finds_what_lies_beside_it(tmp_path, suffix, form):
    (tmp_path / "parts").mkdir()
    (tmp_path / "factor.h").write_text('#include "parts/value.h"\n#define FACTOR (VALUE * 2)\n')
    (tmp_path / "parts" / "value.h").write_text("#define VALUE 3\n")
    file = tmp_path / f"source{suffix}"
    file.write_bytes(
        '// Gr\xf6\xdfe\n#include "factor.h"\nextern "C" __global__ void k(int* x) { x[0] = FACTOR; }\n'.encode(
            "latin-1"
        )
    )
    kernel = (
        strata.hip_kernel(file, grid=1, block=1)
        if form == "Path"
        else strata.hip_kernel(path=file if form == "path" else str(file), grid=1, block=1)
    )
    assert kernel(Tensor.zeros(1, dtype="int32"))[0].tolist() == [6]
    (tmp_path / "parts" / "value.h").write_text("#define VALUE 4\n")
    assert strata.hip_kernel(file, grid=1, block=1)(Tensor.zeros(1, dtype="int32"))[0].tolist() == [8]


@pytest.mark.amd
def test_errors_name_the_users_file_and_line(tmp_path):
    file = tmp_path / "broken.cc"
    file.write_text("\n\n__global__ void k(int* x) { x[0] = nonsense; }\n")
    with pytest.raises(
        strata.CompileError, match=re.escape(f"{file}:3:36: error: use of undeclared identifier 'nonsense'")
    ) as caught:
        strata.hip_kernel(file, grid=1, block=1)(Tensor.zeros(1, dtype="int32"))
    assert (caught.value.line, caught.value.column) == (3, 36)
    with pytest.raises(strata.UsageError, match="cannot read .*missing.hip"):
        strata.hip_kernel(tmp_path / "missing.hip")
    with pytest.raises(strata.UsageError, match="the source's text, or path="):
        strata.hip_kernel(name="k")


OWN = {
    "__syncthreads": """
    extern "C" __device__ __attribute__((const)) unsigned __ockl_get_local_id_(unsigned);
    __device__ inline void __syncthreads() { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); }
    extern "C" __global__ void k(float* x) { __shared__ float t[8]; unsigned i = __builtin_amdgcn_workitem_id_x(); t[i] = x[i]; __syncthreads(); x[i] = t[7 - i]; }
    """,  # noqa: E501
    "blockIdx": """
    struct Index { __attribute__((device)) operator unsigned() const { return __builtin_amdgcn_workitem_id_x(); } };
    struct Three { Index x; };
    static __attribute__((device)) Three threadIdx, blockIdx;
    extern "C" __attribute__((global)) void k(float* x) { float v = x[7 - threadIdx.x]; __builtin_amdgcn_s_barrier(); x[threadIdx.x] = v; }
    """,  # noqa: E501
    "half": """
    #define half _Float16
    typedef long unsigned int size_t;
    extern "C" __attribute__((device, const)) size_t __ockl_get_local_id(unsigned int);
    extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 8))) k(float* x) {
        int i = __ockl_get_local_id(0); half v = (half)(x[7 - i]); __builtin_amdgcn_s_barrier(); x[i] = v; }
    """,
}


@pytest.mark.amd
@pytest.mark.parametrize("source", OWN.values(), ids=OWN.keys())
def test_a_text_may_bring_its_own_declarations(source):
    (out,) = strata.hip_kernel(source, name="k", grid=1, block=8)(Tensor(np.arange(8, dtype=np.float32)))
    assert out.tolist() == list(range(7, -1, -1))


@pytest.mark.amd
@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "gnu++17", "c++20", "gnu++20", "c++23", "c++2c"])
def test_every_standard_compiles(standard):
    source = "#include <hip/hip_runtime.h>\n__global__ void k(long* x) { x[threadIdx.x] = __cplusplus + min(1, 0); }"
    (out,) = strata.hip_kernel(source, options=[f"-std={standard}"], grid=1, block=1)(Tensor.zeros(1, dtype="int64"))
    year = {"11": 201103, "14": 201402, "17": 201703, "20": 202002, "23": 202302, "2c": 202400}[standard[-2:]]
    assert out.tolist() == [year]


def rounded(value, dtype, mode):
    """The number of a type on one side of a value, by exact comparison."""
    from fractions import Fraction

    dtype, exact = np.dtype(dtype).type, Fraction(value.item())
    near = dtype(float(value)) if dtype == np.float64 and value.dtype.kind in "iu" else dtype(value)
    side = Fraction(2) ** 2000 * int(np.sign(near)) if np.isinf(near) else Fraction(float(near))
    wrong = {"n": side > exact, "p": side < exact, "z": abs(side) > abs(exact)}[mode]
    towards = {"n": -np.inf, "p": np.inf, "z": 0}[mode]
    return np.nextafter(near, dtype(towards), dtype=dtype) if wrong else near


VALUES = {
    "f64": (
        "double",
        np.array([0.1, -0.1, 1 + 2**-40, -1 - 2**-40, 1e300, -1e300, 1e-310, -1e-310, 0.5, 3e38, 2**-140 * 1.3, 0.0]),
    ),
    "f32": ("float", np.array([0.1, -0.1, 1e5, -1e5, 1e-9, -1e-9, 0.5, 65519.5, 65520, -65520, 3.3e-6, 0.0], "f4")),
    "s32": (
        "int",
        np.array(
            [2**24 + 1, -(2**24) - 1, 2**31 - 1, -(2**31), 2**31 - 65, 123456789, -123456789, 0, 1, -1, 7, 2**30 + 1],
            "i4",
        ),
    ),
    "u32": (
        "unsigned",
        np.array(
            [2**24 + 1, 2**32 - 1, 2**31, 2**31 + 1, 2**32 - 257, 123456789, 4000000001, 0, 1, 3, 7, 2**30 + 1], "u4"
        ),
    ),
    "s64": (
        "long",
        np.array(
            [
                2**53 + 1,
                -(2**53) - 1,
                2**63 - 1,
                -(2**63),
                2**63 - 513,
                123456789123456789,
                -123456789123456789,
                0,
                1,
                -1,
                2**62 + 1,
                -7,
            ],
            "i8",
        ),
    ),
    "u64": (
        "unsigned long",
        np.array(
            [
                2**53 + 1,
                2**64 - 1,
                2**63,
                2**63 + 1,
                2**64 - 1025,
                123456789123456789,
                2**24 + 1,
                0,
                1,
                3,
                2**62 + 1,
                7,
            ],
            "u8",
        ),
    ),
}


@pytest.mark.amd
@pytest.mark.parametrize(
    "conversion", ["f16_f32", "f32_f64", "f32_s32", "f32_u32", "f32_s64", "f32_u64", "f64_s64", "f64_u64"]
)
def test_later_headers_find_conversions_rounded_to_a_side(conversion):
    to, source = conversion.split("_")
    kind, values = VALUES[source]
    name, dtype = {"f16": ("_Float16", "f2"), "f32": ("float", "f4"), "f64": ("double", "f8")}[to]
    text = (
        "#include <hip/hip_runtime.h>\n"
        + "".join(
            f'extern "C" __device__ __attribute__((const)) {name} __ocml_cvtrt{m}_{conversion}({kind});\n'
            for m in "npz"
        )
        + f"__global__ void all({name}* n, {name}* p, {name}* z, const {kind}* x) {{ int i = threadIdx.x;"
        + "".join(f"{m}[i] = __ocml_cvtrt{m}_{conversion}(x[i]);" for m in "npz")
        + "}"
    )
    outs = strata.hip_kernel(text, name="all", grid=1, block=12)(
        *(Tensor(np.zeros(12, dtype)) for _ in "npz"), Tensor(values)
    )
    for mode, out in zip("npz", outs):
        with np.errstate(over="ignore"):
            expected = [rounded(value, dtype, mode) for value in values]
        assert np.array_equal(out.numpy(), np.array(expected, dtype)), mode


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
def test_later_headers_find_the_steady_counter(arch):
    text = """
    #include <hip/hip_runtime.h>
    extern "C" __device__ unsigned long long __ockl_steadyctr_u64();
    __global__ void times(unsigned long long* t) {
        t[0] = __ockl_steadyctr_u64();
        for (int i = 0; i < 20000; ++i) __builtin_amdgcn_s_sleep(1);
        t[1] = __ockl_steadyctr_u64();
    }"""
    with strata.config(device=f"emu:{arch}"):
        (times,) = strata.hip_kernel(text, name="times", grid=1, block=1)(Tensor.zeros(2, dtype="uint64").realize())
        assert times.tolist()[0] < times.tolist()[1]
