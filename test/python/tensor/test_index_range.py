"""An index outside of its axis is an error that names it. It comes at the call where the host has the index, else in
the kernel that uses it.
"""

import numpy as np
import pytest
import strata
from strata import Tensor
from tested import TARGETS

WRONG = [3, -4, 7, 2**31, 2**32 + 1, -(2**32), 2**40, 2**62, -(2**63), 2**63 - 1]


@pytest.mark.parametrize("i", WRONG)
def test_indices_that_the_host_has_are_checked_at_the_call(i):
    x = Tensor([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]])
    for key in (i, [0, i], np.array([i, 0]), np.array([[0], [i]])):
        with pytest.raises(strata.UsageError, match=rf"index {i} is out of range for axis 1 of size 3"):
            x[:, key]
        with pytest.raises(strata.UsageError, match="axis 1"):
            x[[0, 1], key] if not isinstance(key, int) else x[1, key]


USES = {
    "index": (lambda x, i: x[:, i], 1),
    "index of rows": (lambda x, i: x.T[i], 0),
    "two": (lambda x, i: x[Tensor([0, 1], device=x.device), i], 1),
    "take": (lambda x, i: x.take(i, 1), 1),
    "take flat": (lambda x, i: x[0].take(i), 0),
    "gather": (lambda x, i: x.gather(1, i.reshape(1, 2)), 1),
    "embedding": (lambda x, i: strata.nn.embedding(i, x.T), 0),
    "cross_entropy": (lambda x, i: strata.nn.cross_entropy(x, i), 1),
    "sum of": (lambda x, i: x[:, i].sum(), 1),
    "padded": (lambda x, i: x[0][i].pad([(2, 3)]), 0),
}


def shown(i):
    return max(min(i, 2**41 - 1), -(2**41) + 1)  # what the address of the fault has room for


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("device", ["emu:gfx1100", "emu:gfx942"])
def test_indices_that_a_device_has_fault_with_kernel_index_and_axis(use, device):
    call, axis = USES[use]
    x = Tensor([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]], device=device).realize()
    for i in WRONG:
        indices = Tensor([0, i], device=device).realize()
        with pytest.raises(strata.MemoryFault, match=rf"kernel '\w+'.*index {shown(i)} is outside of axis {axis}"):
            call(x, indices).realize()
    for good in ([0, 2], [-3, -1]):
        call(x, Tensor(good, device=device)).realize()


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_every_type_of_index_is_checked_and_counts_from_the_end(name):
    x = Tensor(np.arange(200, dtype=np.float32)).realize()
    info = np.iinfo(name)
    right = [i for i in (0, 100, 127, 199, -1, -100, -128, -200) if info.min <= i <= info.max]
    assert x[Tensor(np.array(right, name))].tolist() == np.arange(200)[right].tolist()
    for i in (200, 255, -201, info.max, info.min):
        if info.min <= i <= info.max and not -200 <= i < 200:
            with pytest.raises(strata.MemoryFault, match="outside of axis 0"):
                x[Tensor(np.array([1, i], name))].realize()


@pytest.mark.parametrize("target", TARGETS)
def test_a_negative_index_that_was_cast_to_one_without_a_sign_is_named_as_it_was(target):
    x = Tensor(np.arange(9, dtype=np.float32)).realize()
    for i in (-3, -(2**40)):
        with strata.config(target=target), pytest.raises(strata.MemoryFault, match=f"index {i} is outside of axis 0"):
            x.take(Tensor([i]).bitcast("uint64")).realize()


def test_within_a_larger_allocation_is_outside_all_the_same():
    x = Tensor(np.arange(10)).realize()[:3]
    with pytest.raises(strata.MemoryFault, match="index 5"):
        x[Tensor([5])].realize()
    with pytest.raises(strata.MemoryFault, match="index 1 "):
        Tensor([4.0])[Tensor([1])].realize()
    with pytest.raises(strata.MemoryFault, match="index 7"):
        Tensor.arange(3)[Tensor([7])].realize()


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("source", ["zeros", "ones", "a value", "a value in memory", "rows alike", "mask"])
def test_what_is_the_same_at_each_index_is_not_read_at_a_wrong_one(use, source):
    sources = {
        "zeros": Tensor.zeros(2, 3),
        "ones": Tensor.ones(2, 3),
        "a value": Tensor.full((2, 3), 7.0),
        "a value in memory": Tensor(7.0).realize().expand(2, 3),
        "rows alike": Tensor([[10.0], [20.0]]).expand(2, 3),
        "mask": Tensor.full((2, 3), True),
    }
    (call, axis), x = USES[use], sources[source]
    if source == "mask" and use in ("sum of", "cross_entropy"):
        pytest.skip("not of booleans")
    want = call(Tensor(x.numpy()), Tensor([0, 2])).tolist()
    assert call(x, Tensor([0, 2])).tolist() == want and call(x, Tensor([-3, -1])).tolist() == want
    for i in WRONG:
        with pytest.raises(strata.MemoryFault, match=rf"index {shown(i)} is outside of axis {axis}"):
            call(x, Tensor([0, i])).realize()
    with strata.config(check_indices=False):
        call(x, Tensor([0, 2])).realize()


def test_computed_indices_are_checked_where_they_are_read_only():
    x, steps = np.arange(9, dtype=np.float32), np.arange(3)
    i = Tensor.arange(3) * 4
    assert Tensor(x)[i].tolist() == x[steps * 4].tolist()
    padded = Tensor(x)[i].pad([(2, 3)])
    assert padded.tolist() == np.pad(x[steps * 4], (2, 3)).tolist()
    joined = strata.cat([Tensor(x)[i], Tensor(x)[i - 1][1:]])
    assert joined.tolist() == [0, 4, 8, 3, 7]
    with pytest.raises(strata.MemoryFault, match="index 12"):
        Tensor(x)[Tensor.arange(4) * 4].realize()


def test_schedules_of_a_search_keep_the_check():
    x, i = (
        np.random.default_rng(0).random((37, 53)).astype(np.float32),
        np.random.default_rng(1).integers(-53, 53, (41,)),
    )
    with strata.config(beam=2):
        np.testing.assert_allclose(Tensor(x)[:, Tensor(i)].sum(1).numpy(), x[:, i].sum(1), rtol=1e-5)
        np.testing.assert_allclose(
            Tensor(x)[:, Tensor.arange(13) * 4].sum(0).numpy(), x[:, np.arange(13) * 4].sum(0), rtol=1e-5
        )


@pytest.mark.emulated
def test_the_check_can_be_turned_off():
    x = Tensor(np.arange(10.0)).realize()[:3]
    with strata.config(check_indices=False):
        assert x[Tensor([5])].tolist() == [5.0] and x[Tensor([-1])].tolist() == [2.0]
        with pytest.raises(strata.MemoryFault):  # 2**32 + 1 is not 1
            Tensor([10.0, 20.0]).realize()[Tensor([2**32 + 1])].realize()


def test_lists_of_floats_are_named_and_single_booleans_are_masks():
    x = Tensor([1.0, 2.0, 3.0])
    with pytest.raises(strata.Error, match="float32"):
        x[[0.5]]
    assert x[np.True_].tolist() == x[True].tolist() == [[1.0, 2.0, 3.0]] and x[False].shape == (0, 3)
    assert x[[]].shape == (0,) and x[np.array(1)].tolist() == 2.0 and x[np.int8(-1)].tolist() == 3.0
