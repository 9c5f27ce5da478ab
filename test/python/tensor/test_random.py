"""Random numbers: those of Philox4x32-10, range, moments, determinism."""

import math

import numpy as np
import pytest
import strata
from formats import array
from strata import Tensor
from tested import EMULATED

N = 1 << 17
WORD = np.uint64(0xFFFFFFFF)


def philox(counters, seed):
    """Words (n, 4) of 128-bit counters, in NumPy: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"."""
    c = [np.array([counter >> 32 * i & 0xFFFFFFFF for counter in counters], np.uint64) for i in range(4)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            b >> np.uint64(32) ^ c[1] ^ np.uint64(key[0]),
            b & WORD,
            a >> np.uint64(32) ^ c[3] ^ np.uint64(key[1]),
            a & WORD,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(c, -1).astype(np.uint32)


def words(n, **named):
    return Tensor.randint(0, 1 << 32, (n,), **named).numpy().astype(np.uint32)


def model(n, seed, offset=0):
    return philox(range(offset, offset + -(-n // 4)), seed).reshape(-1)[:n]


KNOWN = [
    (0, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ((1 << 128) - 1, (1 << 64) - 1, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (0x0370734413198A2E85A308D3243F6A88, 0x299F31D0A4093822, [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
]


@pytest.mark.parametrize("counter, seed, wanted", KNOWN)
def test_the_model_gives_the_published_blocks(counter, seed, wanted):
    """Those of Random123's kat_vectors."""
    assert philox([counter], seed).tolist() == [wanted]


@pytest.fixture(autouse=True)
def seeded():
    Tensor.manual_seed(20)


@pytest.mark.parametrize("name, bits", [("float64", 53), ("float32", 24), ("float16", 11), ("bfloat16", 8)])
def test_uniform(name, bits):
    x = array(Tensor.rand(N, dtype=name)).astype(np.float64)
    assert x.min() >= 0 and x.max() < 1
    assert (x * 2.0**bits == np.floor(x * 2.0**bits)).all()
    slack = 6 / np.sqrt(12 * N) + 2.0**-bits  # six standard deviations of the mean, and the grid's step
    assert abs(x.mean() - 0.5) < slack and abs(x.var() - 1 / 12) < slack
    counts = np.histogram(x, 16, (0, 1))[0]
    assert abs(counts - N / 16).max() < 6 * np.sqrt(N / 16)


@pytest.mark.parametrize("name", ["float64", "float32", "float16"])
def test_normal(name):
    x = array(Tensor.randn(N, dtype=name)).astype(np.float64)
    assert np.isfinite(x).all()
    assert abs(x.mean()) < 6 / np.sqrt(N) and abs(x.var() - 1) < 6 * np.sqrt(2 / N)
    assert abs((x**3).mean()) < 6 * np.sqrt(15 / N) and abs((x**4).mean() - 3) < 6 * np.sqrt(96 / N)
    assert 4 < np.abs(x).max() < 7
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 6 / np.sqrt(N)


def test_integers():
    x = Tensor.randint(-3, 11, (N,)).numpy()
    assert x.dtype == np.int64 and x.min() == -3 and x.max() == 10
    counts = np.bincount(x + 3)
    assert len(counts) == 14 and abs(counts - N / 14).max() < 6 * np.sqrt(N / 14)
    assert set(Tensor.randint(0, 2, (64,), dtype="uint8").tolist()) == {0, 1}
    assert Tensor.randint(5, 6, (3,)).tolist() == [5, 5, 5]
    with pytest.raises(strata.Error):
        Tensor.randint(5, 5, (3,))
    with pytest.raises(strata.Error):
        Tensor.rand(3, dtype="int32")


def test_a_seed_decides_the_sequence():
    def draw():
        return [Tensor.rand(100).tolist(), Tensor.randn(3, 5).tolist(), Tensor.randint(0, 99, (10,)).tolist()]

    first = draw()
    assert draw() != first
    strata.manual_seed(20)
    assert draw() == first
    strata.manual_seed(21)
    assert draw() != first


def test_two_draws_differ_and_one_draw_stays():
    a, b = Tensor.rand(1000), Tensor.rand(1000)
    assert (a.numpy() != b.numpy()).mean() > 0.99
    assert a.tolist() == a.tolist()
    assert ((a + a).numpy() == 2 * a.numpy()).all()


def test_the_order_of_realization_does_not_matter():
    a, b = Tensor.rand(50), Tensor.rand(50)
    y, x = b.tolist(), a.tolist()
    strata.manual_seed(20)
    assert (Tensor.rand(50).tolist(), Tensor.rand(50).tolist()) == (x, y)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 0, 2), (2, 3, 1, 5, 1)])
def test_shapes(shape):
    for t in (Tensor.rand(shape), Tensor.randn(shape), Tensor.randint(0, 3, shape)):
        assert t.shape == shape and t.numpy().shape == shape


@pytest.mark.parametrize("seed", [0, 1, 20, 1 << 32, (1 << 64) - 1, 0x299F31D0A4093822])
def test_numbers_are_words_of_consecutive_counters(seed):
    strata.manual_seed(seed)
    np.testing.assert_array_equal(words(10_001), model(10_001, seed))
    np.testing.assert_array_equal(words(7), model(7, seed, 2501))
    w = model(1000, seed, 2503)
    np.testing.assert_array_equal(
        Tensor.rand(10, 100).numpy(), (w >> 8).astype(np.float32).reshape(10, 100) * np.float32(2**-24)
    )
    high, low = model(202, seed, 2753).reshape(-1, 2).T.astype(np.uint64)
    np.testing.assert_array_equal(
        Tensor.rand(101, dtype="float64").numpy(),
        ((high >> np.uint64(5) << np.uint64(26)) + (low >> np.uint64(6))) * 2.0**-53,
    )
    high, low = model(14, seed, 2804).reshape(-1, 2).T.astype(np.uint64)
    many = (1 << 40) + 5
    np.testing.assert_array_equal(
        Tensor.randint(0, many, (7,)).numpy(), ((high << np.uint64(32)) + low) % np.uint64(many)
    )
    np.testing.assert_array_equal(words(3), model(3, seed, 2808))


@pytest.mark.parametrize("dtype, digits, close", [("float32", 24, 2e-6), ("float64", 32, 1e-12)])
def test_normal_numbers_are_made_in_pairs_of_two_words(dtype, digits, close):
    u, angle = (model(1002, 20) >> np.uint32(32 - digits)).reshape(-1, 2).T[:, :501] * 2.0**-digits
    radius, turns = np.sqrt(-2 * np.log(u + 2.0**-digits)), 2 * np.pi * angle
    wanted = np.stack([radius * np.cos(turns), radius * np.sin(turns)], -1).reshape(-1)[:1001]
    np.testing.assert_allclose(Tensor.randn(1001, dtype=dtype).numpy(), wanted, rtol=close, atol=close * 4)


def test_counters_carry_over_32_bits():
    Tensor.rand((1 << 34) - 40)  # 2^32 - 10 counters that nothing computes
    np.testing.assert_array_equal(words(80), model(80, 20, (1 << 32) - 10))
    assert Tensor.rand(2, 1 << 33).shape == (2, 1 << 33)
    np.testing.assert_array_equal(words(9), model(9, 20, (1 << 33) + 10))
    with pytest.raises(strata.UsageError, match=r"\[rand\] 17179869185 numbers at once: 1 to 17179869184 are possible"):
        Tensor.rand((1 << 34) + 1)


def test_draws_share_no_block():
    sizes = [1, 3, 4, 5, 30, 2, 257]
    drawn = np.concatenate([words(n) for n in sizes])
    assert len(np.unique(drawn)) == sum(sizes)
    ends = np.cumsum([0] + [-(-n // 4) for n in sizes])
    np.testing.assert_array_equal(drawn, np.concatenate([model(n, 20, int(at)) for n, at in zip(sizes, ends)]))


def drawn():
    strata.manual_seed(5)
    kinds = [
        Tensor.rand(999),
        Tensor.rand(8, 64),
        Tensor.rand(65, dtype="float64"),
        Tensor.randint(-9, 9, (130,)),
        Tensor.randint(0, 1 << 50, (33,)),
    ]
    return [t.numpy().tobytes() for t in kinds]


@pytest.mark.skipif(not EMULATED, reason="of emulated devices")
@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx90a"])
@pytest.mark.parametrize("target", ["asm", "hip"])
def test_every_device_target_and_number_of_threads_draws_the_same_bits(arch, target):
    wanted = drawn()
    for threads in (1, 2):
        with strata.config(device=f"emu:{arch}", target=target, emu_threads=threads):
            assert drawn() == wanted


@pytest.mark.parametrize("make",
    [lambda: Tensor.rand(37, 20), lambda: Tensor.randn(37, 20), lambda: Tensor.randint(0, 7, (37, 20)),
                                  lambda: (Tensor.rand(37, 20) < 0.5).where(Tensor.ones(37, 20), 0)])  # fmt: skip
def test_they_are_made_by_one_kernel(make):
    strata.reset_stats()
    make().realize()
    assert strata.stats().kernels == 1


def test_captured_functions_go_on_in_the_sequence():
    captured = strata.jit(lambda x: x + Tensor.randint(0, 1 << 32, (7,)))
    for call in range(5):
        got = captured(Tensor.zeros(7, dtype="int64")).numpy().astype(np.uint32)
        np.testing.assert_array_equal(got, model(7, 20, 2 * call))


def test_every_order_is_as_likely():
    orders = Tensor.rand(N // 4, 4).argsort(-1).numpy() @ [64, 16, 4, 1]
    counts = np.unique(orders, return_counts=True)[1]
    assert len(counts) == math.factorial(4)
    expected = N / 4 / len(counts)
    assert ((counts - expected) ** 2 / expected).sum() < 23 + 6 * np.sqrt(2 * 23)


@pytest.mark.parametrize("cells", [10, 256, 1000])
def test_chi_square_of_integers_is_that_of_chance(cells):
    counts = np.bincount(Tensor.randint(0, cells, (N,)).numpy(), minlength=cells)
    chi = ((counts - N / cells) ** 2 * cells / N).sum()
    assert abs(chi - (cells - 1)) < 6 * np.sqrt(2 * (cells - 1))
