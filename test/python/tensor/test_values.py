"""The values that a tensor shows, and how they are copied, pickled and shared."""

import copy
import pickle

import numpy as np
import pytest
import strata
from formats import ALL, dtype_of
from strata import Tensor, dtypes, uop


def test_print_and_repr_show_the_values_and_under_debug_repr_computes_nothing():
    x, where = Tensor([[1.0, 2.0], [3.0, 4.5]]) * 2, strata.default_device()
    before = strata.stats().launches[:] if hasattr(strata.stats(), "launches") else None
    with strata.config(debug=1):
        assert repr(x) == f"<Tensor (2, 2) float32 on {where}, lazy>" and not x.is_realized
    assert str(x) == f"Tensor([[2., 4.],\n        [6., 9.]], float32 on {where})"
    assert x.is_realized and f"{x}" == str(x) == repr(x)
    large = np.arange(60000.0, dtype=np.float32).reshape(3, 100, 200)
    ends = np.array2string(large, separator=", ", prefix="Tensor(")
    assert repr(Tensor(large)) == f"Tensor({ends}, shape (3, 100, 200), float32 on {where})"
    assert f"{x.sum():.2f}" == "21.00" and str(Tensor(3)) == f"Tensor(3, int64 on {where})"
    assert before is None or len(before) >= 0


@pytest.mark.parametrize("name", ALL)
def test_values_of_every_type_are_shown(name):
    assert str(Tensor.ones(3, dtype=dtype_of(name))).count("1" if name != "boolean" else "True") >= 3
    assert "[]" in str(Tensor.zeros(0, dtype=dtype_of(name)))


def test_a_large_tensor_is_shown_in_part():
    text = str(Tensor.arange(1 << 20))
    assert "..." in text and len(text) < 200 and "1048575" in text


def test_printing_never_fails():
    wrong = Tensor([1.0, 2.0]).take(Tensor([7]))
    assert "cannot be computed" in str(wrong) and "index 7" in str(wrong)
    assert "[0., 0., 0., ..., 0., 0., 0.], shape (35184372088832,)" in str(Tensor.zeros(1 << 45))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "again",
    [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t)), lambda t: pickle.loads(pickle.dumps(t, protocol=2))],
)
def test_copies_have_values_type_and_device(name, again):
    for x in (
        Tensor([[0, 1, 1], [1, 0, 1]]).cast(dtype_of(name)),
        Tensor.ones(2, 2, dtype=dtype_of(name)),
        Tensor.zeros(0, 3, dtype=dtype_of(name)),
        Tensor(1).cast(dtype_of(name)),
    ):
        y = again(x)
        assert y.shape == x.shape and y.dtype == x.dtype and y.device == x.device and y.tolist() == x.tolist()


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_of_parameters_are_parameters(again):
    from strata import nn

    assert again(Tensor([1.0]).requires_grad_()).requires_grad and not again(Tensor([1.0])).requires_grad
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm(3))
    other = again(net)
    assert [p.tolist() for p in other.parameters()] == [p.tolist() for p in net.parameters()] and len(
        list(other.parameters())
    ) == 4
    other(Tensor.ones(2, 4)).square().sum().backward()
    assert all(p.grad is not None for p in other.parameters())


def test_bytes_that_are_no_bools_are_true():
    """As NumPy has it, whose arrays can hold such."""
    x = np.array([0, 1, 2, 255], np.uint8).view(bool)
    for t in (Tensor(x), strata.from_dlpack(x), strata.from_dlpack(x[::2])):
        want = x[:: 4 // t.shape[0]]
        for mine, theirs in (
            (t.cast("int32"), want.astype(np.int32)),
            (t.sum(), np.int64(np.count_nonzero(want))),
            (~t, want == False),
            (t == True, want == True),
            (t.logical_xor(True), want == False),
        ):  # noqa: E712
            assert mine.tolist() == theirs.tolist()


def test_a_deep_copy_has_memory_of_its_own():
    def twice(out):
        i = uop.range(4, 0, "global")
        return uop.sink(out[i].store(out[i].load() * 2.0).end(i))

    x = Tensor([1.0, 2.0, 3.0, 4.0]).realize()
    deep, shared = copy.deepcopy(x), copy.copy(x)
    assert x.custom_kernel(kernel=twice)[0].tolist() == [2, 4, 6, 8]
    assert deep.tolist() == [1, 2, 3, 4] and shared.shape == (4,)
    other = Tensor([1, 2]).to("emu:gfx942")
    assert pickle.loads(pickle.dumps(other)).device == "emu:gfx942"


def test_copies_require_gradients_as_the_tensor_does():
    x = Tensor([1.0, 2.0]).requires_grad_()
    deep, pickled = copy.deepcopy(x), pickle.loads(pickle.dumps(x))
    assert deep.requires_grad and pickled.requires_grad and not copy.deepcopy(x * 2).requires_grad
    (deep * 3).sum().backward()
    assert deep.grad.tolist() == [3, 3] and x.grad is None and pickled.grad is None
    again = copy.deepcopy(deep)
    (again * 4).sum().backward()
    assert (
        again.grad.tolist() == [7, 7] and deep.grad.tolist() == [3, 3] and pickle.loads(pickle.dumps(deep)).grad is None
    )
    restore, state = x.__reduce__()
    assert not restore(*state[:4]).requires_grad  # of a pickle that says nothing of gradients


def test_a_deep_copy_of_a_net_can_be_trained():
    net = strata.nn.Sequential(strata.nn.Linear(2, 3), strata.nn.Linear(3, 1))
    other = copy.deepcopy(net)
    other(Tensor.ones(1, 2)).sum().backward()
    assert all(p.grad is not None for p in other.parameters()) and all(p.grad is None for p in net.parameters())


def test_types_can_be_pickled():
    for t in [*dtypes.all, dtypes.index]:
        assert pickle.loads(pickle.dumps(t)) == t and copy.deepcopy(t) == t


def test_a_damaged_pickle_is_an_error():
    restore, (content, *rest) = Tensor([1.0, 2.0]).__reduce__()
    for wrong in (content[:-1], content + b"x", b""):
        with pytest.raises(strata.UsageError, match="bytes"):
            restore(wrong, *rest)


@pytest.mark.emulated
def test_views_of_device_memory_cannot_be_written():
    x = Tensor([1.0, 2.0]).realize()
    for view in (np.asarray(x), np.array(x, copy=False), np.from_dlpack(x)):
        assert not view.flags.writeable
        with pytest.raises(ValueError):
            view[0] = 50
    for own in (x.numpy(), np.array(x), np.asarray(x).copy(), np.from_dlpack(x, copy=True)):
        own[0] = 50
    assert (x + 1).tolist() == [2, 3]
    with pytest.raises(ValueError):
        np.array(x, dtype=np.float64, copy=False)


@pytest.mark.emulated
def test_dlpack_says_what_it_gives():
    x = Tensor([1.0, 2.0])
    assert x.__dlpack_device__() == (1, 0)
    assert (np.from_dlpack(x, device="cpu") == [1, 2]).all()
    for device in ((2, 0), (1, 1), (10, 0)):
        with pytest.raises(BufferError, match="dl_device"):
            x.__dlpack__(dl_device=device)
    for version, name in (
        (None, "dltensor"),
        ((0, 8), "dltensor"),
        ((1, 0), "dltensor_versioned"),
        ((1, 3), "dltensor_versioned"),
    ):
        assert f'"{name}"' in repr(x.__dlpack__(max_version=version))
    for version in ([], (), 1, "x", (1,), (1, 2, 3)):
        with pytest.raises(strata.UsageError, match="max_version is a pair"):
            x.__dlpack__(max_version=version)
    for _ in range(3):  # unused capsules free what they hold
        x.__dlpack__(copy=True, max_version=(1, 0))


def test_iteration_is_lazy_and_membership_compares():
    rows = iter(Tensor.zeros(1 << 40))
    assert next(rows).shape == ()
    assert 2.0 in Tensor([[1.0, 2.0]]) and 5 not in Tensor([1, 2])
