"""Element types that NumPy has not: arrays of the package ml_dtypes, DLPack's codes."""

import subprocess
import sys

import numpy as np
import pytest
import strata
from strata import Tensor

ml_dtypes = pytest.importorskip("ml_dtypes")

TYPES = {
    "bfloat16": "bfloat16",
    "fp8e4m3": "float8_e4m3fn",
    "fp8e4m3fnuz": "float8_e4m3fnuz",
    "fp8e5m2": "float8_e5m2",
    "fp8e5m2fnuz": "float8_e5m2fnuz",
}
CODES = {"bfloat16": (4, 16), "fp8e4m3": (10, 8), "fp8e4m3fnuz": (11, 8), "fp8e5m2": (12, 8), "fp8e5m2fnuz": (13, 8)}


def every(name):
    """An array of every value of a type."""
    theirs = getattr(ml_dtypes, TYPES[name])
    bits = 8 * np.dtype(theirs).itemsize
    return np.arange(1 << bits, dtype=f"u{bits // 8}").reshape(-1, 16).view(theirs)


def test_each_type_that_numpy_has_not_has_a_row():
    assert set(TYPES) == {t.name for t in strata.dtypes.all if not t.numpy_name}


@pytest.mark.parametrize("name", TYPES)
def test_arrays_go_both_ways_bit_for_bit(name):
    array = every(name)
    bits = f"u{array.itemsize}"
    for given in (array, array[::2, 1:], array.T, array[3, 5], array[:0]):
        t = Tensor(given)
        assert t.dtype.name == name and t.shape == given.shape
        back = t.numpy()
        assert back.dtype == array.dtype and np.asarray(t).dtype == array.dtype
        np.testing.assert_array_equal(np.ascontiguousarray(back).view(bits), np.ascontiguousarray(given).view(bits))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(Tensor(array).cast("float32").numpy(), array.astype(np.float32))
        np.testing.assert_array_equal((Tensor(array) * 1).cast("float32").numpy(), array.astype(np.float32))
    assert Tensor(array, dtype="float64").dtype == "float64" and strata.asarray(array).dtype.name == name


@pytest.mark.parametrize("name", TYPES)
def test_its_names_and_types_stand_for_it(name):
    theirs = getattr(ml_dtypes, TYPES[name])
    own = getattr(strata.dtypes, name)
    assert own == theirs == np.dtype(theirs) == TYPES[name] and strata.DType(np.dtype(theirs)) == own
    assert Tensor([1.0, 2.0], dtype=theirs).dtype == own and Tensor([1.0]).cast(TYPES[name]).dtype == own
    x = Tensor([1.0, 2.0]).cast(name)
    assert (x + np.array([0.5, 1.0]).astype(theirs)).tolist() == [1.5, 3.0]
    x[0] = np.array(3.0).astype(theirs)
    assert x.tolist() == [3.0, 2.0]


def test_what_does_not_fit_is_said():
    with pytest.raises(strata.DTypeError, match="float8_e8m0fnu"):
        Tensor(np.ones(2, ml_dtypes.float8_e8m0fnu))
    with pytest.raises(strata.DTypeError):
        Tensor(np.array([300.0]).astype(ml_dtypes.bfloat16), dtype="int8")


def test_the_package_is_loaded_when_it_is_needed_and_missed_with_advice():
    program = """
import sys, strata
from strata import Tensor
assert "ml_dtypes" not in sys.modules
x = Tensor([1.0, 2.0]).cast("bfloat16")
assert x.tolist() == [1.0, 2.0] and "1." in repr(x) and "ml_dtypes" not in sys.modules
sys.modules["ml_dtypes"] = None
try:
    x.numpy()
except strata.DTypeError as e:
    assert "cast(dtypes.float32)" in str(e) and "install the package ml_dtypes" in str(e)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", program], check=True)


class Given:
    """A producer of a tensor's capsule."""

    def __init__(self, t):
        self.t = t

    def __dlpack__(self, **named):
        return self.t.__dlpack__(**named)

    def __dlpack_device__(self):
        return self.t.__dlpack_device__()


@pytest.mark.parametrize("name", TYPES)
def test_dlpack_has_a_code_for_it(name):
    import ctypes

    t = Tensor(every(name))
    capsule = t.__dlpack__()
    ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
    ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    tensor = ctypes.pythonapi.PyCapsule_GetPointer(capsule, b"dltensor")
    code, bits = ctypes.string_at(tensor + 8 + 8 + 4, 2)  # after the address, the device and the number of axes
    assert (code, bits) == CODES[name]
    again = strata.from_dlpack(Given(t))
    assert again.dtype.name == name
    np.testing.assert_array_equal(again.bitcast(f"uint{bits}").numpy(), every(name).view(f"u{bits // 8}"))
