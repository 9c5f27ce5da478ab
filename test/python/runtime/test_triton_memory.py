"""Arguments of Triton's kernels become memory of a device; triton itself is not needed (test/triton has the rest)."""

import sys

import numpy as np
import pytest
import strata
from strata import Tensor
from strata.triton.launch import _flat as flat
from strata.triton.memory import Given, address_of

DEVICE = "emu:gfx1100"


def given(*args, **named):
    return Given(args, named, DEVICE)


def doubled(*pointers):
    """Doubles eight floats at each, by a kernel that takes addresses."""
    source = "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }"
    kernel = strata.hip_kernel("#include <hip/hip_runtime.h>\n" + source, name="twice", grid=1, block=8)
    with strata.config(device=DEVICE):
        for pointer in pointers:
            kernel(pointer)


def test_an_array_is_copied_there_and_back():
    x = np.arange(8, dtype=np.float32)
    call = given(x)
    doubled(call.args[0].argument)
    assert list(x) == list(range(8))
    call.copies.copy_back()
    assert list(x) == list(range(0, 16, 2))


def test_arrays_that_overlap_are_one_memory():
    whole = np.ones(24, np.float32)
    call = given(whole[:16], whole[8:], later=whole)
    first, second, all_of_it = *call.args, call.named["later"]
    assert second.data_ptr() - first.data_ptr() == 32 and all_of_it.data_ptr() == first.data_ptr()
    doubled(first.argument, second.argument, second.argument)
    call.copies.copy_back()
    assert list(whole) == [2] * 8 + [4] * 8 + [1] * 8


def test_an_array_given_twice_is_one_argument():
    x = np.ones(8, np.float32)
    call = given(x, x)
    assert call.args[0] is call.args[1]


def test_an_array_that_may_not_be_written_stays():
    x = np.ones(8, np.float32)
    x.flags.writeable = False
    call = given(x)
    doubled(call.args[0].argument)
    call.copies.copy_back()
    assert list(x) == [1] * 8


def test_strides_and_types_are_those_of_the_array():
    turned = np.zeros((3, 5), np.float16).T
    memory = given(turned).args[0]
    assert (memory.dtype, memory.shape, memory.stride(), memory.element_size()) == ("float16", (5, 3), (1, 5), 2)
    tensor = given(Tensor.zeros(4, 6, dtype="bfloat16", device=DEVICE)).args[0]
    assert (tensor.dtype, tensor.stride(), tensor.stride(0), tensor.numel()) == ("bfloat16", (6, 1), 6, 24)


def test_a_tensor_is_passed_as_it_is():
    x = Tensor(np.arange(8, dtype=np.float32), device=DEVICE)
    memory = given(x).args[0]
    assert memory.argument is x and memory.data_ptr() == address_of(x) and memory.data_ptr() % 16 == 0
    memory.zero_()
    assert not x.numpy().any()
    kept = memory.clone()
    doubled(x)
    memory.copy_(kept)
    assert not x.numpy().any()


def test_arrays_in_tuples_are_memory_too():
    x = np.ones(8, np.float32)
    (pair,) = given((x, 3)).args
    assert pair[1] == 3 and pair[0].shape == (8,)


def test_an_array_without_elements_has_no_memory():
    memory = given(np.zeros(0, np.float32)).args[0]
    assert memory.argument is None and memory.numel() == 0


def test_a_tensor_of_another_device_is_refused():
    with pytest.raises(strata.UsageError, match="a tensor on emu:gfx942 for kernels on emu:gfx1100: make it with"):
        given(Tensor.zeros(3, device="emu:gfx942"))


@pytest.mark.parametrize(
    "kind, value, dtype, held",
    [
        ("i32", -3, "int32", -3),
        ("i32", 2**32 - 1, "int32", -1),
        ("u8", 300, "uint8", 44),
        ("i64", 2**40, "int64", 2**40),
        ("i1", True, "uint8", 1),
        ("fp32", 0.1, "float32", np.float32(0.1)),
        ("fp16", 0.1, "float16", np.float16(0.1)),
        ("bf16", 1.00390625, "uint16", 0x3F80),
        ("bf16", float("nan"), "uint16", 0x7FC0),
        ("fp64", 0.1, "float64", 0.1),
    ],
)
def test_numbers_are_given_in_the_kernels_type(kind, value, dtype, held):
    (made,) = flat(value, kind)
    assert made.dtype == dtype and made == held


def test_what_is_no_memory_is_refused_as_a_pointer():
    with pytest.raises(strata.UsageError, match="list as a pointer: give a tensor of Strata, a NumPy array"):
        list(flat([1], "*fp32"))


def test_without_triton_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(strata.DeviceError, match="no triton to drive .*pip install triton"):
        strata.triton.activate(DEVICE)
