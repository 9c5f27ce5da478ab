"""Every function of strata, strata.linalg and strata.fft and every method of tensors against NumPy, by hypothesis.
Drawn are any type it takes, any shape, axis, and no elements at all. Views are transposed, strided, reversed, cut or
repeated.

A row draws arguments and gives (Strata's result, NumPy's), each called at once, so that errors are compared too. Where
one side refuses the arguments, the other must. NumPy computes in a wider type; floats are compared within a few
roundings of their own. STRATA_FUZZ_EXAMPLES: how many are drawn for each row.
"""

import inspect
import os
import re

import numpy as np
import pytest
import strata
from drawn import TYPES, Draw, Refused, compare
from hypothesis import given, settings, strategies as st
from rows_of_methods import METHODS, OPERATORS
from rows_of_places import CREATION, INDEXING, MOVEMENT
from rows_of_products import FFT, LINALG, PRODUCTS
from rows_of_values import BINARY, ORDER, REDUCTIONS, UNARY
from strata import Tensor
from tested import QUICK_TARGET

ROWS = {
    **UNARY,
    **BINARY,
    **REDUCTIONS,
    **ORDER,
    **MOVEMENT,
    **INDEXING,
    **CREATION,
    **PRODUCTS,
    **LINALG,
    **FFT,
    **METHODS,
    **OPERATORS,
}
EXAMPLES = int(os.environ.get("STRATA_FUZZ_EXAMPLES", "10"))

# Names without a row, by the reason.
NOT = {
    "of types or shapes alone (test_array_api.py, test_promotion.py, test_interop.py)": (
        "can_cast finfo iinfo isdtype promote result_type broadcast_shapes size dim numel ndim nbytes shape dtype "
        "device is_realized __len__"
    ),
    "random (test_random.py)": "multinomial manual_seed rand randn randint",
    "numbers": "e inf nan newaxis pi",
    "derivatives, which have rows of their own": (
        "backward checkpoint custom_gradient grad gradients jvp no_grad requires_grad requires_grad_ "
        "value_and_grad vjp"
    ),
    "of devices, compilers, files and settings": (
        "arch asm_kernel autotune compile config current_stream custom_kernel default_device device_properties devices "
        "explain hip_kernel jit kernel load profile realize reset_stats save settings stats synchronize tune uop"
    ),
    "types": "ArgumentError Artifact AssemblyError CheckError CompileError Config CustomKernel DType DTypeError "
    "DeviceError Error Event InternalError LaunchError LinAlgError MemoryFault ShapeError Spec Stats Stream Tensor "
    "Unsupported UsageError "
    "complex64 complex128 float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64",
    "protocols of Python and of other libraries (test_values.py, test_dlpack.py, test_numpy_functions.py)": (
        "__delitem__ __array__ __array_function__ __array_namespace__ __array_priority__ __array_ufunc__ __bool__ "
        "__complex__ __contains__ __copy__ __cuda_array_interface__ __deepcopy__ __dlpack__ __dlpack_device__ "
        "__float__ __getattr__ __index__ __int__ __iter__ __module__"
    ),
}  # fmt: skip

# Values that a row does not draw though others do, by the reason.
WITHOUT = {
    "view": {"takes no tensor": "tril_indices triu_indices fftfreq rfftfreq"},
}


def public():
    of_strata = {
        n for n in dir(strata) if not n.startswith("_") and not inspect.ismodule(getattr(strata, n))
    }  # more modules are there once they were imported
    modules = of_strata | {
        n
        for module in (strata.linalg, strata.fft)
        for n in getattr(module, "__all__", dir(module))
        if not n.startswith("_")
    }
    usual = {*dir(object), "__doc__", "__slots__"} - {f"__{n}__" for n in "eq ne lt le gt ge".split()}
    return modules | {n for n in dir(Tensor) if (n.startswith("__") or not n.startswith("_")) and n not in usual}


def function(name):
    return next(
        (getattr(module, name) for module in (strata, strata.linalg, strata.fft, Tensor) if hasattr(module, name)), None
    )


def test_every_function_has_a_row_or_a_reason():
    without = {name for names in NOT.values() for name in names.split()}
    assert public() - set(ROWS) - without == set(), "a row is needed, or a reason in NOT"
    assert without & set(ROWS) == set() and without - public() == set(), "no reason is needed"
    assert set(ROWS) - public() == set(), "rows of functions that are not there"


@pytest.mark.parametrize("name", ROWS)
def test_any_arguments_give_numpys_values(name):
    @settings(max_examples=EXAMPLES)
    @given(data=st.data())
    def compared(data):
        with strata.config(target=QUICK_TARGET):
            try:
                got, want = ROWS[name](Draw(data))
            except Refused:
                return
            compare(got, want)

    compared()


def drawn(name):
    asked = set()

    @settings(max_examples=4)
    @given(data=st.data())
    def looked_at(data):
        d = Draw(data)
        try:
            ROWS[name](d)
        except Refused:
            pass
        asked.update(d.asked)

    looked_at()
    return asked


@pytest.mark.parametrize("name", ROWS)
def test_rows_draw_all_that_their_functions_take(name):
    """Types, no elements, views, axes. A type that a row does not draw is one that the function refuses."""
    asked = drawn(name)
    takes = function(name)
    said = takes.__doc__ or ""
    text = str(inspect.signature(takes)) if inspect.isfunction(takes) else said.partition("\n")[0]
    wanted = {
        "empty",
        *(["view"] if name not in CREATION or name.endswith("like") else []),
        *(["axis"] if re.search(r"[(, ](axis|axes)\b", text.partition("(")[2]) else []),
    }
    reasons = {what for what, rows in WITHOUT.items() for names in rows.values() if name in names.split()}
    assert wanted - asked == reasons, f"draws {sorted(asked)}"
    for kind in set(TYPES) - asked if asked & set(TYPES) else ():

        @settings(max_examples=4)
        @given(data=st.data())
        def refused(data):
            try:
                got, _ = ROWS[name](Draw(data, kind))
            except (Refused, strata.Error):
                return
            assert isinstance(got, Exception), f"{name} takes {TYPES[kind]}, which its row does not draw"

        refused()


def test_what_many_examples_found():
    """Rare arguments, which the few examples of a run seldom draw."""
    none = Tensor(np.zeros((0, 0)))
    for name in ("max", "min", "argmax", "argmin", "nanmax", "nanmin"):
        with pytest.raises(strata.ShapeError, match="of no elements"):
            getattr(strata, name)(none, axis=0)
        assert getattr(strata, name)(Tensor(np.zeros((0, 3))), axis=1).shape == (0,)
    compare([strata.median(Tensor(np.zeros((0, 2))), 0), strata.nanmedian(none)], [np.full(2, np.nan), np.nan])
    compare(
        [
            strata.linalg.vector_norm(none, ord=np.inf),
            strata.linalg.matrix_norm(Tensor(np.zeros((2, 0))), ord=1),
            strata.cdist(Tensor(np.zeros((1, 0))), Tensor(np.zeros((2, 0))), np.inf),
        ],
        [0.0, 0.0, np.zeros((1, 2))],
    )
    half = np.array([1 + 2j, complex(np.nan, 1)])
    compare([strata.nansum(Tensor(half)), strata.nanprod(Tensor(half)), strata.nanmean(Tensor(half))], [1 + 2j] * 3)
    compare(
        strata.histogram(Tensor([0.0, 0.0], dtype="float32"), 6, (-4.0, 4.0))[0],
        np.histogram([0.0, 0.0], 6, (-4, 4))[0],
    )
    compare(strata.interpolate(Tensor(np.array([[[1.0, 2.0]]])), (3,), mode="linear"), np.array([[[1, 1.5, 2]]]))
    compare(
        strata.interpolate(Tensor(np.arange(49.0).reshape(1, 1, 49)), (98,)), np.arange(98).reshape(1, 1, 98) // 2.0
    )
    for refused in (
        lambda: strata.interpolate(Tensor([[[1, 2]]]), (3,), mode="linear"),
        lambda: strata.fft.fftfreq(4, dtype="int32"),
        lambda: +Tensor([True]),
    ):
        with pytest.raises(strata.DTypeError):
            refused()
