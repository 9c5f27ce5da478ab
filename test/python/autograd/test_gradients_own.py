"""Gradients that functions and kernels say themselves, functions made once more for them, and what has no past."""

import asyncio
import random

import numpy as np
import pytest
import strata
from strata import Tensor, nn, uop
from test_gradients import check


@strata.custom_gradient
def softsign(x):
    y = 1 + x.abs()
    return x / y, lambda g: g / (y * y)


@strata.custom_gradient
def rotated(a, b, angle):
    c, s = np.cos(angle), np.sin(angle)
    return (a * c - b * s, a * s + b * c), lambda ga, gb: (ga * c + gb * s, gb * c - ga * s, None)


def test_a_gradient_of_ones_own_is_that_of_the_function(rng):
    check(softsign, rng.uniform(0.2, 1, (3, 4)))
    check(lambda x: softsign(softsign(x * 2).sum(0)), rng.uniform(0.2, 1, (3, 4)))
    check(lambda a, b: rotated(a, b, 0.3)[0] * 2 + rotated(a, b, 0.3)[1].sin(), *rng.uniform(-1, 1, (2, 5)))


def test_it_is_the_one_that_is_said_and_not_another():
    @strata.custom_gradient
    def straight(x):  # rounding, through which gradients go as if it was not there
        return x.round(), lambda g: g

    np.testing.assert_array_equal(strata.grad(lambda x: (straight(x) * 3).sum())(Tensor([0.2, 1.7])).numpy(), [3, 3])
    w = Tensor([0.4, 0.6]).requires_grad_()
    (straight(w) + straight(w * 2)).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [3, 3])
    plain = Tensor([0.4, 0.6]).requires_grad_()
    y = plain.round()
    (y + straight(plain)).sum().backward()  # the same values, once with each gradient
    np.testing.assert_array_equal(plain.grad.numpy(), [1, 1])


def test_gradients_of_ones_own_have_gradients():
    cube = strata.custom_gradient(lambda x: (x * x * x, lambda g: g * 3 * x * x))
    second = strata.grad(lambda x: strata.grad(lambda x: cube(x).sum())(x).sum())
    np.testing.assert_allclose(second(Tensor([1.0, 2.0], dtype="float64")).numpy(), [6, 12])


def test_what_does_not_fit_is_said():
    x = Tensor([1.0, 2.0]).requires_grad_()
    for f, error, said in [
        (lambda x: x, strata.UsageError, "takes gradients back"),
        (lambda x: (x * 1, lambda g: (g, g)), strata.UsageError, "2 gradients for 1 arguments"),
        (lambda x: (x * 1, lambda g: g.sum()), strata.ShapeError, r"float32 \(\) for an input that is float32 \(2,\)"),
    ]:
        with pytest.raises(error, match=said):
            strata.custom_gradient(f)(x).sum().backward()


def squares(out, x):
    i = uop.special("gidx0", 6)
    return uop.sink(uop.store(out[i], x[i].load() * x[i].load()), name="squares")


def test_kernels_have_the_gradient_that_is_given_with_them(rng):
    def f(x):
        return Tensor.empty(6, dtype="float64").custom_kernel(x, kernel=squares, grad=lambda g, x: g * 2 * x)[0]

    check(lambda x: f(x.sin()) * 0.5, rng.uniform(0.2, 1, 6))
    weight = Tensor(np.arange(6.0)).requires_grad_()
    f(weight).sum().backward()
    np.testing.assert_array_equal(weight.grad.numpy(), 2 * np.arange(6.0))


def test_a_kernel_without_one_is_named():
    x = Tensor.ones(6).requires_grad_()
    y = Tensor.empty(6).custom_kernel(x, kernel=squares)[0]
    with pytest.raises(strata.Unsupported, match="kernel 'squares' has no gradient.*grad="):
        y.sum().backward()
    y.detach().sum()


def test_integers_and_tensors_that_are_not_used_get_nothing():
    @strata.custom_gradient
    def pick(x, i, unused):
        return x.take(i, 0), lambda g: (g.sum() + x * 0, None, None)

    x, unused = Tensor([1.0, 2.0, 3.0]).requires_grad_(), Tensor([1.0]).requires_grad_()
    pick(x, Tensor([2, 0]), unused).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 2, 2])
    assert unused.grad is None


def test_rules_go_with_what_they_belong_to():
    from test_memory import growth

    case = """
own = strata.custom_gradient(lambda x: (x.exp(), lambda g: g * x.exp()))
w = Tensor(np.zeros(1 << 16, np.float32)).requires_grad_()
for i in range(1200):
    w.grad = None
    own(w).sum().backward()
    w.assign(w - 0.0001 * w.grad).realize()
    if i == 200:
        start = resident("VmRSS")
"""
    assert growth(case)[1] < 24  # a step makes 256 KiB: 250 MiB in all


# Made once more.


def test_checkpoints_give_the_gradients_of_the_function(rng):
    w = Tensor(rng.uniform(-1, 1, (4, 4)))

    def layer(x):
        return (x @ w).tanh() * x

    check(lambda x: strata.checkpoint(layer)(strata.checkpoint(layer)(x)), rng.uniform(-1, 1, (3, 4)))
    given = {}
    for f in (layer, strata.checkpoint(layer), strata.checkpoint(strata.checkpoint(layer))):
        w.requires_grad_()
        w.grad = None
        f(Tensor(np.ones((2, 4)))).sum().backward()  # of what it uses beside its arguments
        given[f] = w.grad.numpy()
    first, *others = given.values()
    for other in others:
        np.testing.assert_array_equal(first, other)
    w.requires_grad_(False)


def test_checkpoints_take_the_same_random_numbers_again():
    drop = nn.Dropout(0.5)
    for f in (drop, lambda x: strata.checkpoint(drop)(x) + 0):
        strata.manual_seed(5)
        x = Tensor.ones(64).requires_grad_()
        y = strata.checkpoint(f)(x)
        y.sum().backward()
        np.testing.assert_array_equal(y.numpy(), x.grad.numpy())
        after = Tensor.rand(2).numpy()
        strata.manual_seed(5)
        drop(Tensor.ones(64))
        np.testing.assert_array_equal(after, Tensor.rand(2).numpy())


def test_checkpoints_are_made_once_more():
    made = []

    @strata.checkpoint
    def f(x):
        made.append(1)
        return x * x

    x = Tensor([3.0]).requires_grad_()
    y = f(x)
    assert len(made) == 1
    y.sum().backward()
    assert len(made) == 2 and x.grad.item() == 6
    with pytest.raises(strata.UsageError, match="must give a Tensor"):
        strata.checkpoint(lambda x: [x])(x)


# Without a past.


def test_nothing_goes_past_what_is_made_without_a_past():
    w = Tensor([2.0, 3.0]).requires_grad_()
    before = w * 5
    with strata.no_grad():
        inside = before * w
        same = inside + 1
        constant = Tensor([1.0, 1.0])
    (inside * w + same + constant).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [20, 45])
    w.grad = None
    before.sum().backward()  # what was made outside still has its past
    np.testing.assert_array_equal(w.grad.numpy(), [5, 5])


def test_it_is_a_decorator_and_ends_with_errors():
    w = Tensor([2.0]).requires_grad_()

    @strata.no_grad
    def f(x):
        return x * w

    @strata.no_grad()
    def g(x):
        raise ValueError

    class Model:
        @strata.no_grad
        def forward(self, x):
            return x * w

    for call in (f, Model().forward):
        with pytest.raises(strata.UsageError, match="requires a gradient"):
            call(Tensor([1.0])).sum().backward()
    with pytest.raises(ValueError):
        g(1)
    with pytest.raises(strata.UsageError, match="requires a gradient"), strata.no_grad():
        (w * w).sum().backward()
    (w * w).sum().backward()
    assert w.grad.item() == 4
    with strata.no_grad():
        assert strata.grad(lambda x: (x * x).sum())(Tensor([3.0])).item() == 6


def test_values_and_kernels_are_the_same_without_a_past(rng):
    net = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8), nn.MultiheadAttention(8, 2))
    x = Tensor(rng.uniform(-1, 1, (2, 4, 8)).astype(np.float32))
    strata.reset_stats()
    want, kernels = net(x).numpy(), strata.stats().kernels
    with strata.no_grad():
        strata.reset_stats()
        got = net(x)
        np.testing.assert_array_equal(got.numpy(), want)
    assert strata.stats().kernels == kernels


def has_past(w):
    try:
        (w * w).sum().backward()
    except strata.UsageError:
        return False
    return True


def test_blocks_end_in_any_order():
    drawn, blocks, w = random.Random(1), [], Tensor([2.0]).requires_grad_()
    for _ in range(60):
        if blocks and drawn.random() < 0.6:
            blocks.pop(drawn.randrange(len(blocks))).__exit__(None, None, None)
        else:
            blocks.append(strata.no_grad().__enter__())
        assert has_past(w) == (not blocks)
    for block in blocks:
        block.__exit__(None, None, None)
    with pytest.raises(strata.UsageError, match="left that was not entered"):
        strata.no_grad().__exit__(None, None, None)
    for wrong in (lambda: strata.no_grad(5), lambda: strata.no_grad()(), lambda: strata.no_grad()(1, 2)):
        with pytest.raises(strata.UsageError, match="no_grad"):
            wrong()


def test_steps_of_generators_and_coroutines_are_inside_and_who_waits_is_not():
    w, seen = Tensor([2.0]).requires_grad_(), []

    @strata.no_grad
    def numbers(n):
        try:
            for i in range(n):
                seen.append(has_past(w))
                got = yield i
                seen.append(got)
        except ValueError:
            yield "caught"
        return "end"

    @strata.no_grad()
    async def waits(n):
        for _ in range(n):
            seen.append(has_past(w))
            await asyncio.sleep(0)
        return n

    async def others():
        return [has_past(w) for _ in range(3) if await asyncio.sleep(0) is None]

    made = numbers(3)
    assert next(made) == 0 and has_past(w) and made.send("given") == 1 and has_past(w)
    assert made.throw(ValueError()) == "caught" and has_past(w) and list(made) == [] and has_past(w)
    made = numbers(1)
    next(made)
    made.close()
    assert has_past(w) and seen == [False, "given", False, False]
    seen.clear()

    async def both():
        return await asyncio.gather(asyncio.create_task(waits(2)), others(), waits(1))

    assert asyncio.run(both()) == [2, [True] * 3, 1] and seen == [False] * 3 and has_past(w)

    @strata.no_grad
    async def steps():
        yield 1

    with pytest.raises(strata.UsageError, match="asynchronous generator"):
        steps()


def test_functions_of_gradients_say_what_they_take():
    x = Tensor([1.0, 2.0])
    for wrong, said in [
        (lambda: strata.custom_gradient(lambda x: (x * 1, lambda g: 5))(x.clone().requires_grad_()).sum().backward(),
            r"\[custom_gradient\] the gradient is a int"),
        (lambda: strata.custom_gradient(lambda x: (x * 1, lambda g: (5,)))(x.clone().requires_grad_()).sum().backward(),
            r"\[custom_gradient\] the gradient is a tuple with a int"),
        (lambda: strata.custom_gradient(lambda x: (5, lambda g: g))(x), r"\[custom_gradient\] the value is a int"),
        (lambda: strata.custom_gradient(5), "takes a function"), (lambda: strata.checkpoint(5), "takes a function"),
        (lambda: strata.grad(5), "takes a function"), (lambda: strata.vjp(5, x), "takes a function"),
        (lambda: strata.vjp(lambda x: 5, x), "the function gives a int"),
        (lambda: strata.grad(lambda x: x.sum(), "a"), "argnums 'a'"),
        (lambda: strata.grad(lambda x: x.sum(), ()), r"argnums \(\)"),
        (lambda: strata.grad(lambda x: x.sum(), True), "argnums True"), (lambda: strata.jit(5), "takes a function"),
        (lambda: strata.jvp(lambda: x, [], []), "without arguments"),
    ]:  # fmt: skip
        with pytest.raises(strata.UsageError, match=said):
            wrong()


def test_a_value_that_was_replaced_is_named_where_nothing_is_reached():
    w = Tensor([1.0]).requires_grad_()
    loss = (w * w).sum()
    w.assign(w - 1)
    with pytest.raises(strata.UsageError, match="backward.. before assign.., .* or an optimiser's step"):
        loss.backward()


def test_other_threads_keep_theirs():
    import threading

    w, got = Tensor([2.0]).requires_grad_(), []
    with strata.no_grad():
        thread = threading.Thread(target=lambda: got.append((w * w).sum().backward()))
        thread.start()
        thread.join()
    assert w.grad.item() == 4


# Tables.


@pytest.mark.parametrize(
    "shape, axis, ids",
    [((7, 3), 0, [1, 1, 5, 1]), ((2, 9, 3), 1, [8, 0, 8]), ((5,), 0, [[1], [1]]), ((3, 4), 1, [0, 1, 0, 3, 3, 3])],
)
def test_of_rows_of_a_table(shape, axis, ids, rng):
    check(lambda x: x.take(Tensor(ids), axis), rng.uniform(-1, 1, shape))


def test_rows_that_nothing_was_taken_of_get_nothing_and_the_same_bits_come_each_time(rng):
    table, ids = Tensor(rng.standard_normal((300, 8)).astype(np.float32)), rng.integers(0, 40, 100)
    weights = rng.standard_normal((100, 8)).astype(np.float32)
    got = [strata.grad(lambda t: (t.take(Tensor(ids), 0) * Tensor(weights)).sum())(table).numpy() for _ in range(2)]
    np.testing.assert_array_equal(*got)
    want = np.zeros((300, 8))
    np.add.at(want, ids, weights)
    np.testing.assert_allclose(got[0], want, atol=1e-5)
    assert not got[0][40:].any()


def test_what_is_made_once_more_has_gradients_past_a_value_that_a_gradient_was_taken_of():
    x = Tensor(np.array([0.3, 1.2, -0.7]))
    both = strata.value_and_grad(lambda z: strata.checkpoint(lambda v: v * v * v)(z).sum())
    np.testing.assert_allclose(strata.grad(lambda z: both(z)[0])(x).numpy(), 3 * x.numpy() ** 2)
