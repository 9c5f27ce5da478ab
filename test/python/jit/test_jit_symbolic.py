"""jit(symbolic=True): values of NumPy at every size, while kernels are made for few of them."""

import warnings

import numpy as np
import pytest
import strata
from strata import Tensor, jit
from tested import programs_loaded

SIZES = [41, 40, 37, 62, 63, 50, 39, 48, 55, 61, 45, 58]  # two make the kernels, the others are served


def f32(rng, *shape):
    return rng.uniform(-1, 1, shape).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


W = f32(np.random.default_rng(5), 8, 12)
WEIGHTS = Tensor(W)
BODIES = {
    "elementwise": (lambda x: x * 2 + 1, lambda x: x * 2 + 1),
    "sum": (lambda x: x.sum(0), lambda x: x.sum(0)),
    "largest": (lambda x: x.max(0) + x.min(), lambda x: x.max(0) + x.min()),
    "mean": (lambda x: x.mean(0), lambda x: x.mean(0)),
    "product of matrices": (lambda x: x @ WEIGHTS, lambda x: x @ W),
    "summed product": (lambda x: x.T @ x, lambda x: x.T @ x),
    "softmax": (lambda x: x.T.softmax(-1), lambda x: softmax(x.T)),
    "attention": (lambda x: (x @ x.T).softmax(-1) @ x, lambda x: softmax(x @ x.T) @ x),
    "part": (lambda x: x[1:-2] - x[3:], lambda x: x[1:-2] - x[3:]),
    "backwards": (lambda x: x.flip(0) * x, lambda x: x[::-1] * x),
    "joined": (lambda x: strata.cat([x, x * 2], 0).sum(1), lambda x: np.concatenate([x, x * 2]).sum(1)),
    "positions": (lambda x: x * Tensor.arange(x.shape[0]).reshape(-1, 1), lambda x: x * np.arange(len(x))[:, None]),
    "flat": (lambda x: x.reshape(-1) + 1, lambda x: x.reshape(-1) + 1),
}


def programs_by_size(body, want, sizes, rng, symbolic=True):
    f = jit(lambda x: body(x), symbolic=symbolic)
    made = []
    for n in sizes:
        x = f32(rng, n, 8)
        before = programs_loaded()
        for _ in range(3):
            np.testing.assert_allclose(f(Tensor(x)).numpy(), want(x), rtol=2e-5, atol=2e-5, err_msg=str(n))
        made.append(programs_loaded() - before)
    return made


@pytest.mark.parametrize("name", BODIES)
def test_every_size_has_numpys_values_from_few_programs(name, rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = programs_by_size(*BODIES[name], SIZES, rng)
    assert sum(made[2:]) == 0, made


def test_rows_that_are_keys_values_and_queries_share_no_tile(rng):
    """Columns and terms are one axis then. Tiles of its loops in each other were one."""
    f = jit(lambda x, w: (x.minimum(w) @ x.minimum(w).mT * 1.3).softmax(-1) @ x.minimum(w), symbolic=True)
    for n in (15, 16, 17, 24, 30, 20):
        x, w = f32(rng, n, n, n), f32(rng, n)
        v = np.minimum(x, w).astype(np.float64)
        want = softmax(v @ v.swapaxes(-1, -2) * 1.3) @ v
        np.testing.assert_allclose(f(Tensor(x), Tensor(w)).numpy(), want, rtol=2e-5, atol=2e-5, err_msg=str(n))


def test_terms_of_two_products_that_are_one_axis_share_no_tile(rng):
    """Keys and values are one tensor, and the product's terms are the columns of both."""

    def body(x):
        rows = strata.functional.scaled_dot_product_attention(x, x, x).softmax(2)
        return rows @ rows.mT

    f = jit(body, symbolic=True)
    for n in (4, 5, 6, 7, 12, 8):
        x = f32(rng, n, n, 6)
        rows = softmax(softmax(x @ x.swapaxes(-1, -2) / np.sqrt(6)) @ x)
        np.testing.assert_allclose(
            f(Tensor(x)).numpy(), rows @ rows.swapaxes(-1, -2), rtol=2e-5, atol=2e-5, err_msg=str(n)
        )


def test_larger_sizes_make_programs_of_their_own_once(rng):
    made = programs_by_size(
        lambda x: (x * x - x).sum(0), lambda x: (x * x - x).sum(0), [20, 30, 25, 100, 90, 127, 129, 200, 31, 110], rng
    )
    assert [n > 0 for n in made] == [True, True, False, True, False, False, True, False, False, False]


def test_without_it_each_size_has_its_programs(rng):
    assert all(
        programs_by_size(lambda x: (x * x + x).max(0), lambda x: (x * x + x).max(0), [35, 41, 47], rng, symbolic=False)
    )


@pytest.mark.parametrize(
    "name", ["sum", "largest", "softmax", "attention", "backwards", "joined", "product of matrices"]
)
def test_small_sizes_and_those_around_powers_of_two(name, rng):
    body, want = BODIES[name]
    f = jit(lambda x: body(x), symbolic=True)
    for n in [*range(1, 20), 31, 32, 33, 64, 65, 127, 128, 129, 1]:
        x = f32(rng, n, 8)
        np.testing.assert_allclose(f(Tensor(x)).numpy(), want(x), rtol=3e-5, atol=3e-5, err_msg=str(n))


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942"])
@pytest.mark.parametrize("name", ["elementwise", "sum", "softmax", "attention", "part", "joined"])
def test_the_direct_route_in_strict_mode_serves_them_too(name, arch, rng):
    with strata.config(device=f"emu:{arch}", target="asm", check="raise"):
        made = programs_by_size(*BODIES[name], [41, 40, 37, 62, 63, 50], rng)
    assert sum(made[2:]) == 0, made


def test_gradients_of_many_sizes(rng):
    @jit(symbolic=True)
    def f(x):
        return strata.grad(lambda w: ((x @ w).tanh() ** 2).sum())(WEIGHTS)

    made = []
    for n in SIZES:
        x = f32(rng, n, 8)
        before = programs_loaded()
        got = f(Tensor(x)).numpy()
        made.append(programs_loaded() - before)
        y = np.tanh(x @ W)
        np.testing.assert_allclose(got, x.T @ (2 * y * (1 - y * y)), rtol=1e-4, atol=1e-4)
    assert sum(made[2:]) == 0, made


def test_numbers_of_the_body_go_on_beside_sizes(rng):
    @jit(symbolic=True)
    def f(x, scale):
        return (x * scale).sum(0)

    for n, scale in zip(SIZES, (2.5, 3.5, -1.0, 7.0)):
        x = f32(rng, n, 8)
        np.testing.assert_allclose(f(Tensor(x), scale).numpy(), (x * np.float32(scale)).sum(0), rtol=1e-5, atol=1e-5)


def test_running_sums_keep_their_sizes_and_their_values(rng):
    f = jit(lambda x: x.cumsum(0), symbolic=True)
    for n in SIZES[:4]:
        x = f32(rng, n, 3)
        np.testing.assert_allclose(f(Tensor(x)).numpy(), np.cumsum(x, 0), rtol=1e-5, atol=1e-5)


def test_indices_out_of_range_are_still_found(rng):
    f = jit(lambda x, i: x.take(i, 0), symbolic=True)
    for n in SIZES[:4]:
        x = f32(rng, n, 2)
        np.testing.assert_array_equal(f(Tensor(x), Tensor([n - 1, 0, -n])).numpy(), x[[n - 1, 0, -n]])
        with pytest.raises(strata.MemoryFault):
            jit(lambda x, i: x.take(i, 0), symbolic=True)(Tensor(x), Tensor([n])).realize()


def test_it_leaves_other_functions_as_they_were(rng):
    jit(lambda x: x + 1, symbolic=True)(Tensor.ones(9))
    assert _any_sizes_now() is False
    with pytest.raises(ZeroDivisionError):
        jit(lambda x: 1 // 0, symbolic=True)(Tensor.ones(9))
    assert _any_sizes_now() is False


# Uses of sizes in bodies beside computing with tensors of them.
USES = {
    "arithmetic": (lambda x: x * x.shape[0] + x.shape[0] // 2 - x.shape[0] % 3,
        lambda x: x * len(x) + len(x) // 2 - len(x) % 3),
    "a branch": (lambda x: x * 2 if x.shape[0] > 6 else x - 1, lambda x: x * 2 if len(x) > 6 else x - 1),
    "an odd one": (lambda x: x[: x.shape[0] // 2] + 1 if x.shape[0] % 2 else x,
        lambda x: x[: len(x) // 2] + 1 if len(x) % 2 else x),
    "numbers": (lambda x: (x.sum(0), int(x.shape[0]), len(x), x.size),
        lambda x: (x.sum(0), len(x), len(x), x.size)),
    "halves": (lambda x: x.reshape(2, -1).sum(1), lambda x: x.reshape(2, -1).sum(1)),
    "a square": (lambda x: (x @ x.T).triu(x.shape[0] // 2).sum(0), lambda x: np.triu(x @ x.T, len(x) // 2).sum(0)),
    "a mean": (lambda x: x.sum() / max(x.shape[0], 1), lambda x: x.sum() / max(len(x), 1)),
}  # fmt: skip


def same(got, wanted):
    for mine, theirs in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, wanted)), strict=True):
        mine = mine.numpy() if isinstance(mine, Tensor) else np.asarray(mine)
        assert mine.shape == np.shape(theirs)
        np.testing.assert_allclose(mine, theirs, rtol=3e-5, atol=3e-5)


@pytest.mark.parametrize("name", USES)
def test_sizes_that_the_body_computes_with_are_those_of_the_call(name, rng):
    body, want = USES[name]
    f = jit(lambda x: body(x), symbolic=True)
    for n in (5, 7, 0, 1, 6, 33, 65, 0, 5):
        x = f32(rng, n, 4)
        for _ in range(3):
            same(f(Tensor(x)), want(x))


def test_two_sizes_may_meet_and_part(rng):
    """Where they are equal, are 1 or 0, and where they do not fit, which is the error that it is without jit."""
    pairs = [(5, 6), (6, 6), (6, 5), (1, 5), (5, 1), (1, 1), (0, 0), (0, 1), (0, 5), (7, 7), (6, 7)]
    added = jit(lambda x, y: x + y, symbolic=True)
    joined = jit(
        lambda x, y: (
            strata.cat([x, y], 0).sum(),
            x[: y.shape[0]].sum(),
            x[:, None] * y,
            x.sum() if x.shape == y.shape else y.sum() * 2,
        ),
        symbolic=True,
    )
    for n, m in pairs:
        x, y = f32(rng, n), f32(rng, m)
        for _ in range(3):
            same(
                joined(Tensor(x), Tensor(y)),
                (np.concatenate([x, y]).sum(), x[:m].sum(), x[:, None] * y, x.sum() if n == m else y.sum() * 2),
            )
            if n == m or 1 in (n, m):
                same(added(Tensor(x), Tensor(y)), x + y)
                continue
            with pytest.raises(strata.ShapeError, match=f"sizes {n} and {m}"):
                added(Tensor(x), Tensor(y))


def _any_sizes_now():
    before = strata._strata._any_sizes(False)
    strata._strata._any_sizes(before)
    return before
