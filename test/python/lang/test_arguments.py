"""Arguments of kernels: tensors whose sizes come with the launch, addresses, objects of other classes, constants."""

import numpy as np
import pytest
import strata
from strata import Tensor, dtypes, lang, layout as lo
from tested import TARGETS, specialisations

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]


@pytest.fixture(params=[(arch, target) for arch in ARCHS for target in TARGETS], ids=lambda p: "-".join(p))
def machine(request):
    arch, target = request.param
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        yield arch


def transpose(block=16):
    @strata.kernel(grid=lambda out, x: tuple(lang.cdiv(n, block) for n in x.shape), block=(block, block))
    def transposed(out, x):
        i = lang.block_idx.x * block + lang.thread_idx.x
        j = lang.block_idx.y * block + lang.thread_idx.y
        if i < x.shape[0] and j < x.shape[1]:
            out[j, i] = x[i, j]

    return transposed


def test_one_program_for_all_shapes(machine, rng):
    kernel = transpose()
    for shape in ((3, 5), (17, 30), (1, 40), (40, 1)):
        x = rng.standard_normal(shape).astype("float32")
        out = Tensor.zeros(*shape[::-1])
        kernel(lang.dynamic(out), lang.dynamic(Tensor(x)))
        assert np.array_equal(out.numpy(), x.T)
    assert specialisations(kernel) == 1


def test_a_divisor_of_the_leading_size_lets_accesses_be_wide():
    @strata.kernel(grid=lambda out, x: x.shape[0], block=32)
    def doubled(out, x):
        row = lang.block_idx.x
        for at in lang.range(lang.thread_idx.x, x.shape[1] // 4, 32):
            lang.autovec_copy(lo.local_tile(x, (1, 4), (row, at)), lo.local_tile(out, (1, 4), (row, at)))

    given = np.arange(3 * 24, dtype="float32").reshape(3, 24)
    x, out = Tensor(given), Tensor.zeros(3, 24)
    doubled(lang.dynamic(out, divisibility=4), lang.dynamic(x, divisibility=4))
    assert np.array_equal(out.numpy(), given)
    text = [
        strata.compile(doubled.compiled(*(lang.dynamic(t, divisibility=d) for t in (out, x)), arch="gfx1100"),
                       arch="gfx1100", target="asm").assembly
        for d in (4, 1)
    ]  # fmt: skip
    assert "global_load_b128" in text[0] and "global_load_b128" not in text[1]


def test_bounds_are_those_of_the_launch(machine):
    @strata.kernel(grid=1, block=16)
    def shifted(out, x):
        t = lang.thread_idx.x
        out[t] = lang.bounded(x)[t + 3]

    for n in (4, 10, 16):
        x = np.arange(n, dtype="int32") + 1
        (out,) = shifted(Tensor.zeros(16, dtype="int32"), lang.dynamic(Tensor(x)))
        assert out.numpy().tolist() == [int(x[i]) if i < n else 0 for i in range(3, 19)]


def test_the_reference_and_a_call_agree_on_sizes_of_the_launch(rng):
    x = rng.standard_normal((5, 9)).astype("float32")
    (found,) = transpose().interpret(lang.dynamic(Tensor.zeros(9, 5)), lang.dynamic(Tensor(x)))
    assert np.array_equal(found.numpy(), x.T)


def test_wrong_claims_say_what_holds():
    x = Tensor.zeros(6, 10)
    kernel = transpose()
    with pytest.raises(strata.UsageError, match="dimension 0 .* has stride 10, not 1: the leading dimension is 1"):
        kernel(x, lang.dynamic(x, leading_dim=0))
    with pytest.raises(strata.UsageError, match="the size 10 of dimension 1 is no multiple of 4"):
        kernel(x, lang.dynamic(x, divisibility=4))
    with pytest.raises(strata.UsageError, match="is no dimension of"):
        lang.dynamic(x, leading_dim=2)
    with pytest.raises(strata.UsageError, match="an integer of at least 1"):
        lang.dynamic(x, divisibility=0)
    with pytest.raises(strata.UsageError, match="without dimensions"):
        lang.dynamic(Tensor(1.0))
    with pytest.raises(strata.UsageError, match="takes a tensor, not 3"):
        lang.dynamic(3)


def test_a_pointer_is_memory_that_the_caller_answers_for():
    @strata.kernel(grid=1, block=8)
    def doubled(out, p):
        view = lang.make_view(p, lo.Layout((2, 4), (4, 1)))
        t = lang.thread_idx.x
        out[t] = view[t // 4, t % 4] * 2

    x = Tensor(np.arange(8, dtype="float32")).contiguous().realize()
    address = np.asarray(x).ctypes.data
    (out,) = doubled(Tensor.zeros(8), lang.pointer(address, "float32"))
    assert out.numpy().tolist() == [2 * i for i in range(8)]
    with pytest.raises(strata.UsageError, match="not aligned to float32: 4 bytes"):
        lang.pointer(address + 2, "float32")
    with pytest.raises(strata.UsageError, match="a positive integer of 64 bits"):
        lang.pointer(-1, "float32")
    with pytest.raises(strata.UsageError, match="give one for lang.pointer"):
        doubled.interpret(Tensor.zeros(8), lang.pointer(address, "float32"))


class Pair:
    def __init__(self, tensor, scale, name):
        self.tensor, self.scale, self.name = tensor, scale, name


def test_objects_of_other_classes_stand_for_tensors_numbers_and_constants():
    lang.register_argument(Pair, lambda p: (p.tensor, p.scale, p.name))

    @strata.kernel(grid=1, block=4)
    def scaled(out, pair):
        x, scale, name = pair
        out[lang.thread_idx.x] = x[lang.thread_idx.x] * scale + len(name)

    x = Tensor(np.arange(4, dtype="float32"))
    for scale, name in ((2, "a"), (3, "a"), (3, "abc")):
        (out, *_) = scaled(Tensor.zeros(4), Pair(x, scale, name))
        assert out.numpy().tolist() == [i * scale + len(name) for i in range(4)]
    assert specialisations(scaled) == 2
    lang.register_argument(Pair, lambda p: [p.tensor])
    with pytest.raises(strata.UsageError, match="gives a tuple"):
        scaled(Tensor.zeros(4), Pair(x, 1, ""))


def test_equal_constants_of_different_types_are_different():
    @strata.kernel(grid=1, block=1)
    def kind(out, what):
        out[0] = {int: 1, float: 2, bool: 3}[type(what[0] if isinstance(what, tuple) else what)]

    for _ in range(2):
        assert [int(kind(Tensor.zeros(1), (v,))[0].item()) for v in (1, 1.0, True)] == [1, 2, 3]


def test_a_known_call_sees_what_changed(machine):
    """Types, shapes, numbers' widths, constants, blocks: each call gives what its own arguments say."""

    @strata.kernel(grid=lambda out, *more: out.shape[0])
    def kernel(out, n, word, twice: lang.Constexpr, small: dtypes.int64):
        value = n * small + len(word) + lang.grid_dim.x
        if twice == 2:
            value = value * 2
        if lang.thread_idx.x == lang.block_dim.x - 1:
            out[lang.block_idx.x] = value + lang.block_dim.x

    for _ in range(2):
        for blocks in (1, 3):
            for dtype in ("float32", "int64"):
                for n in (2, 2**33, 1.5):
                    for word, twice, block in (("a", 1, 32), ("ab", 2, 64)):
                        out = Tensor.zeros(blocks, dtype=dtype)
                        kernel(out, n, word, twice, 3, block=block)
                        want = (n * 3 + len(word) + blocks) * twice + block
                        assert out.numpy().tolist() == [np.array(want).astype(dtype)] * blocks


def test_a_call_is_for_the_device_of_its_tensors():
    """Whatever the default device is: the size of a wave is that of the device that runs it."""

    @strata.kernel(grid=1, block=64)
    def waves(out):
        out[lang.thread_idx.x] = lang.wave_size()

    for _ in range(2):
        for arch, size in (("gfx1100", 32), ("gfx942", 64)):
            (out,) = waves(Tensor.zeros(64, dtype="int32", device=f"emu:{arch}"))
            assert set(out.numpy().tolist()) == {size}


def test_errors_of_known_calls_are_those_of_first_calls():
    kernel = transpose()
    x = Tensor.zeros(4, 4)
    kernel(x, x.clone())
    with pytest.raises(strata.LaunchError, match="every dimension"):
        kernel(x, x.clone(), grid=0)
    with pytest.raises(TypeError, match="missing a required argument"):
        kernel(x)
    with pytest.raises(ZeroDivisionError):
        kernel(x, x, grid=lambda a, b: 1 // 0)
    with pytest.raises(strata.UsageError, match="the parameter x got a list"):
        kernel(x, [1], grid=1)
