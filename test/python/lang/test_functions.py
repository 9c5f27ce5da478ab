"""Functions of values, and what threads compute together, against NumPy."""

import importlib
import math

import numpy as np
import pytest
import strata
from strata import Tensor, dtypes, lang
from strata.lang import _functions

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]


def computed(function, x, dtype="float32"):
    @strata.kernel(grid=1, block=len(x))
    def each(out, given):
        out[lang.thread_idx.x] = function(given[lang.thread_idx.x])

    return each(Tensor.zeros(len(x), dtype=dtype), Tensor(x))[0].numpy()


@pytest.mark.parametrize("name", ["exp", "log1p", "sqrt", "tanh", "sin", "floor", "abs", "sigmoid", "gelu", "atan"])
def test_functions_of_elements_are_those_of_tensors(name):
    x = np.linspace(0.1, 3, 32, dtype="float32")
    assert np.array_equal(computed(getattr(lang, name), x), getattr(Tensor(x), name)().numpy())


def test_larger_and_smaller_of_floats_with_nan():
    x = np.array([1, np.nan, -3, np.inf], "float32")
    assert np.array_equal(computed(lambda v: lang.maximum(v, 0.0), x), np.maximum(x, 0), equal_nan=True)
    assert np.array_equal(computed(lambda v: lang.fmax(v, 0.0), x), np.fmax(x, 0))
    assert np.array_equal(computed(lambda v: lang.fmin(v, 0.0), x), np.fmin(x, 0))
    assert np.array_equal(computed(lambda v: lang.clamp(v, -1.0, 2.0), x), np.clip(x, -1, 2), equal_nan=True)


@pytest.mark.parametrize("other", [3, -3, 7])
def test_division_rounds_down(other):
    x = np.arange(-16, 16, dtype="int32")
    assert np.array_equal(computed(lambda v: v // other, x, "int32"), x // other)
    assert np.array_equal(computed(lambda v: v % other, x, "int32"), x % other)
    assert np.array_equal(computed(lambda v: other // (v * 2 + 1), x, "int32"), other // (x * 2 + 1))
    assert np.array_equal(computed(lambda v: lang.cdiv(v, 3), x, "int32"), -(-x // 3))
    assert np.allclose(computed(lambda v: v / 4, x), x / 4)


def test_types_convert_and_promote():
    x = np.array([-2.7, 0.5, 3.9, 100.25], "float32")
    assert computed(lambda v: dtypes.int32(v), x, "int32").tolist() == [-2, 0, 3, 100]
    assert computed(lambda v: v.bitcast("int32"), x, "int32").tolist() == x.view("int32").tolist()
    assert computed(lambda v: (v > 0) + (v > 1) + 1, x, "int32").tolist() == [1, 2, 3, 3]
    assert computed(lambda v: v.cast("float16") * 2 + lang.thread_idx.x, x).tolist() == [
        float(np.float16(np.float16(np.float16(v) * 2) + np.float16(i))) for i, v in enumerate(x)
    ]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("op, numpy", [("add", np.sum), ("max", np.max), ("min", np.min)])
def test_a_block_is_reduced(arch, op, numpy):
    @strata.kernel(grid=2, block=256)
    def reduced(out, wave, x):
        row, i = lang.block_idx.x, lang.thread_idx.x
        out[row, i] = lang.block_reduce(x[row, i], op)
        wave[row, i] = lang.wave_reduce(x[row, i], op, width=8)

    x = np.random.default_rng(1).integers(-99, 99, (2, 256)).astype("int32")
    with strata.config(device=f"emu:{arch}", check="raise"):
        out, wave = reduced(*(Tensor.zeros(2, 256, dtype="int32") for _ in range(2)), Tensor(x))
        assert np.array_equal(out.numpy(), np.repeat(numpy(x, 1)[:, None], 256, 1))
        assert np.array_equal(wave.numpy(), np.repeat(numpy(x.reshape(2, 32, 8), 2), 8, 1))


@pytest.mark.parametrize("arch", ARCHS)
def test_a_block_is_scanned(arch):
    @strata.kernel(grid=1, block=100)
    def scanned(out, before, x):
        i = lang.thread_idx.x
        out[i] = lang.block_scan(x[i])
        before[i] = lang.block_scan(x[i], exclusive=True)

    x = np.random.default_rng(2).integers(-99, 99, 100).astype("int32")
    with strata.config(device=f"emu:{arch}", check="raise"):
        out, before = scanned(*(Tensor.zeros(100, dtype="int32") for _ in range(2)), Tensor(x))
        assert np.array_equal(out.numpy(), x.cumsum())
        assert np.array_equal(before.numpy(), x.cumsum() - x)


def test_random_words_are_those_of_the_host():
    @strata.kernel(grid=1, block=64)
    def words(out, floats, seed, first):
        i = lang.thread_idx.x
        for k, word in enumerate(lang.philox(seed, first + i)):
            out[i, k] = word
        floats[i] = lang.rand(seed, first + i)

    out, floats = words(Tensor.zeros(64, 4, dtype="uint32"), Tensor.zeros(64), 5, 1000)
    assert out.numpy().tolist() == [list(lang.philox(5, 1000 + i)) for i in range(64)]
    assert floats.numpy().tolist() == [lang.rand(5, 1000 + i) for i in range(64)]
    # The first vector that the paper's authors publish with ten rounds.
    assert lang.philox(0, 0) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)


def test_control_flow_as_functions():
    def f(x):
        low = lang.cond(x < 3, lambda: x * 2, lambda: -x)
        total = lang.loop(lang.range(4), lambda i, s: s + i * x, 0)
        steps = lang.while_loop(lambda s: s[0] > 1, lambda s: (s[0] // 2, s[1] + 1), (x, 0))[1]
        return low * 10000 + total * 100 + steps

    def want(x):
        return (x * 2 if x < 3 else -x) * 10000 + 6 * x * 100 + max(x, 1).bit_length() - 1

    x = np.arange(1, 9, dtype="int32")
    assert computed(f, x, "int32").tolist() == [want(int(v)) for v in x]


def test_bits_of_integers():
    for dtype in ("int32", "uint32", "int64", "uint8"):
        x = np.array([0, 1, 5, 96, 127], dtype)
        width = x.itemsize * 8
        text = [format(int(v), f"0{width}b") for v in x]
        assert computed(lang.popcount, x, "int32").tolist() == [t.count("1") for t in text]
        assert computed(lang.clz, x, "int32").tolist() == [len(t) - len(t.lstrip("0")) for t in text]
        assert computed(lang.ctz, x, "int32").tolist() == [len(t) - len(t.rstrip("0")) for t in text]
        assert computed(lang.reverse_bits, x, dtype).tolist() == [
            int(np.array(int(t[::-1], 2)).astype(dtype)) for t in text
        ]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype, ulps", [("float32", 2), ("float64", 2), ("float16", 1)])
def test_cube_roots(arch, dtype, ulps):
    info = np.finfo(dtype)
    x = np.concatenate(
        [
            np.geomspace(float(info.smallest_subnormal), float(info.max), 61),
            -np.geomspace(1e-3, 1e3, 30),
            [0.0, -0.0, np.inf, -np.inf, np.nan],
        ]
    ).astype(dtype)
    with strata.config(device=f"emu:{arch}"):
        got = computed(lang.cbrt, x, dtype)
    want = np.cbrt(x.astype("float64")).astype(dtype)
    near = np.abs(got - want) <= ulps * np.spacing(np.abs(want))
    assert np.array_equal(np.isnan(got), np.isnan(x)) and np.all(near | (got == want) | np.isnan(x))
    assert np.array_equal(np.signbit(got[:-1]), np.signbit(x[:-1]))


@pytest.mark.parametrize("dtype, ulps", [("float32", 16), ("float64", 64)])
def test_the_complement_of_the_error_function_has_its_tail(dtype, ulps):
    x = np.concatenate([np.linspace(-6, 9, 91), [25, 40, -40, np.inf, -np.inf, np.nan]]).astype(dtype)
    got, want = computed(lang.erfc, x, dtype), np.array([math.erfc(v) for v in x.astype("float64")])
    normal = want > np.finfo(dtype).tiny
    error = np.abs(got.astype("float64") - want)[normal] / (want[normal] * np.finfo(dtype).eps)
    assert error.max() <= ulps
    assert np.all(got[~normal & ~np.isnan(x)] <= np.finfo(dtype).tiny) and np.isnan(got[-1])


def test_random_integers_and_normal_numbers():
    @strata.kernel(grid=4, block=256)
    def draw(integers, normal, seed):
        i = lang.block_idx.x * 256 + lang.thread_idx.x
        integers[i] = lang.randint(seed, i, -3, 4)
        normal[i] = lang.randn(seed, i)

    integers, normal = (o.numpy() for o in draw(Tensor.zeros(1024, dtype="int32"), Tensor.zeros(1024), 9))
    assert integers.tolist() == [lang.randint(9, i, -3, 4) for i in range(1024)]
    assert set(integers.tolist()) == set(range(-3, 4))
    assert np.allclose(normal, [lang.randn(9, i) for i in range(1024)], atol=1e-5)
    assert abs(normal.mean()) < 0.1 and abs(normal.std() - 1) < 0.1
    with pytest.raises(strata.UsageError, match="low below high"):
        lang.randint(1, 2, 5, 5)
    with pytest.raises(strata.UsageError, match="gives int32"):
        lang.randint(1, 2, 0, 2**40)


def test_bits_are_of_integers():
    with pytest.raises(strata.DTypeError, match="takes integers, not float32"):
        strata.kernel(lambda x: lang.popcount(x[0]), grid=1, block=1).graph(lang.TensorSpec(4))


PACKAGE = """
import strata
from strata import lang


def halved_where_even(v):
    if v % 2 == 0:
        return v // 2
    return v


@strata.kernel(grid=1, block=8)
def collatz(out: lang.Tensor, x: lang.Tensor):
    v = x[lang.thread_idx.x]
    if v > 4:
        v = halved_where_even(v)
    out[lang.thread_idx.x] = v
"""


def test_kernels_of_an_installed_package_decide_by_values_and_so_do_its_helpers(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "kernels_of_others.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(folder))
    _functions._installed.cache_clear(), _functions._is_users.cache_clear()
    try:
        others = importlib.import_module("kernels_of_others")
        assert not _functions._is_users(others.__file__)
        (out,) = others.collatz(Tensor.empty(8, dtype="int32"), Tensor(np.arange(8, dtype=np.int32)))
        assert out.tolist() == [0, 1, 2, 3, 4, 5, 3, 7]
    finally:
        _functions._installed.cache_clear(), _functions._is_users.cache_clear()
