"""k.interpret gives what a call gives, by a reference that makes no code, and finds what is wrong in a kernel."""

import numpy as np
import pytest
import strata
from strata import Tensor, lang
from tested import TARGETS

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]


@strata.kernel(grid=lambda out, x, n: x.shape[0], block=64)
def rows(out, x, n):
    """Sums of rows, by lanes, local memory and atomics, with a branch that differs between threads."""
    row, t = lang.block_idx.x, lang.thread_idx.x
    total = 0
    for i in lang.range(t, x.shape[1], 64):
        if x[row, i] % 2 == 0 or i < n:
            total += x[row, i]
    own = lang.shared(64, "int32")
    own[t] = lang.wave_scan(total)
    lang.barrier()
    lang.atomic_add(out.at(row), own[63 - t] + lang.popcount(lang.ballot(total > 50)))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("target", TARGETS)
def test_it_gives_what_the_call_gives_and_leaves_the_arguments_alone(arch, target, rng):
    given = rng.integers(0, 99, (3, 150)).astype("int32")
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        x, zeros = Tensor(given), Tensor.zeros(3, dtype="int32")
        (found,) = rows.interpret(zeros, x, 40)
        assert zeros.numpy().tolist() == [0] * 3
        (out,) = rows(zeros, x, 40)
        assert np.array_equal(found.numpy(), out.numpy()) and out.numpy().all()


def test_tensors_come_in_the_order_of_the_arguments():
    @strata.kernel(grid=2, block=4)
    def kernel(first, x, second):
        i = lang.block_idx.x * 4 + lang.thread_idx.x
        second[i] = x[i] * 2.0
        first[i] = x[i] + lang.grid_dim.x

    x = np.arange(8, dtype="float32")
    first, second = kernel.interpret(Tensor.zeros(8), Tensor(x), Tensor.zeros(8))
    assert first.numpy().tolist() == (x + 2).tolist() and second.numpy().tolist() == (x * 2).tolist()
    first, second = kernel.interpret(Tensor.zeros(8), Tensor(x), Tensor.zeros(8), grid=1)
    assert first.numpy().tolist() == [1, 2, 3, 4, 0, 0, 0, 0]


def test_a_trace_lists_what_one_thread_computes():
    @strata.kernel(grid=2, block=4)
    def kernel(out, x):
        i = lang.block_idx.x * 4 + lang.thread_idx.x
        out[i] = x[i] * 10

    steps = kernel.interpret(Tensor.zeros(8, dtype="int32"), Tensor(np.arange(8, dtype="int32")), trace=(1, 2))
    values = [values for _, values in steps]
    assert [6] in values and [60] in values and values.index([6]) < values.index([60])


def found(function, error, text):
    with pytest.raises(error, match=text):
        strata.kernel(function, grid=1, block=64).interpret(Tensor.zeros(64, dtype="int32"))


def test_a_race_is_found():
    def race(out):
        own = lang.shared(64, "int32")
        own[lang.thread_idx.x] = lang.thread_idx.x
        out[lang.thread_idx.x] = own[63 - lang.thread_idx.x]

    found(race, strata.Error, r"thread \(0, 0, 0\) of block \(0, 0, 0\) reads what wave 1 wrote since the last barrier")


def test_a_read_of_what_nothing_wrote_is_found():
    def uninitialised(out):
        own = lang.shared(64, "int32")
        if lang.thread_idx.x < 63:
            own[lang.thread_idx.x] = 1
        lang.barrier()
        out[lang.thread_idx.x] = own[lang.thread_idx.x]

    found(uninitialised, strata.Error, r"thread \(63, 0, 0\) .* reads an element that nothing has written")


def test_an_access_outside_of_a_tensor_is_found():
    def outside(out):
        out[lang.thread_idx.x + 1] = 1

    found(outside, strata.MemoryFault, r"thread \(63, 0, 0\) .* writes element 64 of the tensor, which has 64")


def test_a_trap_is_found():
    def trap(out):
        out[lang.thread_idx.x] = 1
        if lang.thread_idx.x == 5:
            lang.trap()

    found(trap, strata.Error, r"thread \(5, 0, 0\) .* trap")


def test_wrong_requests_say_what_to_give():
    x = Tensor.zeros(3, dtype="int32")
    with pytest.raises(strata.UsageError, match="give a tensor for lang.TensorSpec"):
        rows.interpret(x, lang.TensorSpec((3, 4), "int32"), 1)
    with pytest.raises(strata.UsageError, match=r"trace is \(block, thread\)"):
        rows.interpret(x, Tensor.zeros(3, 4, dtype="int32"), 1, trace=3)
    with pytest.raises(strata.UsageError, match="there is no thread 64"):
        rows.interpret(x, Tensor.zeros(3, 4, dtype="int32"), 1, trace=(0, 64))
