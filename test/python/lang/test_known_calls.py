"""Calls of kernels that are known already: they take the short way, and are checked as the first one was."""

import gc
import threading
import weakref

import numpy as np
import pytest
import strata
from called import called_by
from strata import Tensor, lang
from tested import specialisations


def counting(n, scale=1):
    return Tensor(np.arange(n, dtype="float32") * scale).realize()


def made():
    @strata.kernel(grid=lambda out, x, n: lang.cdiv(n, 4), block=4)
    def add(out: lang.Tensor, x: lang.Tensor, n):
        i = lang.block_idx.x * lang.block_dim.x + lang.thread_idx.x
        if i < n:
            out[i] = out[i] + x[i]

    return add


def known():
    """A kernel and its arguments in memory, after two calls."""
    add, out, x = made(), Tensor.zeros(10).contiguous().realize(), counting(10)
    for _ in range(2):
        add(out, x, 10)
    return add, out, x


def test_each_call_gives_the_tensor_that_it_wrote():
    add, out, x = known()
    (same,) = add(out, x, 10)
    assert same is out
    assert out.numpy().tolist() == [3 * i for i in range(10)]


def test_grid_and_block_may_be_given_by_name():
    add, out, x = known()
    add(out, x, 10, grid=1)
    add(out, x, 10, grid=(1, 1), block=None)
    add(out, x, 10, block=2, grid=None)  # another kernel: blocks of 2, in a grid of 3
    for _ in range(2):
        add(out, x, 10, grid=3, block=(4, 1, 1))
    assert specialisations(add) == 2
    assert out.numpy().tolist() == [(4 + 2 * (i < 4) + (i < 6)) * i for i in range(10)]
    add.grid = 1  # the decorator's from now on
    add(out, x, 10)
    assert out.numpy()[:5].tolist() == [0, 8, 16, 24, 20]


def test_arguments_by_name_and_streams_are_taken():
    add, out, x = known()
    add(x=x, out=out, n=10)
    add(out, x, n=10, stream=strata.Stream())
    assert out.numpy().tolist() == [4 * i for i in range(10)]


def test_a_tensor_that_others_see_keeps_its_value_for_them():
    add, out, x = known()
    other = out + 0.5
    view = out.reshape(2, 5)
    add(out, x, 10)
    assert out.numpy().tolist() == [3 * i for i in range(10)]
    assert other.numpy().tolist() == [2 * i + 0.5 for i in range(10)]
    assert view.numpy().tolist() == [[2 * i for i in range(5)], [2 * i for i in range(5, 10)]]


def test_tensors_that_are_not_in_memory_are_computed_first():
    add, out, x = known()
    lazy = x * 2
    add(out, lazy, 10)
    (fresh,) = add(Tensor.ones(10), x.flip(0), 10)
    assert out.numpy().tolist() == [4 * i for i in range(10)]
    assert fresh.numpy().tolist() == [10 - i for i in range(10)]


def test_mistakes_are_errors_as_in_the_first_call():
    add, out, x = known()
    with pytest.raises(strata.LaunchError, match="grid"):
        add(out, x, 10, grid=0)
    with pytest.raises(strata.LaunchError, match="1 to 3 dimensions"):
        add(out, x, 10, grid=(1, 1, 1, 1))
    with pytest.raises(TypeError, match="argument"):
        add(out, x)
    with pytest.raises(TypeError, match="argument"):
        add(out, x, 10, blocks=3)
    with pytest.raises(strata.UsageError, match="the parameter x is a lang.Tensor"):
        add(out, 3, 10)
    with pytest.raises(strata.DeviceError, match="emu:gfx942"):
        add(out, counting(10).to("emu:gfx942"), 10)
    with pytest.raises(strata.UsageError, match="64 bits at most"):
        add(out, x, 2**70)
    add(out, x, 10)
    assert out.numpy().tolist() == [3 * i for i in range(10)]


def test_another_device_shape_type_or_kind_of_number_is_another_kernel():
    add, out, x = known()
    assert specialisations(add) == 1
    there = [t.to("emu:gfx942") for t in (out, x)]
    for _ in range(2):
        add(*there, 10)
        add(Tensor.zeros(3), counting(3), 3)
        add(Tensor.zeros(10, dtype="float64"), x, 10)
        add(out, x, 10.0, grid=3)
    assert specialisations(add) == 5
    assert there[0].numpy().tolist() == [4 * i for i in range(10)]
    assert out.numpy().tolist() == [4 * i for i in range(10)]


def test_a_value_that_the_kernel_read_counts_in_each_call():
    factor = 2

    @strata.kernel(grid=1, block=1)
    def scaled(out):
        out[0] = out[0] * factor

    out = Tensor.ones(1).contiguous().realize()
    for wanted in (2, 4, 8):
        scaled(out)
        assert out.item() == wanted
    factor = 10
    scaled(out)
    assert out.item() == 80


def test_threads_call_one_kernel_at_once():
    add, _, x = known()
    outs = [Tensor.zeros(10).contiguous().realize() for _ in range(4)]

    def work(out):
        for _ in range(50):
            add(out, x, 10)

    threads = [threading.Thread(target=work, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for out in outs:
        assert out.numpy().tolist() == [50 * i for i in range(10)]


class Holder:
    pass


def called_kernel():
    """An object that a kernel and its grid reach, and that has the kernel."""
    holder = Holder()

    @strata.kernel(grid=lambda out: holder.blocks, block=1)
    def ring(out):
        out[0] = 1.0

    holder.blocks, holder.kernel = 1, ring
    for _ in range(3):
        ring(Tensor.zeros(1))
    return holder


def test_a_kernel_that_nobody_has_is_collected():
    gone = weakref.ref(called_kernel())
    gc.collect()
    assert gone() is None


def test_a_kernel_of_assembly_takes_other_arguments_and_sizes_in_each_call():
    text = """
        s_load_b64 s[4:5], s[0:1], 0x0
        s_load_b32 s6, s[0:1], 0x8
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v1, s6
        v_lshlrev_b32 v2, 2, v0
        global_store_b32 v2, v1, s[4:5]
        s_endpgm
    """
    with strata.config(device="emu:gfx1100"):
        fill = strata.asm_kernel(text, name="fill", args=["out", "n:int32"], grid=1, block=8)
        outs = [Tensor.zeros(8, dtype="int32").contiguous().realize() for _ in range(2)]
        for n in (3, 5):
            for out in outs:
                (same,) = fill(out, n)
                assert same is out
                assert out.numpy().tolist() == [n] * 8
        fill(outs[0], 7, block=4)
        assert outs[0].numpy().tolist() == [7] * 4 + [5] * 4
        with pytest.raises(strata.LaunchError, match="only a pointer can be None"):
            fill(outs[0], None)
        with pytest.raises(strata.LaunchError, match="takes 2 parameters"):
            fill(outs[0])
        with pytest.raises(TypeError):
            fill(outs[0], 1, threads=4)
        fill(*[outs[1], 9], **{"grid": 1})
        assert outs[1].numpy().tolist() == [9] * 8


def test_a_known_call_runs_no_python_of_strata_s():
    add, out, x = known()
    captured = strata.jit(lambda out, x: add(out, x, 10, grid=3)[0])
    for _ in range(4):
        add(out, x, 10, grid=3)
        captured(out, x)
    assert called_by(lambda: add(out, x, 10, grid=3)) == []
    assert called_by(lambda: captured(out, x)) == []
    assert len(called_by(lambda: add(out, x, 10))) == 2  # the grid's function, and lang.cdiv
