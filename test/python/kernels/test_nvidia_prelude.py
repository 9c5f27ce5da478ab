"""HIP text for NVIDIA's chips is CUDA C++ that clang takes: of every elementwise function, in every type of floats,
with its prelude.

NVRTC, which compiles it otherwise, is rarely there. The functions of CUDA's math library are declared here; calls of
others are errors.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import strata
from strata import Tensor

CLANG = shutil.which("clang-19")
TREE = Path(__file__).resolve().parents[3]
TYPES = ["float32", "float64", "float16", "bfloat16"]
CUDA = """
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(n) __attribute__((launch_bounds(n)))
#include <__clang_cuda_builtin_vars.h>
#define ONE(name) __device__ double name(double); __device__ float name(float); __device__ float name##f(float);
#define TWO(name) __device__ double name(double, double); __device__ float name(float, float); __device__ float name##f(float, float);
ONE(exp) ONE(exp2) ONE(log) ONE(log2) ONE(sin) ONE(cos) ONE(tanh) ONE(erf) ONE(sqrt) ONE(rsqrt) ONE(floor) ONE(ceil) ONE(trunc) ONE(rint) ONE(fabs) ONE(expm1) ONE(log1p) ONE(normcdf)
TWO(fmax) TWO(fmin) TWO(pow) TWO(fmod)
__device__ double fma(double, double, double); __device__ float fma(float, float, float);
__device__ double ldexp(double, int); __device__ float ldexp(float, int);
__device__ float __int_as_float(int); __device__ int __float_as_int(float); __device__ float __uint_as_float(unsigned); __device__ unsigned __float_as_uint(float);
__device__ double __longlong_as_double(long long); __device__ long long __double_as_longlong(double);
__device__ int __clz(int); __device__ int __clzll(long long); __device__ int abs(int); __device__ long abs(long);
"""  # fmt: skip  # noqa: E501


def prelude(text):
    """The sections whose words the text has, or the sections that it brings; with what prelude.cpp adds for the math
    library.
    """
    rows = re.findall(r"^ELEMENTWISE\( (\w+), *(\d),.*?ocml\(", (TREE / "core/uop/ops.def").read_text(), re.M)
    assert {"tanh", "pow"} <= {name for name, _ in rows}
    sections = [
        s.partition("\n") for s in (TREE / "codegen/toolchain/prelude_nvidia.hip").read_text().split("\n//@")[1:]
    ]
    sections += [(f"{name} & half half2 half4 half8 half16", "", f"STRATA_MATH{arity}({name})") for name, arity in rows]
    chosen, before = set(), None
    while chosen != before:
        before = set(chosen)
        words = set(re.findall(r"\w+", text + "".join(sections[i][2] for i in chosen)))
        chosen = {
            i
            for i, (head, _, _) in enumerate(sections)
            if all(words & set(any_of.split()) for any_of in head.split("&") if any_of.split())
        }
    return "\n".join(sections[i][2] for i in sorted(chosen)) + "\n"


def elementwise():
    """name -> number of operands, of the functions that take floats."""
    rows = re.findall(r"^(UNARY|BINARY) *\( (\w+), *(\w+),", (TREE / "ops/elementwise.def").read_text(), re.M)
    found = {name: 1 if kind == "UNARY" else 2 for kind, name, accepts in rows if accepts not in ("bits", "integer")}
    assert {"gelu", "expm1", "logaddexp"} <= set(found)
    return found


@pytest.mark.skipif(not CLANG, reason="needs clang-19")
def test_every_elementwise_function_compiles_for_nvidia(tmp_path):
    texts = []
    with strata.config(target="hip"):
        for name, operands in elementwise().items():
            for dtype in TYPES:
                y = getattr(Tensor, name)(*(Tensor.empty(7, dtype=dtype) for _ in range(operands)))
                for kernel in strata.compile(y, arch="sm_90").kernels:
                    texts.append(f"namespace of_{name}_{dtype} {{\n{kernel.source}\n}}\n".replace('extern "C"', ""))
    source = tmp_path / "all.cu"
    source.write_text(CUDA + prelude("".join(texts)) + "".join(texts))
    done = subprocess.run(
        [
            CLANG,
            "-x",
            "cuda",
            "--cuda-device-only",
            "-nocudainc",
            "-nocudalib",
            "--cuda-gpu-arch=sm_90",
            "-std=c++17",
            "-fsyntax-only",
            "-Wno-unknown-pragmas",
            "-Wno-unknown-cuda-version",
            "-ferror-limit=20",
            str(source),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[:6000]
    for name in ("expm1", "log1p", "logistic", "ncdf"):
        assert re.search(rf"\b{name}\(", "".join(texts)), name
