"""Losses over vocabularies, choices of tokens, and sums over devices, against NumPy."""

import numpy as np
import pytest
import strata
from by_numpy import ARCHS, check_slopes, close, exact, kernels, of, strict, wide
from strata import Tensor, kernels as K
from strata.nn import functional as F

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("quick_target")]


def log_softmax(x):
    top = x.max(-1, keepdims=True)
    return x - top - np.log(np.exp(x - top).sum(-1, keepdims=True))


def loss(x, w, bias, target, ignored=-100, smoothing=0.0, softcap=0.0, reduction="mean"):
    logits = x @ w.T + (0 if bias is None else bias)
    logp = log_softmax(softcap * np.tanh(logits / softcap) if softcap else logits)
    kept = target != ignored
    hard = -logp[np.arange(len(x)), np.where(kept, target, 0)]
    losses = np.where(kept, hard * (1 - smoothing) - logp.mean(-1) * smoothing, 0)
    return losses if reduction == "none" else losses.sum() / (kept.sum() if reduction == "mean" else 1)


# Card, (rows, width, classes), type, how, kernels.
LOSSES = [
    ("gfx1100", (7, 33, 300), "float32", {"softcap": 5.0}, 2),
    ("gfx1201", (16, 64, 130), "bfloat16", {"label_smoothing": 0.1}, 2),
    ("gfx942", (5, 16, 769), "float16", {"ignore_index": 3, "reduction": "sum"}, 2),
    (
        "gfx90a",
        (4, 8, 65),
        "float32",
        {"reduction": "none", "ignore_index": 2, "softcap": 2.0, "label_smoothing": 0.3},
        2,
    ),
]


@pytest.mark.parametrize("arch, shape, dtype, how, count", LOSSES)
def test_a_loss_of_linear_logits_is_that_of_numpy(arch, shape, dtype, how, count, rng):
    n, width, classes = shape
    target = rng.integers(0, classes, n)
    target[1] = how.get("ignore_index", -100)
    with strict(arch):
        x, w, b = (of(rng.standard_normal(s), dtype) for s in ((n, width), (classes, width), classes))
        y = F.linear_cross_entropy(x, w, Tensor(target).realize(), b, **how)
        assert kernels(y) <= count
        names = {"ignore_index": "ignored", "label_smoothing": "smoothing"}
        given = {names.get(name, name): value for name, value in how.items()}
        close(y, loss(wide(x), wide(w), wide(b), target, **given), dtype)


@pytest.mark.parametrize(
    "arch, how", [*zip(ARCHS, [{}, {"softcap": 1.5}, {"label_smoothing": 0.2}, {"ignore_index": 4}])]
)
def test_slopes_of_a_loss_are_those_of_numpy(arch, how, rng):
    target = np.array([4, 0, 2])
    names = {"ignore_index": "ignored", "label_smoothing": "smoothing"}

    def f(x, w, b):
        return F.linear_cross_entropy(x, w, Tensor(target), b, **how)

    def reference(x, w, b):
        return np.array(loss(x, w, b, target, **{names.get(name, name): value for name, value in how.items()}))

    with strict(arch):
        check_slopes(f, reference, [rng.standard_normal(s) for s in ((3, 4), (5, 4), 5)])


def test_a_target_that_is_ignored_costs_nothing_and_its_row_is_not_read(rng):
    x, w, target = rng.standard_normal((4, 6)), rng.standard_normal((9, 6)), np.array([1, -100, 8, 0])
    for logits, want in ((x @ w.T, loss(x, w, None, target)),):
        close(F.cross_entropy(of(logits), Tensor(target)), want)
        close(F.cross_entropy(of(logits), Tensor(np.where(target < 0, 7, target)), ignore_index=7), want)
    with pytest.raises(strata.MemoryFault, match="index 9 is outside of axis 1"):
        F.linear_cross_entropy(of(x), of(w), Tensor([1, 2, 9, 0])).numpy()


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("bad", [-1, -5, 4])
def test_a_target_out_of_range_is_named_as_it_is(bad, dtype):
    x, w, target = Tensor.ones(2, 4), Tensor.ones(4, 4), Tensor(np.array([3, bad], dtype))
    for loss_of in (
        lambda: F.cross_entropy(x, target),
        lambda: F.cross_entropy(x, target, weight=Tensor.ones(4)),
        lambda: F.nll_loss(x, target),
        lambda: F.linear_cross_entropy(x, w, target),
        lambda: F.multi_margin_loss(x, target),
        lambda: F.embedding(target, w),
    ):
        with pytest.raises(strata.MemoryFault, match=f"index {bad} is outside of axis"):
            loss_of().numpy()


@pytest.mark.parametrize("arch", ARCHS)
def test_tokens_are_chosen_with_their_probabilities(arch):
    logits, rows = np.log([0.4, 0.3, 0.2, 0.1, 1e-30]), 6000
    with strict(arch):
        x = of(logits).expand(rows, 5)
        for how, left in (
            ({}, [0.4, 0.3, 0.2, 0.1, 0]),
            ({"temperature": 0.5}, [0.16, 0.09, 0.04, 0.01, 0]),
            ({"top_k": 2}, [0.4, 0.3, 0, 0, 0]),
            ({"top_p": 0.75}, [0.4, 0.3, 0.2, 0, 0]),
            ({"min_p": 0.4}, [0.4, 0.3, 0.2, 0, 0]),
        ):
            ids = K.sample(x, seed=7, **how).numpy()
            share, want = np.bincount(ids, minlength=5) / rows, np.array(left) / sum(left)
            assert ids.dtype == np.int32 and not share[want == 0].any()
            np.testing.assert_array_less(abs(share - want), 4.5 * np.sqrt(want * (1 - want) / rows) + 1e-12)


def test_a_choice_follows_from_seed_and_row_and_is_one_kernel(rng):
    x = of(rng.standard_normal((40, 1000)))
    first = K.sample(x, seed=1)
    assert kernels(first) == 1 and kernels(K.sample(x, min_p=0.1)) == 1 and kernels(K.sample(x, top_k=50)) == 4
    exact(K.sample(x, seed=1), first.numpy())
    for other in (2, 2**40 + 1):
        assert (K.sample(x, seed=other).numpy() != first.numpy()).any()
    with strata.config(device="emu:gfx942"):
        exact(K.sample(of(wide(x)), seed=1), first.numpy())
    exact(K.sample(x, temperature=0.0), wide(x).argmax(-1))
    exact(K.sample(x, top_k=1), wide(x).argmax(-1))
    # Tokens that are left out change no choice of others.
    kept = np.argsort(-wide(x), 1, kind="stable")[:, :300]
    stays = (kept == first.numpy()[:, None]).any(1)
    assert stays.any()
    exact(K.sample(x, seed=1, top_k=300)[of(np.flatnonzero(stays), "int64")], first.numpy()[stays])


def test_equal_logits_and_rows_without_any_have_a_token():
    x = np.zeros((3, 6))
    x[1], x[2, 3] = -np.inf, np.inf
    exact(K.sample(of(x), temperature=0.0), [0, 0, 3])
    assert (K.sample(of(x)).numpy() < 6).all() and K.sample(Tensor.zeros(0, 4)).numpy().shape == (0,)


DEVICES = ["emu:gfx1100", "emu:gfx942", "emu:gfx1201"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min"])
def test_all_devices_get_the_same_bits(op, dtype, rng):
    arrays = [rng.integers(0, 6, (3, 5)) + (0.25 if "float" in dtype else 0) for _ in DEVICES]
    found = K.all_reduce([of(x, dtype).to(d) for x, d in zip(arrays, DEVICES)], op)
    want = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[op].reduce(arrays)
    assert [t.device for t in found] == DEVICES
    for got in found:
        assert got.dtype == dtype
        if "float" in dtype:
            close(got, want, dtype)
        else:
            exact(got, want)
        np.testing.assert_array_equal(wide(got), wide(found[0]))


X = Tensor.ones(2, 4)
ERRORS = [
    (lambda: F.linear_cross_entropy(X, X, Tensor([0, 1]), X[0], linear_bias=X[0]), strata.UsageError,
     "[linear_cross_entropy] bias and linear_bias are one argument: give one"),
    (lambda: F.linear_cross_entropy(X, X, Tensor([0, 1]), softcap=-1.0), strata.UsageError,
     "[linear_cross_entropy] softcap is -1.0: a finite number, at least 0"),
    (lambda: K.sample(Tensor.ones(4)), strata.ShapeError,
     "[sample] logits (4,): logits (rows, tokens), one token or more"),
    (lambda: K.sample(X, temperature=-1.0), strata.UsageError,
     "[sample] temperature is -1.0: a finite number, at least 0"),
    (lambda: K.sample(X, top_p=2.0), strata.UsageError,
     "[sample] top_p is 2.0: a finite number, at least 0, at most 1"),
    (lambda: K.sample(X, top_k=-1), strata.UsageError, "[sample] top_k is -1: an integer, 0 or more"),
    (lambda: K.sample(X.cast("int32")), strata.DTypeError,
     "[sample] logits is of int32: it takes floats, cast it first"),
    (lambda: K.all_reduce([]), strata.UsageError, "[all_reduce] tensors is []: a list of one or more"),
    (lambda: K.all_reduce([X, X[0]]), strata.ShapeError, "[all_reduce] shapes (2, 4) and (4,) differ"),
    (lambda: K.all_reduce([X, X.cast("int32")]), strata.DTypeError, "[all_reduce] types float32 and int32 differ"),
    (lambda: K.all_reduce([X], "mean"), strata.UsageError,
     "[all_reduce] op 'mean': it is one of sum, prod, max, min"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", ERRORS)
def test_what_does_not_fit_is_refused_by_name(call, kind, text):
    with pytest.raises(kind) as e:
        call()
    assert text in str(e.value)
