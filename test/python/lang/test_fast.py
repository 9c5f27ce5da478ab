"""fast=: the chip's own instructions, within the bounds of codegen/tile/fast_functions.def."""

import numpy as np
import pytest
import strata
from strata import Tensor, lang
from tested import TARGETS

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]
BOUNDS = strata._strata._lang.fast_functions()
MEANINGS = {
    "exp2": np.exp2, "exp": np.exp, "log2": np.log2, "log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip
POSITIVE = {"log2", "log", "sqrt", "rsqrt"}


def inputs(name):
    x = np.random.default_rng(3).normal(0, 12, 512).astype("float32")
    x[:8] = [0.5, 1, 2, 3, 1e-3, 1e-6, 80, 30]
    return np.abs(x) + np.float32(1e-30) if name in POSITIVE else x


def most_off(name, x, value):
    relative, relative_of_x, absolute, absolute_of_x = BOUNDS[name]
    size = np.abs(x)
    return 2.0**-23 * ((relative + relative_of_x * size) * np.abs(value) + absolute + absolute_of_x * size) + 2.0**-126


def each(function, dtype="float32", **hints):
    @strata.kernel(grid=lambda out, *_: out.shape[0] // 64, block=64, **hints)
    def kernel(out, given):
        i = lang.block_idx.x * 64 + lang.thread_idx.x
        out[i] = function(given[i])

    return kernel


def test_every_function_with_an_instruction_is_tested():
    assert {*MEANINGS, "div"} == set(BOUNDS)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ARCHS)
def test_fast_functions_are_within_their_bounds(arch, target):
    for name, meaning in MEANINGS.items():
        x = inputs(name)
        want = meaning(x.astype("float64"))
        kernel = each(lambda v, of=getattr(lang, name): of(v, fast=True))
        with strata.config(device=f"emu:{arch}", target=target, check="raise"):
            (out,) = kernel(Tensor.zeros(512), Tensor(x))
            (found,) = kernel.interpret(Tensor.zeros(512), Tensor(x))
        for got in (out.numpy(), found.numpy()):
            off = np.abs(got.astype("float64") - want)
            assert (off <= most_off(name, x, want)).all(), (name, x[off.argmax()], off.max())


@pytest.mark.parametrize("target", TARGETS)
def test_a_fast_quotient_is_within_its_bound(target):
    a, b = inputs("sin"), inputs("cos")[::-1].copy()

    @strata.kernel(grid=2, block=256)
    def kernel(out, a, b):
        i = lang.block_idx.x * 256 + lang.thread_idx.x
        out[i] = lang.div(a[i], b[i], fast=True)

    with strata.config(target=target):
        got = kernel(Tensor.zeros(512), Tensor(a), Tensor(b))[0].numpy()
    want = a.astype("float64") / b
    assert (np.abs(got - want) <= 2.0**-23 * BOUNDS["div"][0] * np.abs(want)).all()


def test_special_values_are_those_of_the_functions():
    x = np.array([0, -np.inf, np.inf, np.nan] * 16, "float32")
    for name in ("exp2", "exp", "tanh", "sigmoid"):
        got = each(lambda v, of=getattr(lang, name): of(v, fast=True))(Tensor.zeros(64), Tensor(x))[0].numpy()
        with np.errstate(over="ignore"):
            assert np.array_equal(got, MEANINGS[name](x), equal_nan=True), name
    got = each(lambda v: lang.rsqrt(v, fast=True))(Tensor.zeros(64), Tensor(np.abs(x)))[0].numpy()
    assert got[:3].tolist() == [np.inf, 0, 0] and np.isnan(got[3])


def test_a_fast_function_is_the_instruction_alone():
    spec = lang.TensorSpec((64,), "float32")
    for name, mnemonic in (("exp2", "v_exp_f32"), ("log2", "v_log_f32"), ("rsqrt", "v_rsq_f32"), ("sin", "v_sin_f32")):
        fast = strata.compile(
            each(lambda v, of=getattr(lang, name): of(v, fast=True)), spec, spec, arch="gfx1100", target="asm"
        )
        slow = strata.compile(each(getattr(lang, name)), spec, spec, arch="gfx1100", target="asm")
        assert mnemonic in fast.assembly and len(fast.assembly) < len(slow.assembly)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_rounded_once(dtype):
    x = Tensor(inputs("log")).cast(dtype)
    (got,) = each(lambda v: lang.log(v, fast=True))(Tensor.zeros(512, dtype=dtype), x)
    want = x.cast("float32").numpy().astype("float64")
    got = got.cast("float32").numpy()
    unit = 2.0 ** (-10 if dtype == "float16" else -7)
    assert (np.abs(got - np.log(want)) <= unit * np.abs(np.log(want)) + 2.0**-20).all()


def test_the_decorator_makes_functions_and_quotients_fast():
    spec = lang.TensorSpec((64,), "float32")
    one = strata.compile(each(lambda v: lang.exp(v) / (v + 2), fast=True), spec, spec, arch="gfx1100", target="asm")
    asked = each(lambda v: lang.div(lang.exp(v, fast=True), v + 2, fast=True))
    same = strata.compile(asked, spec, spec, arch="gfx1100", target="asm")
    instructions = [[line for line in a.assembly.splitlines() if ";" not in line] for a in (one, same)]
    assert instructions[0] == instructions[1]
    slow = each(lambda v: lang.exp(v, fast=False), fast=True)
    assert "v_ldexp_f32" in strata.compile(slow, spec, spec, arch="gfx1100", target="asm").assembly
    wide = lang.TensorSpec((64,), "float64")
    assert "v_ldexp_f64" in strata.compile(each(lang.exp, fast=True), wide, wide, arch="gfx942", target="asm").assembly


def test_errors_say_which_functions_there_are():
    x = Tensor.ones(64)
    with pytest.raises(strata.Unsupported, match=r"lang.erf\] has no instruction of the chip: fast= is for exp2, exp"):
        each(lambda v: lang.erf(v, fast=True))(Tensor.zeros(64), x)
    with pytest.raises(strata.DTypeError, match="float32 and narrower"):
        each(lambda v: lang.exp(v.cast("float64"), fast=True))(Tensor.zeros(64), x)
