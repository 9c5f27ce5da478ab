"""Tensors and the rest of Python: numbers, lists, NumPy, DLPack, text."""

import gc

import numpy as np
import pytest
import strata
from strata import Tensor, dtypes


def test_shape_type_and_device():
    t = Tensor.zeros(2, 3, 5, dtype="int16")
    assert t.shape == (2, 3, 5) and isinstance(t.shape, tuple)
    assert t.ndim == 3 and t.size == 30 and t.numel() == 30 and t.nbytes == 60 and len(t) == 2
    assert t.dtype is not None and t.dtype == dtypes.int16
    assert t.device == strata.default_device()
    with pytest.raises(TypeError):
        len(Tensor(1))
    with pytest.raises(TypeError):
        iter(Tensor(1))


def test_items_are_python_numbers():
    assert type(Tensor([3]).item()) is int and Tensor([3]).item() == 3
    assert type(Tensor(2.5).item()) is float and type(Tensor(True).item()) is bool
    assert Tensor(np.uint64(2**64 - 1)).item() == 2**64 - 1
    assert Tensor(np.int64(-(2**63))).item() == -(2**63)
    assert Tensor([[7.0]], dtype="bfloat16").item() == 7.0
    assert (
        float(Tensor([2])) == 2.0 and int(Tensor(3.7)) == 3 and bool(Tensor([0])) is False and bool(Tensor(2.0)) is True
    )
    assert [10, 20, 30][Tensor(1)] == 20
    with pytest.raises(strata.Error, match=r"\(2,\)|2"):
        Tensor([1, 2]).item()
    with pytest.raises(strata.Error, match=r"any\(\) or .all\(\)"):
        bool(Tensor([1, 2]))
    with pytest.raises(TypeError):
        [1, 2][Tensor(1.0)]


def test_lists():
    assert Tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert Tensor([True]).tolist() == [True]
    assert Tensor(5).tolist() == 5
    assert Tensor.zeros(2, 0, 3).tolist() == [[], []]
    assert Tensor([0.5], dtype="fp8e5m2").tolist() == [0.5]
    x = np.arange(24).reshape(2, 3, 4)
    assert Tensor(x).permute(2, 0, 1).tolist() == x.transpose(2, 0, 1).tolist()


def test_text():
    t = Tensor([[1.0, 2.0]]) + 1
    with strata.config(debug=1):
        assert repr(t) == f"<Tensor (1, 2) float32 on {t.device}, lazy>"
        t.realize()
        assert repr(t) == f"<Tensor (1, 2) float32 on {t.device}>"
    assert repr(t) == f"Tensor([[2., 3.]], float32 on {t.device})"
    assert "UOp" in repr(t.uop)


def test_numpy_arrays():
    t = Tensor([[1, 2], [3, 4]])
    x = t.numpy()
    assert type(x) is np.ndarray and x.flags.c_contiguous and x.flags.writeable
    x[0, 0] = 99
    assert t.tolist() == [[1, 2], [3, 4]]
    assert np.asarray(t).tolist() == [[1, 2], [3, 4]]
    assert np.array(t, dtype=np.float32).dtype == np.float32
    assert np.sum(np.asarray(t)) == 10
    assert Tensor.zeros(0, 3).numpy().shape == (0, 3) and Tensor(1.0).numpy().shape == ()


@pytest.mark.emulated
def test_an_array_that_outlives_its_tensor():
    views = [np.asarray(Tensor(np.full(1000, i)) + 0) for i in range(20)]
    shared = [np.array(Tensor(np.full(1000, i)) * 1, copy=False) for i in range(20)]
    gc.collect()
    for i in range(20):
        assert (views[i] == i).all() and (shared[i] == i).all()


def test_operators_with_arrays():
    x = np.array([1.0, 2.0], np.float32)
    t = Tensor(x)
    for result in (t + x, x + t, t * [1, 2], x @ t, np.float32(2) * t, t == x):
        assert isinstance(result, Tensor)
    assert (
        (x - t).tolist() == [0, 0] and (np.float32(3) - t).tolist() == [2, 1] and (x < t + 1).tolist() == [True, True]
    )
    with pytest.raises(TypeError):
        t + "a"
    with pytest.raises(TypeError):
        t + None
    assert (t != x).any().item() is False


@pytest.mark.parametrize(
    "name", ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64"]
)
def test_dlpack(name, rng):
    x = (rng.standard_normal((3, 4)) * 9).astype(name)
    t = Tensor(x)
    y = np.from_dlpack(t, device="cpu")
    assert y.dtype == x.dtype and y.shape == x.shape
    np.testing.assert_array_equal(y, x)
    kept = np.from_dlpack(Tensor(x).T.contiguous(), device="cpu")
    gc.collect()
    np.testing.assert_array_equal(kept, x.T)


def test_dlpack_of_views():
    t = Tensor(np.arange(12).reshape(3, 4))
    np.testing.assert_array_equal(np.from_dlpack(t[1:, ::2], device="cpu"), np.arange(12).reshape(3, 4)[1:, ::2])
    np.testing.assert_array_equal(np.from_dlpack(t.T, device="cpu"), np.arange(12).reshape(3, 4).T)
    assert np.from_dlpack(Tensor.zeros(0, 2), device="cpu").shape == (0, 2)
    t.__dlpack__()  # an unused capsule frees its memory
    gc.collect()


def test_a_tensor_is_hashable():
    t = Tensor([1])
    assert {t: 1}[t] == 1


def test_moving_between_devices():
    t = Tensor([1.0, 2.0])
    assert t.to("emu:gfx1100").tolist() == [1, 2]
    other = Tensor([1, 2], device="emu:gfx1100")
    assert other.device == "emu:gfx1100"


@pytest.mark.emulated
def test_types_by_pytorchs_methods():
    x = Tensor([0.0, 1.5, -2.5])
    for name, method in {
        "float32": "float",
        "float64": "double",
        "float16": "half",
        "bfloat16": "bfloat16",
        "int16": "short",
        "int32": "int",
        "int64": "long",
        "bool": "bool",
    }.items():
        got = getattr(x, method)()
        assert got.dtype == name and got.cast("float64").tolist() == x.cast(name).cast("float64").tolist()
    assert x.cpu().tolist() == x.tolist() and x.cpu().device == x.device
    y = x + 1  # which stays on the device, and is computed once
    kernels = strata.stats().kernels
    assert y.cpu().numpy().tolist() == y.cpu().tolist() == (x + 1).tolist() and strata.stats().kernels <= kernels + 2
