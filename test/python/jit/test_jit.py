"""Captured functions: replays that give the bits of plain calls, retraces where something is another, errors where a
replay would be wrong.
"""

import threading
import warnings

import numpy as np
import pytest
import strata
from strata import Tensor, jit, nn, optim


def calls(f, *batches):
    """The values of f for each tuple of arrays, and how many kernels the last call launched."""
    out = []
    for batch in batches:
        strata.reset_stats()
        out.append(f(*[Tensor(x) for x in batch]).numpy())
    return out, strata.stats().kernels


def test_it_gives_what_the_function_gives_and_replays_from_the_third_call_on(rng):
    ran = []

    def f(x, y):
        ran.append(1)
        return ((x @ y).softmax(-1) * 2).sum(0)

    ran_inside = lambda x, y: ((x @ y).softmax(-1) * 2).sum(0)  # noqa: E731
    captured = jit(ran_inside)
    batches = [
        (rng.uniform(-1, 1, (4, 8)).astype(np.float32), rng.uniform(-1, 1, (8, 3)).astype(np.float32)) for _ in range(5)
    ]
    got, _ = calls(captured, *batches)
    for batch, value in zip(batches, got):
        np.testing.assert_array_equal(value, f(*[Tensor(x) for x in batch]).numpy())
    assert captured.captures == 1 and captured.launches >= 1
    strata.reset_stats()
    captured(*[Tensor(x) for x in batches[0]])
    s = strata.stats()
    assert s.plans_made == s.plans_found == 0 and s.kernels == captured.launches


class Net(nn.Module):
    def __init__(self):
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.25), nn.Linear(8, 3))
        self.norm = nn.BatchNorm(3)

    def forward(self, x):
        return self.norm(self.layers(x))


def trained(steps, captured, make, rng, many=1):
    strata.manual_seed(7)
    net = Net()
    step = make(net.parameters())

    def train(x, y):
        loss = nn.cross_entropy(net(x), y)
        loss.backward()
        step()
        return loss

    run = jit(train) if captured else train
    losses = [
        run(Tensor(rng.uniform(-1, 1, (5, 6)).astype(np.float32)), Tensor(rng.integers(0, 3, 5))).item()
        for _ in range(steps)
    ]
    if captured:
        assert run.captures == 1
    assert step.steps == steps
    return (
        losses,
        {n: t.numpy() for n, t in net.state_dict().items()},
        {n: np.asarray(v) for n, v in step.state_dict().items()},
    )


OPTIMISERS = {
    "SGD with momentum": lambda p: optim.SGD(p, 0.1, momentum=0.9),
    "AdamW on a cosine": lambda p: optim.AdamW(p, optim.cosine(1e-2, 8, warmup=2)),
    "Lamb": lambda p: optim.Lamb(p, optim.step_decay(1e-2, 2)),
    "Muon": lambda p: optim.Muon(p),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_training_gives_the_bits_of_training_without_it(name):
    plain = trained(6, False, OPTIMISERS[name], np.random.default_rng(1))
    captured = trained(6, True, OPTIMISERS[name], np.random.default_rng(1))
    assert plain[0] == captured[0]
    for a, b in zip(plain[1:], captured[1:]):
        assert a.keys() == b.keys()
        for n in a:
            np.testing.assert_array_equal(a[n], b[n], err_msg=n)


def test_gradients_that_are_left_add_up():
    w = Tensor([1.0, 2.0]).requires_grad_()
    captured = jit(lambda x: (w * x).sum().backward())
    for i in range(1, 6):
        captured(Tensor([1.0, 3.0]))
        np.testing.assert_array_equal(w.grad.numpy(), [i, 3 * i])


def test_random_numbers_go_on_as_without_it():
    captured = jit(lambda x: x + Tensor.rand(4))
    strata.manual_seed(3)
    plain = [(Tensor.zeros(4) + Tensor.rand(4)).numpy() for _ in range(5)]
    strata.manual_seed(3)
    for want in plain:
        np.testing.assert_array_equal(captured(Tensor.zeros(4)).numpy(), want)


def test_containers_come_and_go(rng):
    @jit
    def f(pair, table, scale=2.0):
        a, b = pair
        return {"sum": a + b, "more": [a * scale, (b, table["c"] - 1, "text", None)]}

    for i in range(4):
        got = f([Tensor([i]), Tensor([2 * i])], {"c": Tensor([5])}, scale=3.0)
        assert got["sum"].item() == 3 * i and got["more"][0].item() == 3.0 * i and got["more"][1][0].item() == 2 * i
        assert got["more"][1][1].item() == 4 and got["more"][1][2:] == ("text", None)
    assert f.captures == 1
    assert f([Tensor([1]), Tensor([2])], {"c": Tensor([5])}, scale=4.0)["more"][0].item() == 4
    assert "plain values" in f.reason


def test_other_shapes_types_settings_and_attributes_are_traced_anew():
    net = nn.Dropout(0.5)
    f = jit(lambda x: net(x).sum())
    for _ in range(3):
        f(Tensor.ones(8))
    assert f(Tensor.ones(4, 2)).shape == () and "float32 (4, 2), not" in f.reason
    f(Tensor.ones(8, dtype="float64"))
    assert "float64" in f.reason
    net.eval()
    assert f(Tensor.ones(8)).item() == 8
    for _ in range(3):
        assert f(Tensor.ones(8)).item() == 8
    net.train()
    f(Tensor.ones(8))
    with strata.config(target="hip" if strata.settings()["target"] != "hip" else "auto", emu_seed=1):
        f(Tensor.ones(8))
        assert "settings" in f.reason


scale = 2.0


def test_a_number_from_outside_that_changes_is_seen():
    global scale
    offset = 1.0

    @jit
    def f(x):
        return x * scale + offset

    for scale in (2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 2.0):
        assert f(Tensor([1.0])).item() == scale + 1
    assert "scale" in f.reason
    offset = 5.0
    assert f(Tensor([1.0])).item() == 7


def test_tensors_that_take_the_place_of_others_are_seen():
    weight = Tensor([2.0])

    @jit
    def f(x):
        return x * weight

    for _ in range(3):
        assert f(Tensor([3.0])).item() == 6
    weight = Tensor([5.0])
    assert f(Tensor([3.0])).item() == 15
    weight.assign(Tensor([7.0]))
    assert f(Tensor([3.0])).item() == 21
    assert f.captures == 1


class Counter:
    def __init__(self):
        self.value = Tensor([0.0])
        self.table = {"sum": Tensor([0.0, 0.0])}

    @jit
    def add(self, x):
        self.value = self.value + x
        self.table["sum"] = self.table["sum"] + x
        return self.value * 10


def test_state_that_is_put_in_place_advances():
    counter = Counter()
    for i in range(1, 7):
        assert counter.add(Tensor([1.0])).item() == 10 * i
        assert counter.value.item() == i
        np.testing.assert_array_equal(counter.table["sum"].numpy(), [i, i])


def test_results_that_are_arguments_stay_what_they_are():
    f = jit(lambda x, y: (x, y[1:], x + 1))
    kept = []
    for i in range(4):
        x, y = Tensor([float(i)]), Tensor([1.0, float(i)])
        a, b, c = f(x, y)
        assert a is x
        kept.append((i, a, b, c))
    for i, a, b, c in kept:
        assert a.item() == i and b.item() == i and c.item() == i + 1


def test_earlier_results_do_not_change():
    f = jit(lambda x: (x * 2, x.sum()))
    kept = [f(Tensor([float(i), 1.0])) for i in range(6)]
    for i, (a, b) in enumerate(kept):
        np.testing.assert_array_equal(a.numpy(), [2 * i, 2])
        assert b.item() == i + 1


def test_one_tensor_for_two_arguments_is_not_two():
    f = jit(lambda x, y: x - y)
    x = Tensor([3.0])
    for _ in range(3):
        assert f(x, x).item() == 0
    assert f(x, Tensor([1.0])).item() == 2
    shared = Tensor([4.0, 4.0]).realize()
    g = jit(lambda a, b: a + 2 * b)
    for _ in range(3):
        assert g(shared.reshape(1, 2).realize(), shared).sum().item() == 24
    np.testing.assert_array_equal(g(Tensor([[1.0, 1.0]]), shared).numpy(), [[9.0, 9.0]])


def test_lazy_arguments_views_and_empty_ones():
    f = jit(lambda x, e: (x * 2).sum() + e.sum())
    base = Tensor(np.arange(12, dtype=np.float32))
    for i in range(5):
        assert f(base[i : i + 3] + 0, Tensor.zeros(0)).item() == 2 * (3 * i + 3)
        assert f(base[i : i + 3], Tensor.zeros(0)).item() == 2 * (3 * i + 3)
        assert f(Tensor.ones(3) * i, Tensor.zeros(0)).item() == 6 * i
    assert f.captures == 1


def test_user_kernels_are_launched_again():
    def body(out, x):
        i = strata.uop.special("gidx0", 8)
        return strata.uop.sink(strata.uop.store(out[i], x[i].load() * 3.0), name="triple")

    f = jit(lambda x: Tensor.empty(8).custom_kernel(x, kernel=body)[0] + 1)
    for i in range(5):
        np.testing.assert_array_equal(f(Tensor(np.full(8, i, np.float32))).numpy(), np.full(8, 3 * i + 1))
    assert f.captures == 1


# Functions that would be wrong later are refused now.


def test_looking_at_values_is_refused():
    def refused(f, *arguments):
        with pytest.raises(strata.UsageError, match="strata.where"):
            jit(f)(*arguments)

    x = Tensor([1.0])
    refused(lambda x: x * 2 if x > 0 else x, x)
    refused(lambda x: x.item(), x)
    refused(lambda x: Tensor((x + 1).numpy()), x)
    refused(lambda x: strata.manual_seed(1), x)
    assert not strata._strata._capturing()


hidden = [Tensor([1.0])]


def test_arrays_generators_and_tensors_out_of_sight_are_refused():
    array, draw = np.ones(3, np.float32), np.random.default_rng(0)
    with pytest.raises(strata.UsageError, match="array is a NumPy array"):
        jit(lambda x: x + Tensor(array))(Tensor([1.0]))
    with pytest.raises(strata.UsageError, match="NumPy array, whose values"):
        jit(lambda x: x)(array)
    with pytest.raises(strata.UsageError, match="draw gives another value each time"):
        jit(lambda x: x + draw.random())(Tensor([1.0]))
    source = iter(range(9))
    with pytest.raises(strata.UsageError, match="source gives another value"):
        jit(lambda x: x + next(source))(Tensor([1.0]))
    with pytest.raises(strata.UsageError, match="1 elements of float32 is used that neither"):
        jit(lambda x: x + globals()["hid" + "den"][0])(Tensor([1.0]))
    with pytest.raises(strata.UsageError, match="changed that neither"):
        jit(lambda x: globals()["hid" + "den"][0].assign(x))(Tensor([1.0]))


def third_call(f, *arguments):
    with pytest.raises(strata.UsageError) as caught:
        for _ in range(3):
            f(*[Tensor(a) for a in arguments])
    return str(caught.value)


class Counting:
    count = 0

    def __call__(self, x):
        self.count += 1
        return x + self.count


def test_what_the_body_changes_beside_tensors_is_refused_at_the_third_call():
    losses = []
    assert "losses was 0, then 1" in third_call(jit(lambda x: losses.append(1) or x + 1), [1.0]) or losses
    counting = Counting()
    counting.count = 0
    assert "counting.count was 2, then 3" in third_call(jit(lambda x: counting(x)), [1.0])
    numbers = {"drawn": 0}

    def out_of_sight():
        return globals().setdefault("_seen", numbers)["drawn"]

    def f(x):
        numbers_ = globals().setdefault("_seen", numbers)
        numbers_["drawn"] += 1
        return x * float(out_of_sight())

    assert "then" in third_call(jit(f), [1.0])


def test_numbers_that_come_from_nowhere_are_refused_at_the_third_call():
    import time

    said = third_call(jit(lambda x: x * (time.perf_counter() % 1)), [1.0])
    assert "another number" in said or "other numbers" in said
    assert "host puts in were others" in third_call(jit(lambda x: x * Tensor([time.perf_counter() % 1])), [1.0])


def test_arguments_with_a_past_are_refused_and_results_have_none():
    w = Tensor([2.0]).requires_grad_()
    with pytest.raises(strata.UsageError, match="detach"):
        jit(lambda y: y * 2)(w * 3)
    f = jit(lambda x: (x * w).sum())
    for _ in range(3):
        with pytest.raises(strata.UsageError, match="requires a gradient"):
            f(Tensor([1.0])).backward()
    np.testing.assert_array_equal(strata.grad(f)(Tensor([5.0])).numpy(), [2.0])  # the plain function inside of grad


def test_objects_that_cannot_come_back_and_things_that_are_no_function_are_refused():
    with pytest.raises(strata.UsageError, match="gives a object back"):
        jit(lambda x: object())(Tensor([1.0]))
    with pytest.raises(strata.UsageError, match="takes a function"):
        jit(3)


def test_many_captures_warn_and_say_why():
    f = jit(lambda x, rate: x * rate)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for i in range(50):
            assert f(Tensor([2.0]), float(i)).item() == 2 * i
    assert len(said) == 1 and "plain values" in str(said[0].message)


def test_captured_functions_may_be_nested_and_fail():
    inner = jit(lambda x: x + 1)
    outer = jit(lambda x: inner(x) * 2)
    for i in range(4):
        assert outer(Tensor([float(i)])).item() == 2 * i + 2

    def fails(x):
        if x.shape == (2,):
            raise ValueError("of its own")
        return x

    f = jit(fails)
    for _ in range(3):
        with pytest.raises(ValueError, match="of its own"):
            f(Tensor([1.0, 2.0]))
        assert f(Tensor([1.0])).item() == 1


def test_threads_call_a_function_while_others_trace_it(rng):
    x = rng.standard_normal((16, 16), dtype=np.float32)
    bodies = [lambda t, k=k: ((t * (k + 0.5)).contiguous() + t.T.contiguous()).sum(k % 2) for k in range(8)]
    functions, start, failed = [jit(lambda t, body=body: body(t)) for body in bodies], threading.Barrier(6), []
    want = [((x * np.float32(k + 0.5)) + x.T).sum(k % 2) for k in range(8)]

    def work():
        try:
            mine = Tensor(x)
            for f, values in zip(functions, want):
                start.wait(60)
                for _ in range(5):
                    np.testing.assert_allclose(f(mine).numpy(), values, rtol=1e-4, atol=1e-4)
        except Exception as e:
            failed.append(e)
            start.abort()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed, failed[0]
    assert [f(Tensor(x)).ndim * f.captures for f in functions for _ in range(3)][2::3] == [1] * 8


def test_arguments_that_are_not_computed_yet_lie_where_others_lay():
    f, a = strata.jit(lambda x: x + 1), Tensor([1.0, 2.0])
    for i in range(8):
        assert f(a * i).tolist() == [i + 1, 2 * i + 1]
