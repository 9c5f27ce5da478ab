"""Instructions as text and functions of HIP source in kernels, and hints to the hardware."""

import numpy as np
import pytest
import strata
from strata import Tensor, lang
from tested import TARGETS

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]
HIP = [t for t in TARGETS if t == "hip"]
X = np.random.default_rng(5).integers(0, 2**32, 64, dtype="uint32")


def each(function, **hints):
    @strata.kernel(grid=1, block=64, **hints)
    def kernel(outs, given):
        i = lang.thread_idx.x
        results = function(given[i])
        for out, result in zip(outs, results if isinstance(results, tuple) else (results,)):
            out[i] = result

    return kernel


@strata.kernel(grid=1, block=64)
def two_outputs(first, second, given):
    i = lang.thread_idx.x
    low, high = lang.inline_asm("v_and_b32 %0, 0xff, %2\nv_lshrrev_b32 %1, 8, %2", ("uint32", "uint32"), (given[i],))
    first[i], second[i] = low, high


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_instructions_compute_outputs_from_inputs(arch, target):
    @strata.kernel(grid=1, block=64)
    def kernel(out, given, n):
        i = lang.thread_idx.x
        mixed = lang.inline_asm("v_bfe_u32 %0, %1, 4, 8", "uint32", (given[i],))
        two = "v_xor_b32 %0, %1, %2\nv_add_u32 %0, %0, %3"
        text = two if arch == "gfx90a" else "v_xad_u32 %0, %1, %2, %3"
        out[i] = lang.inline_asm(text, "uint32", (mixed, n, i))

    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        (out,) = kernel(Tensor.zeros(64, dtype="uint32"), Tensor(X), 5)
        first, second = two_outputs(*(Tensor.zeros(64, dtype="uint32") for _ in range(2)), Tensor(X))
        assert np.array_equal(out.numpy(), ((X >> 4 & 255) ^ 5) + np.arange(64, dtype="uint32"))
        assert np.array_equal(first.numpy(), X & 255) and np.array_equal(second.numpy(), X >> 8)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_outputs_of_several_types_and_of_64_bits(arch, target):
    @strata.kernel(grid=1, block=64)
    def kernel(wide, half, bits, given):
        i = lang.thread_idx.x
        x = given[i].cast("float32")
        wide[i] = lang.inline_asm("v_cvt_f64_f32 %0, %1", "float64", (x,))
        half[i], bits[i] = lang.inline_asm("v_mul_f32 %0, 0.5, %2\nv_mov_b32 %1, %2", ("float32", "int32"), (x,))

    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        given = [Tensor.zeros(64, dtype=t) for t in ("float64", "float32", "int32")]
        wide, half, bits = kernel(*given, Tensor(X))
        x = X.astype("float32")
        assert np.array_equal(wide.numpy(), x.astype("float64"))
        assert np.array_equal(half.numpy(), x / 2) and np.array_equal(bits.numpy(), x.view("int32"))


def test_instructions_in_loops_and_branches():
    @strata.kernel(grid=1, block=64)
    def kernel(out, given):
        i = lang.thread_idx.x
        total = given[i]
        for k in range(3):
            total = lang.inline_asm("v_add_nc_u32 %0, %1, %2", "uint32", (total, k))
        if i % 2 == 0:
            total = lang.inline_asm("v_not_b32 %0, %1", "uint32", (total,))
        out[i] = total

    with strata.config(target="asm", device="emu:gfx1100"):
        got = kernel(Tensor.zeros(64, dtype="uint32"), Tensor(X))[0].numpy()
    assert np.array_equal(got, np.where(np.arange(64) % 2 == 0, ~(X + 3), X + 3))


@pytest.mark.parametrize(
    "text, outputs, message",
    [
        ("v_frobnicate %0, %1", "uint32", "is no instruction"),
        ("v_mov_b32 v5, %1", "uint32", "names the register v5"),
        ("s_mov_b32 s0, 1", "uint32", "names the register s0"),
        ("v_cmp_lt_u32 vcc_lo, %1, %1", "uint32", "names the register vcc_lo"),
        ("v_mov_b32 %0, %7", "uint32", "there are %0 to %1"),
        ("v_mov_b32 %1, 1", "uint32", "writes what is no result"),
        ("v_mov_b32 %0, %0", "uint32", "before it is written"),
        ("v_fmac_f32 %0, %1, %1", "float32", "nothing has written"),
        ("s_endpgm", "uint32", "does more than compute"),
        ("v_mov_b32 %0, %2", ("uint32", "uint32"), "does not write the result %1"),
    ],
)
def test_texts_that_do_more_than_compute_are_refused(text, outputs, message):
    @strata.kernel(grid=1, block=64)
    def kernel(out, given):
        results = lang.inline_asm(text, outputs, (given[lang.thread_idx.x],))
        out[lang.thread_idx.x] = (results[0] if isinstance(results, tuple) else results).bitcast("uint32")

    with strata.config(device="emu:gfx1100", target="asm"), pytest.raises(strata.AssemblyError, match=message):
        kernel(Tensor.zeros(64, dtype="uint32"), Tensor(X))


def test_operands_of_other_widths_are_refused():
    @strata.kernel(grid=1, block=64)
    def kernel(out, given, kind: lang.Constexpr):
        i = lang.thread_idx.x
        if kind == "narrow":
            out[i] = lang.inline_asm("v_mov_b32 %0, %1", "uint32", (given[i].cast("uint8"),))
        elif kind == "mixed":
            out[i] = lang.inline_asm("v_mov_b32 %0, %1", ("uint32", "float64"), (given[i],))[0]
        elif kind == "none":
            lang.inline_asm("s_nop 0", (), (given[i],))
        else:
            out[i] = lang.inline_asm("", "uint32", (given[i],))

    for kind, error, message in (
        ("narrow", strata.DTypeError, "32 and 64 bits, not uint8"),
        ("mixed", strata.DTypeError, "all have one width"),
        ("none", strata.UsageError, "1 to 16 outputs"),
        ("empty", strata.UsageError, "string of instructions"),
    ):
        with pytest.raises(error, match=message):
            kernel(Tensor.zeros(64, dtype="uint32"), Tensor(X), kind)


def test_the_interpreter_says_that_it_does_not_know_a_text():
    with pytest.raises(strata.Unsupported, match="does not know"):
        two_outputs.interpret(*(Tensor.zeros(64, dtype="uint32") for _ in range(2)), Tensor(X))


rotated = lang.extern(
    "__device__ unsigned rotated(unsigned x, int by) { return x << by | x >> (32 - by); }",
    "rotated", ["uint32", "int32"], "uint32",
)  # fmt: skip


@strata.kernel(grid=1, block=64)
def rotates(out, given):
    i = lang.thread_idx.x
    out[i] = rotated(given[i], 7) ^ rotated(given[i], 9)


@pytest.mark.parametrize("target", HIP)
@pytest.mark.parametrize("arch", ARCHS)
def test_functions_of_hip_source_are_called(arch, target):
    with strata.config(device=f"emu:{arch}", target=target):
        got = rotates(Tensor.zeros(64, dtype="uint32"), Tensor(X))[0].numpy()
    assert np.array_equal(got, (X << 7 | X >> 25) ^ (X << 9 | X >> 23))


def test_the_target_asm_says_that_hip_source_is_not_compiled():
    with (
        strata.config(target="asm"),
        pytest.raises(strata.Unsupported, match="rotated is a function of HIP source.*hip"),
    ):
        rotates(Tensor.zeros(64, dtype="uint32"), Tensor(X))


def test_wrong_functions_are_refused():
    with pytest.raises(strata.UsageError, match="no name of a function"):
        lang.extern("int f() { return 1; }", "f g", [], "int32")
    with pytest.raises(strata.UsageError, match="returns one number"):
        lang.extern("int f() { return 1; }", "f", [], ("int32", "int32"))
    with pytest.raises(strata.UsageError, match="takes 2 numbers, and got 1"):
        each(lambda x: rotated(x))((Tensor.zeros(64, dtype="uint32"),), Tensor(X))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_a_priority_is_set_and_changes_no_value(arch, target):
    @strata.kernel(grid=1, block=64)
    def kernel(out, given):
        i = lang.thread_idx.x
        lang.set_priority(2)
        out[i] = given[i] + 1
        lang.set_priority(0)

    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        out, given = Tensor.zeros(64, dtype="uint32"), Tensor(X)
        assert np.array_equal(kernel(out, given)[0].numpy(), X + 1)
        assert np.array_equal(kernel.interpret(out, given)[0].numpy(), X + 1)
        assert "s_setprio 2" in strata.compile(kernel, out, given, arch=arch).assembly


def test_priorities_of_branches_and_beyond_3_are_refused():
    def run(level, branch):
        @strata.kernel(grid=1, block=64)
        def kernel(out):
            if not branch or lang.thread_idx.x < 3:
                lang.set_priority(level)
            out[lang.thread_idx.x] = 1

        kernel(Tensor.zeros(64))

    with pytest.raises(strata.UsageError, match="0 to 3"):
        run(4, False)
    with pytest.raises(strata.UsageError, match="in a branch"):
        run(1, True)


def many_registers(**hints):
    @strata.kernel(grid=1, block=64, **hints)
    def kernel(out, given):
        i = lang.thread_idx.x
        values = [given[i + k] for k in range(64)]
        for _ in range(2):
            values = [(a * 3) ^ b for a, b in zip(values, values[1:] + values[:1])]
        for k, value in enumerate(values):
            out[i + k * 64] = value

    return kernel


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("hints, most", [({"registers": 32}, 32), ({"waves": 16}, 96)])
def test_hints_limit_registers_and_keep_values(target, hints, most):
    given = Tensor(np.arange(128, dtype="uint32"))
    with strata.config(device="emu:gfx1100", target=target):
        free = many_registers()
        hinted = many_registers(**hints)
        out = Tensor.zeros(4096, dtype="uint32")
        assert np.array_equal(free(out, given)[0].numpy(), hinted(Tensor.zeros(4096, dtype="uint32"), given)[0].numpy())
        assert strata.compile(hinted, out, given, arch="gfx1100").kernels[0].vgprs <= most
        if "registers" in hints:
            assert strata.compile(free, out, given, arch="gfx1100").kernels[0].vgprs > most


def test_hints_are_in_the_graph_and_checked():
    spec = lang.TensorSpec((4096,), "uint32"), lang.TensorSpec((128,), "uint32")
    assert "waves=4 registers=64" in many_registers(waves=4, registers=64).graph(*spec).tree()
    for hints, message in (({"waves": 0}, "waves=0: an integer from 1"), ({"registers": "8"}, "registers='8'")):
        with pytest.raises(strata.UsageError, match=message):
            many_registers(**hints)
