"""Derivatives: every differentiable operation against central differences in float64, where gradients arrive, and what
they cost.
"""

import numpy as np
import pytest
import strata
from strata import Tensor, nn

STEP = 1e-5


def central(f, x):
    """The derivative of f, whose value is a number, by each element of x."""
    out = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += STEP
        down[i] -= STEP
        out[i] = (f(Tensor(up)).item() - f(Tensor(down)).item()) / (2 * STEP)
    return out


def check(f, *arguments):
    """f of float64 tensors, weighted so that no two elements of its value count alike."""

    def weighed(*given):
        y = f(*given)
        return (y * Tensor(np.linspace(0.5, 1.5, y.size)).reshape(y.shape)).sum()

    got = strata.grad(weighed, tuple(range(len(arguments))))(*[Tensor(a) for a in arguments])
    for place, g in enumerate(got):
        others = [Tensor(a) for a in arguments]
        want = central(lambda x: weighed(*others[:place], x, *others[place + 1 :]), arguments[place])
        assert g.shape == arguments[place].shape and g.dtype.name == "float64"
        np.testing.assert_allclose(g.numpy(), want, rtol=1e-6, atol=1e-7)


# Away from kinks, zeros and the ends of domains.
UNARY = {
    **dict.fromkeys(
        [
            "neg",
            "abs",
            "square",
            "exp",
            "exp2",
            "sin",
            "cos",
            "tan",
            "tanh",
            "erf",
            "sigmoid",
            "silu",
            "gelu",
            "gelu_tanh",
            "relu",
        ],
        (-1.4, 1.3),
    ),
    **dict.fromkeys(["reciprocal", "sqrt", "rsqrt", "log", "log2", "log10"], (0.3, 2.0)),
    **dict.fromkeys(["floor", "ceil", "trunc", "round", "sign"], (0.1, 0.4)),
}


@pytest.mark.parametrize("name", UNARY)
def test_of_functions_of_one_tensor(name):
    check(lambda x: getattr(x, name)(), np.linspace(*UNARY[name], 8))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "remainder"])
def test_of_functions_of_two_tensors_that_broadcast(name, rng):
    a, b = rng.uniform(1.1, 1.9, (3, 1, 4)), rng.uniform(2.1, 2.9, (2, 1))
    check(lambda x, y: getattr(x, name)(y), a, b)
    check(lambda x: getattr(x, name)(2.5), a)
    check(lambda x: getattr(Tensor(2.5, dtype="float64"), name)(x), a)


MOVEMENT = {
    "reshape": lambda x: x.reshape(6, -1),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(),
    "expand": lambda x: x.reshape(2, 1, 12).expand(2, 3, 12),
    "pad": lambda x: x.pad([(1, 2), (0, 0), (3, 0)], value=2.0),
    "shrink": lambda x: x.shrink([(0, 1), (1, 3), (2, 4)]),
    "flip": lambda x: x.flip((0, 2)),
    "roll": lambda x: x.roll(1, 1),
    "repeat": lambda x: x.repeat(2, 1),
    "tile": lambda x: x.tile(2, 1, 3),
    "split": lambda x: x.split(2, axis=2)[1],
    "cat": lambda x: strata.cat([x, x * x], axis=1),
    "stack": lambda x: strata.stack([x, x.exp()], axis=1),
    "slices": lambda x: x[1, ::-2, None, 1:],
    "triangle": lambda x: x.tril(1),
    "contiguous": lambda x: x.transpose().contiguous() * 2,
    "clamp": lambda x: x.clamp(-0.4, 0.45),
    "where": lambda x: strata.where(x > 0.1, x * x, x.sin()),
}


@pytest.mark.parametrize("name", MOVEMENT)
def test_of_movement(name, rng):
    check(MOVEMENT[name], rng.uniform(-1, 1, (2, 3, 4)))


REDUCTIONS = [
    "sum",
    "prod",
    "max",
    "min",
    "mean",
    "var",
    "std",
    "logsumexp",
    "softmax",
    "log_softmax",
    "cumsum",
    "cumprod",
]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_of_reductions(name, axis, rng):
    check(lambda x: getattr(x, name)(axis), rng.permutation(np.linspace(0.3, 1.9, 24)).reshape(2, 3, 4))


def test_of_products_that_hold_zeros():
    x = np.array([[1.0, 2.0, 3.0], [0.0, 2.0, 3.0], [0.0, 2.0, 0.0]])
    check(lambda x: x.prod(1), x)


def test_equal_extremes_share_what_arrives():
    got = strata.grad(lambda x: x.max())(Tensor([1.0, 3.0, 3.0, 2.0]))
    np.testing.assert_array_equal(got.numpy(), [0, 0.5, 0.5, 0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 17, 64])
@pytest.mark.parametrize("f", [Tensor.silu, lambda x: x * x.exp(), lambda x: x * x * 0.7 + x * 1.3], ids="abc")
def test_extremes_of_values_that_are_computed_again_are_found_among_them(f, n, dtype):
    """The bits of a value do not depend on where it is computed: one element of each row is the largest."""

    def loss(x):
        v = f(x) - f(x).mean(-1, True)
        return (v / (abs(v).max(-1, True) + 1)).square().mean()

    x = Tensor(np.random.default_rng(n).standard_normal((n, 11)).astype(dtype))

    def both():
        results = strata.value_and_grad(loss)(x)
        strata.realize(*results)
        return [t.numpy() for t in results]

    with strata.config(fusion="less", schedule="none"):
        want = both()
    for target in ("asm", "hip") if n == 17 and dtype == "float64" else ("asm",):
        with strata.config(target=target):
            for got, value in zip(both(), want, strict=True):
                np.testing.assert_allclose(got, value, rtol=0, atol=20 * np.finfo(dtype).eps)


def test_a_number_that_meets_an_equal_element_takes_all():
    np.testing.assert_array_equal(strata.grad(lambda x: x.relu().sum())(Tensor([-1.0, 0.0, 2.0])).numpy(), [0, 0, 1])


INDEXING = {
    "take": lambda x: x.take(Tensor([2, 0, 2, -1]), 1),
    "take from all": lambda x: x.take(Tensor([[2, 0], [7, 2]])),
    "gather": lambda x: x.gather(0, Tensor([[0, 1, 1], [1, 1, 1]])),
    "several axes": lambda x: x[Tensor([0, 1, 1]), Tensor([2, 2, 2])],
    "embedding": lambda x: nn.embedding(Tensor([[1, 0], [1, 1]]), x),
}


@pytest.mark.parametrize("name", INDEXING)
def test_of_indexing(name, rng):
    check(INDEXING[name], rng.uniform(-1, 1, (2, 4)) if name != "gather" else rng.uniform(-1, 1, (2, 3)))


def test_of_products_of_matrices(rng):
    check(lambda a, b: a @ b, rng.uniform(-1, 1, (2, 3, 4)), rng.uniform(-1, 1, (4, 5)))
    check(lambda a, b: a @ b, rng.uniform(-1, 1, 4), rng.uniform(-1, 1, (4, 3)))


def test_of_layers(rng):
    x, w, b = rng.uniform(-1, 1, (3, 4)), rng.uniform(-1, 1, (4,)), rng.uniform(-1, 1, (4,))
    check(lambda x, w, b: nn.layernorm(x, 1, w, b), x, w, b)
    check(lambda x, w: nn.rmsnorm(x, w), x, w)
    check(lambda x: nn.cross_entropy(x, Tensor([2, 0, 3])), x)
    check(lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, causal=True), *rng.uniform(-1, 1, (3, 2, 5, 4)))
    check(lambda x, w, b: nn.linear(x, w, b), x, rng.uniform(-1, 1, (2, 4)), rng.uniform(-1, 1, 2))


@pytest.mark.parametrize("target", ["hip", "asm"])
@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_of_narrow_types_keep_their_type(dtype, arch, target, rng):
    x = rng.integers(-8, 9, (33, 65)) / 8
    with strata.config(device=f"emu:{arch}", target=target):
        got = strata.grad(lambda x: (x * x).sum())(Tensor(x, dtype=dtype))
        assert got.dtype.name == dtype
        np.testing.assert_array_equal(got.cast("float32").numpy(), 2 * x)


def test_of_third_order():
    f = lambda x: (x**4 + x.sin()).sum()  # noqa: E731
    for want in (lambda x: 4 * x**3 + np.cos(x), lambda x: 12 * x**2 - np.sin(x), lambda x: 24 * x - np.cos(x)):
        f = (lambda g: lambda x: strata.grad(g)(x).sum())(f)
        x = np.array([0.5, -1.25])
        np.testing.assert_allclose(f(Tensor(x)).item(), want(x).sum(), rtol=1e-12)


def test_jacobian_vector_products_from_both_sides(rng):
    a, t, g = rng.uniform(-1, 1, (3, 4)), rng.uniform(-1, 1, (3, 4)), rng.uniform(-1, 1, (3, 4))
    f = lambda x: x.softmax(1) * x.exp()  # noqa: E731
    y, along = strata.jvp(f, (Tensor(a),), (Tensor(t),))
    value, pull_back = strata.vjp(f, Tensor(a))
    np.testing.assert_array_equal(y.numpy(), value.numpy())
    # <g, J t> = <J^T g, t>
    np.testing.assert_allclose((along.numpy() * g).sum(), (pull_back(Tensor(g))[0].numpy() * t).sum(), rtol=1e-12)
    step = (f(Tensor(a + STEP * t)).numpy() - f(Tensor(a - STEP * t)).numpy()) / (2 * STEP)
    np.testing.assert_allclose(along.numpy(), step, rtol=1e-6, atol=1e-8)


def test_value_and_grad_names_its_arguments():
    value, (da, dc) = strata.value_and_grad(lambda a, b, c: (a * b + c).sum(), (0, 2))(
        Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), Tensor([5.0, 6.0])
    )
    assert value.item() == 22
    np.testing.assert_array_equal(da.numpy(), [3, 4])
    np.testing.assert_array_equal(dc.numpy(), [1, 1])


def test_an_argument_that_is_not_used_has_a_derivative_of_zero():
    da, db = strata.grad(lambda a, b: a.sum(), (0, 1))(Tensor([1.0]), Tensor([[2.0, 3.0]]))
    np.testing.assert_array_equal(db.numpy(), [[0, 0]])


def test_what_the_function_reads_from_outside_is_no_argument():
    x = Tensor([1.0, 2.0]).realize()
    np.testing.assert_array_equal(strata.grad(lambda y: (x * y).sum())(x).numpy(), [1, 2])


def test_backward_adds_to_what_is_there():
    x = Tensor([1.0, 2.0]).requires_grad_()
    (x * x).sum().backward()
    (x * 3).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [5, 7])
    x.grad = None
    assert x.grad is None and x.requires_grad
    x.backward(Tensor([1.0, 4.0]))
    np.testing.assert_array_equal(x.grad.numpy(), [1, 4])


def test_looking_at_values_on_the_way_changes_no_gradient():
    x = Tensor([1.0, 2.0]).requires_grad_()
    y = (x * x).realize()
    assert y.is_realized and y.numpy().tolist() == [1, 4]
    z = (y * y).sum()
    assert z.item() == 17
    z.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [4, 32])


def test_values_in_memory_are_not_computed_again_for_the_gradient():
    x = Tensor(np.ones((64, 64), np.float32)).requires_grad_()
    y = (x @ x).realize()
    strata.reset_stats()
    (y * 2).realize()
    assert strata.stats().kernels == 1


def test_a_branch_on_data_inside_a_function():
    f = lambda x: (x * x).sum() if x.sum().item() > 0 else x.sum()  # noqa: E731
    np.testing.assert_array_equal(strata.grad(f)(Tensor([1.0, 2.0])).numpy(), [2, 4])
    np.testing.assert_array_equal(strata.grad(f)(Tensor([-1.0, -2.0])).numpy(), [1, 1])


def test_no_gradient_goes_through_detach():
    x = Tensor([1.0, 2.0]).requires_grad_()
    (x * x.detach()).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1, 2])
    strata.reset_stats()
    (x.detach() + 1).realize()
    assert strata.stats().kernels == 1


def test_assign_keeps_what_was_made_before():
    x = Tensor([1.0, 2.0]).requires_grad_()
    before = x + 0.5
    assert x.assign(x * 10) is x and x.requires_grad
    np.testing.assert_array_equal(before.numpy(), [1.5, 2.5])
    (x * x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [20, 40])


def test_a_line_is_found_by_descent(rng):
    a = rng.uniform(-1, 1, (64, 3)).astype(np.float32)
    want = np.array([1.5, -2.0, 0.5], np.float32)
    x, y, w = Tensor(a), Tensor(a @ want), Tensor(np.zeros(3, np.float32)).requires_grad_()
    for _ in range(200):
        w.grad = None
        ((x @ w - y) ** 2).mean().backward()
        w.assign(w - 0.5 * w.grad).realize()
    np.testing.assert_allclose(w.numpy(), want, atol=1e-4)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[::-1],
        lambda x: x.reshape(4),
        lambda x: x.expand(3, 2, 2),
        lambda x: x.pad([(1, 1), (0, 0)]),
    ],
)
def test_a_view_may_require_a_gradient(view, rng):
    x = rng.uniform(-1, 1, (2, 2)).astype(np.float32)
    v = view(Tensor(x)).requires_grad_()
    value = v.numpy()
    ((v.T if v.ndim == 2 else v.flatten()).square()).sum().backward()
    np.testing.assert_allclose(v.grad.numpy(), 2 * value, rtol=1e-6)


def test_a_derivative_by_a_view_is_refused():
    x = Tensor([[1.0, 2.0]]).realize()
    v = x.T
    with pytest.raises(strata.UsageError, match="x.contiguous"):
        strata.gradients((v * 2).sum(), [v])


def test_gathers_of_repeated_axes_and_of_any_places_have_their_gradients(rng):
    places = Tensor(rng.integers(-4, 4, (3, 5)).astype(np.int32))
    check(lambda x: x.gather(1, places), rng.uniform(-1, 1, (1, 4)))
    check(lambda x: x.gather(1, places) ** 3, rng.uniform(-1, 1, (3, 4)))
    x = Tensor(rng.uniform(-1, 1, (3, 4)))
    curved = strata.grad(lambda x: strata.grad(lambda x: (x.gather(1, places) ** 3).sum())(x).sum())(x)
    counts = np.stack([np.bincount(row % 4, minlength=4) for row in places.numpy()])
    np.testing.assert_allclose(curved.numpy(), 6 * x.numpy() * counts)


@pytest.mark.parametrize("axis", [0, 1])
def test_what_many_rows_of_a_large_table_get_is_added_up_in_order(axis, rng):
    at = np.concatenate([rng.integers(-3000, 3000, 900), np.full(300, 7), [0, 2999]]).astype(np.int32)
    x, g = rng.standard_normal((3000, 48)).astype(np.float32), rng.standard_normal((len(at), 48)).astype(np.float32)
    want = np.zeros((3000, 48))
    np.add.at(want, at, g)
    x, g = (Tensor(v if axis == 0 else v.T.copy()) for v in (x, g))
    arrived = strata.grad(lambda x: (x.take(Tensor(at), axis) * g).sum())(x)
    np.testing.assert_allclose(arrived.numpy() if axis == 0 else arrived.numpy().T, want, rtol=1e-5, atol=1e-5)
    curved = strata.grad(lambda x: (strata.grad(lambda x: (x.take(Tensor(at), axis) ** 3).sum())(x) * x).sum())(
        x
    ).numpy()
    counts = np.bincount(at % 3000, minlength=3000)
    np.testing.assert_allclose(
        curved if axis == 0 else curved.T,
        9 * (x.numpy() if axis == 0 else x.numpy().T) ** 2 * counts[:, None],
        rtol=1e-4,
        atol=1e-5,
    )


def test_running_log_sums_have_gradients_where_terms_are_far_apart_or_nothing():
    x = np.array([[800.0, -800, 0, 800, 1], [-np.inf, 3, -np.inf, 2, 700], [-3e4, -2e4, -1e4, 0, 1e4]], np.float32)
    wide, g = x.astype(np.longdouble), np.arange(1, 6)
    places = np.arange(5)
    y = np.logaddexp.accumulate(wide, 1)
    want = (np.where(places[:, None] <= places, np.exp(wide[:, :, None] - y[:, None, :]), 0) * g).sum(2)
    want[1, 0] = g[0]  # -inf so far, and moved by it alone
    got = strata.grad(lambda x: (strata.logcumsumexp(x, 1) * Tensor(g.astype(np.float32))).sum())(Tensor(x)).numpy()
    np.testing.assert_allclose(
        got, want.astype(np.float64), rtol=2**-24 * 800
    )  # half a unit of the sums, which they are made of
    check(
        lambda x: strata.grad(lambda x: (strata.logcumsumexp(x, 0) * Tensor(np.linspace(0.5, 1.5, 20))).sum())(x),
        np.linspace(-1, 1, 20)[::-1].copy(),
    )


def test_errors_say_what_to_do():
    with pytest.raises(strata.DTypeError, match="requires_grad_.*int64.*cast first"):
        Tensor([1, 2]).requires_grad_()
    x = Tensor([1.0, 2.0]).requires_grad_()
    with pytest.raises(strata.UsageError, match="sum it first"):
        (x * 2).backward()
    with pytest.raises(strata.ShapeError, match=r"seed of shape \(3,\)"):
        (x * 2).backward(Tensor([1.0, 2.0, 3.0]))
    with pytest.raises(strata.UsageError, match="depends on no tensor that requires a gradient"):
        Tensor([1.0]).sum().backward()
    with pytest.raises(strata.UsageError, match="requires_grad_\\(\\) first"):
        Tensor([1.0]).grad = Tensor([1.0])
    with pytest.raises(strata.ShapeError, match=r"\(3,\)"):
        x.grad = Tensor([1.0, 2.0, 3.0])
    with pytest.raises(strata.ShapeError, match="assign"):
        x.assign(Tensor([1.0]))
    with pytest.raises(strata.UsageError, match="strata.vjp"):
        strata.grad(lambda x: x * 2)(x)
    with pytest.raises(strata.UsageError, match="must give a Tensor"):
        strata.grad(lambda x: 2.0)(x)
    with pytest.raises(strata.UsageError, match="argument 3 of a call with 1"):
        strata.grad(lambda x: x.sum(), 3)(x)


def test_equal_tensors_have_gradients_of_their_own():
    a, b = Tensor.zeros(2).requires_grad_(), Tensor.zeros(2).requires_grad_()
    (a * 2 + b * 3).sum().backward()
    assert a.grad.tolist() == [2, 2] and b.grad.tolist() == [3, 3]
    x = Tensor([1.0, 2.0])
    assert [g.tolist() for g in strata.grad(lambda a, b: (a * 2 + b * 3).sum(), (0, 1))(x, x)] == [[2, 2], [3, 3]]


def scaled_by_the_largest(x):
    shift = x.var(0, 0, True).silu()
    y = shift + (shift + x)
    z = y / (abs(y).max(0, True) + 1)
    return strata.functional.rmsnorm(strata.stack([z, z + 2], 1)).mean() + shift.mean() + z.mean()


@pytest.mark.parametrize("arch", ["gfx1100", "gfx942"])
def test_an_extreme_of_what_is_rounded_in_two_ways_gets_its_gradient(arch):
    """The backward pass computes the elements again, with a rounding less or more than their maximum's."""
    with strata.config(device=f"emu:{arch}", target="asm"):
        for seed in range(12):
            x = np.random.default_rng(seed).standard_normal((5, 3) if seed % 2 else (3, 5)).astype(np.float32)
            got, want = (
                strata.value_and_grad(scaled_by_the_largest, (0,))(Tensor(x.astype(t)))[1][0]
                for t in (np.float32, np.float64)
            )
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-5, err_msg=str(seed))
