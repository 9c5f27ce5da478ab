"""Copies from global to local memory without registers: where chips have them, when they are there, what is refused."""

import numpy as np
import pytest
import strata
from strata import Tensor, lang, layout as lo
from tested import TARGETS

BY_LANES = ["gfx942", "gfx90a"]
BLOCK = 128


def copies(x, own, dtype, thread):
    """A tile of 16 x 32 dwords, four accesses a thread."""
    n = 32 // lang_bits(dtype)
    atom = lang.CopyAtom(32, dtype, "async")
    tiled = lang.make_tiled_copy_tv(atom, lo.Layout((4, 32), (32, 1)), lo.Layout((1, n)))
    mine = tiled.get_slice(thread)
    lang.copy(atom, mine.partition_S(x), mine.partition_D(own))


def lang_bits(dtype):
    return np.dtype(dtype.name if hasattr(dtype, "name") else dtype).itemsize * 8


@strata.kernel(grid=lambda out, x, wait: x.shape[0] // 16, block=BLOCK)
def turned(out, x: lang.Tensor, wait: lang.Constexpr):
    """Tiles of x through local memory, rows and columns the other way round."""
    t, width = lang.thread_idx.x, x.shape[1]
    own = lang.shared(lo.Layout((16, width), (width, 1)), x.dtype)
    copies(lo.local_tile(x, (16, width), (lang.block_idx.x, 0)), own, x.dtype, t)
    if wait != "commit":
        lang.async_commit()
    if wait != "wait":
        lang.async_wait(1 if wait == "one" else 0)
    if wait != "barrier":
        lang.barrier()
    for i in lang.range(t, 16 * width, BLOCK):
        out[lang.block_idx.x * 16 + i // width, i % width] = own[15 - i // width, width - 1 - i % width]


def turned_by_numpy(x):
    return x.reshape(-1, 16, x.shape[1])[:, ::-1, ::-1].reshape(x.shape)


def drawn(rng, dtype):
    return rng.integers(-100, 100, (48, 32 * 32 // lang_bits(dtype))).astype(dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", BY_LANES)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_what_was_copied_is_there_after_the_wait(rng, arch, target, dtype):
    x = drawn(rng, dtype)
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        out, given = Tensor.zeros(*x.shape, dtype=dtype), Tensor(x)
        assert np.array_equal(turned.interpret(out, given, "all")[0].numpy(), turned_by_numpy(x))
        assert np.array_equal(turned(out, given, "all")[0].numpy(), turned_by_numpy(x))


def test_its_code_is_one_instruction_an_access_and_no_register(rng):
    for arch, name in (("gfx942", "global_load_lds_dword"), ("gfx90a", "lds")):
        spec = lang.TensorSpec((48, 64), "float16")
        text = strata.compile(turned, spec, spec, "all", arch=arch, target="asm").assembly
        loads = [line for line in text.splitlines() if "global_load" in line]
        assert len(loads) == 4 and all(name in line for line in loads), loads
        assert "ds_store" not in text and "ds_write" not in text and text.count("m0") >= 4


@pytest.mark.parametrize("wait, says", [
    ("commit", "reads what an asynchronous copy may still write: put lang.async_wait"),
    ("wait", "reads what an asynchronous copy may still write: put lang.async_wait"),
    ("one", "reads what an asynchronous copy may still write: put lang.async_wait"),
    ("barrier", "wrote since the last barrier: put a barrier between them"),
])  # fmt: skip
def test_the_interpreter_finds_what_is_read_too_early(rng, wait, says):
    x = drawn(rng, "float32")
    with strata.config(device="emu:gfx942"), pytest.raises(strata.Error, match=says):
        turned.interpret(Tensor.zeros(*x.shape), Tensor(x), wait)


@pytest.mark.parametrize("wait", ["wait", "one"])
@pytest.mark.parametrize("arch", BY_LANES)
def test_strict_mode_finds_a_missing_wait_in_the_code(rng, arch, wait):
    x = drawn(rng, "float32")
    with strata.config(device=f"emu:{arch}", target="asm", check="raise"):
        with pytest.raises(strata.CheckError, match="of local memory is read while global_load.*may still write it"):
            turned(Tensor.zeros(*x.shape), Tensor(x), wait)


@strata.kernel(grid=1, block=64)
def pipelined(out, x, groups: lang.Constexpr, left: lang.Constexpr):
    """Sums of rows of 64, a row in each of two parts of local memory, the next one under way."""
    t, steps = lang.thread_idx.x, x.shape[0]
    own = lang.shared(lo.Layout((2, 64), (64, 1)), "float32")
    atom = lang.CopyAtom(32, "float32", "async")

    def begin(row):
        lang.copy(
            atom,
            lo.composition(x[row, None], lo.Layout((1, 64)))[None, t],
            own[row % 2, None].view(lo.Layout((1, 64)))[None, t],
        )
        lang.async_commit()

    begin(0)
    total = 0.0
    for row in lang.range(steps - 1):
        begin(row + 1)
        lang.async_wait(left)
        lang.barrier()
        total += own[row % 2, 63 - t]
        lang.barrier()
    lang.async_wait(0)
    lang.barrier()
    out[t] = total + own[(steps - 1) % 2, 63 - t]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", BY_LANES)
def test_a_copy_is_under_way_while_the_one_before_is_read(rng, arch, target):
    x = rng.integers(-9, 9, (7, 64)).astype("float32")
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        out, given = Tensor.zeros(64), Tensor(x)
        for left in (0, 1):
            assert np.array_equal(pipelined.interpret(out, given, 2, left)[0].numpy(), x.sum(0)[::-1])
            assert np.array_equal(pipelined(out, given, 2, left)[0].numpy(), x.sum(0)[::-1])
        text = strata.compile(pipelined, out, given, 2, 1, arch=arch, target="asm").assembly
        assert "vmcnt(1)" in text
        with pytest.raises(strata.Error, match="may still write"):
            pipelined.interpret(out, given, 2, 2)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", BY_LANES)
def test_lanes_without_the_predicate_copy_nothing(rng, arch, target):
    @strata.kernel(grid=1, block=64)
    def kernel(out, x, n):
        t = lang.thread_idx.x
        own = lang.shared(64, "int32")
        own[t] = -1
        lang.barrier()
        place = lo.composition(own, lo.Layout((1, 64)))
        lang.copy(
            lang.CopyAtom(32, "int32", "async"),
            lo.composition(x, lo.Layout((1, 64)))[None, t],
            place[None, t],
            (t >= 5) & (t < n),
        )
        lang.async_commit()
        lang.async_wait()
        lang.barrier()
        out[t] = own[63 - t]

    x = rng.integers(0, 99, 64).astype("int32")
    t = np.arange(64)
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        out, given = Tensor.zeros(64, dtype="int32"), Tensor(x)
        wanted = np.where((t >= 5) & (t < 40), x, -1)[::-1]
        assert np.array_equal(kernel.interpret(out, given, 40)[0].numpy(), wanted)
        assert np.array_equal(kernel(out, given, 40)[0].numpy(), wanted)


def copied(bits, dtype, source, target, arch="gfx942", rows=8):
    @strata.kernel(grid=1, block=64)
    def kernel(out, x):
        own = lang.shared(target, dtype)
        atom = lang.CopyAtom(bits, dtype, "async")
        mine = lang.make_tiled_copy_tv(atom, *source).get_slice(lang.thread_idx.x)
        lang.copy(atom, mine.partition_S(x), mine.partition_D(own))
        lang.async_commit()
        lang.async_wait()
        lang.barrier()
        out[lang.thread_idx.x] = own[0, 0]

    spec = lang.TensorSpec((rows, 16), dtype)
    return strata.compile(kernel, spec, spec, arch=arch)


ROWS = lo.Layout((8, 16), (16, 1))


@pytest.mark.parametrize("threads, values, own", [
    (lo.Layout((8, 8)), lo.Layout((1, 2)), ROWS),                      # down the columns
    (lo.Layout((8, 8), (8, 1)), lo.Layout((1, 2)), lo.Layout((8, 16), (24, 1))),  # rows with a gap
])  # fmt: skip
def test_threads_in_another_order_than_local_memory_are_refused(threads, values, own):
    with pytest.raises(lo.LayoutError, match=r"4 bytes of each lane after those of the lane before.*Layout\(\(m, n\)"):
        copied(32, "float16", (threads, values), own)
    assert copied(32, "float16", (lo.Layout((8, 8), (8, 1)), lo.Layout((1, 2))), ROWS).code_object


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "sm_75"])
def test_chips_without_such_copies_list_what_they_have(arch):
    with pytest.raises(strata.Unsupported, match=f"{arch} has no copy 'async' of 32 bits; it has universal of 8"):
        lang.CopyAtom(32, "float32", "async", arch=arch)


def test_widths_are_those_of_the_chip():
    with pytest.raises(strata.Unsupported, match=r"no copy 'async' of 128 bits; it has .*async of 32 bits"):
        lang.CopyAtom(128, "float32", "async", arch="gfx942")
    for bits in (32, 64, 128):
        assert lang.CopyAtom(bits, "float16", "async", arch="sm_90").elements == bits // 16
    assert ("async", 32) in strata.arch("gfx90a").copy_atoms and ("async", 128) in strata.arch("sm_80").copy_atoms


@pytest.mark.parametrize("bits", [32, 64, 128])
def test_nvidia_s_compiler_takes_each_width(bits):
    """Its text, where NVRTC is there. No card runs it here."""
    n = bits // 16
    source = lo.Layout((64 * n // 16, 16 // n), (16 // n, 1)), lo.Layout((1, n))
    with strata.config(target="hip"):
        try:
            own = lo.Layout((64 * n // 16, 16), (16, 1))
            made = copied(bits, "float16", source, own, "sm_90", rows=64 * n // 16)
        except strata.DeviceError as missing:
            pytest.skip(str(missing))
    assert f"strata_copy_async<{bits // 8}>(" in made.source and "strata_copies_of_step_end();" in made.source
    assert "strata_copies_done<0>();" in made.source


def test_wrong_copies_and_waits_are_refused():
    def run(body, error, says):
        @strata.kernel(grid=1, block=64)
        def kernel(out, x):
            body(x, lang.shared(64, "float32"), lang.thread_idx.x)
            out[lang.thread_idx.x] = 1.0

        spec = lang.TensorSpec((64,), "float32")
        with pytest.raises(error, match=says):
            strata.compile(kernel, spec, spec, arch="gfx942")

    def one(view, t):
        return lo.composition(view, lo.Layout((1, 64)))[None, t]

    def atom():
        return lang.CopyAtom(32, "float32", "async")

    run(lambda x, own, t: lang.copy(atom(), one(own, t), one(x, t)), strata.UsageError, "from a tensor to lang.shared")
    run(
        lambda x, own, t: lang.gather(atom(), x, lang.registers(1, "int32"), lang.registers(1)),
        strata.Unsupported,
        "go through registers",
    )
    run(
        lambda x, own, t: lang.copy(atom(), one(lang.bounded(x), t + 1), one(own, t)),
        strata.Unsupported,
        "bounded view",
    )
    run(lambda x, own, t: lang.async_wait(-1), strata.UsageError, "waits until 0 groups or more")
    run(lambda x, own, t: lang.CopyAtom(32, "float32", "async", cache="streaming"), strata.Unsupported, "has no cache=")

    @strata.kernel(grid=1, block=64)
    def branches(out):
        if lang.thread_idx.x < 3:
            lang.async_wait()
        out[lang.thread_idx.x] = 1.0

    with pytest.raises(strata.UsageError, match=r"async_wait\] in a branch"):
        strata.compile(branches, lang.TensorSpec((64,), "float32"), arch="gfx942")
