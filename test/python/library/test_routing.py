"""Which experts a token goes to, and the order of choices by expert, against NumPy: ids and order are exact."""

import numpy as np
import pytest
import strata
from by_numpy import ARCHS, close, exact, kernels, of, strict, wide
from strata import Tensor, kernels as K

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("quick_target")]


def chosen(logits, k, scoring="softmax", bias=0.0, groups=1, topk_groups=1, scale=1.0, renormalize=False):
    """(weights, ids) of one token, by the definition."""
    e = np.exp(logits - logits.max())
    scores = e / e.sum() if scoring == "softmax" else 1 / (1 + np.exp(-logits))
    choice = scores + bias
    parts = choice.reshape(groups, -1)
    best = np.sort(parts, 1)[:, -2:].sum(1)
    kept = np.argsort(-best, kind="stable")[:topk_groups]
    choice = np.where(np.isin(np.arange(groups), kept)[:, None], parts, -np.inf).reshape(-1)
    ids = np.argsort(-choice, kind="stable")[:k]
    weights = scores[ids] / (scores[ids].sum() if renormalize else 1)
    return weights * scale, ids


# Card, tokens, experts, k, type, how, kernels.
ROUTES = [
    ("gfx1100", 7, 8, 2, "float32", {"renormalize": True}, 1),
    ("gfx1201", 33, 32, 1, "bfloat16", {}, 1),
    ("gfx90a", 9, 33, 33, "float16", {"renormalize": True, "scale": 0.5}, 1),
    ("gfx942", 4, 257, 9, "float32", {"scoring": "sigmoid", "bias": 257}, 1),
    ("gfx1100", 2, 512, 40, "float32", {"bias": 512, "renormalize": True}, 1),
    ("gfx1100", 2, 513, 3, "float32", {}, 2),
    ("gfx90a", 5, 64, 6, "float16", {"scoring": "sigmoid", "bias": 64, "groups": 8, "topk_groups": 3, "scale": 2.5,
                                     "renormalize": True}, 5),
    ("gfx942", 1, 4, 4, "float32", {"groups": 2, "topk_groups": 2}, 1),
]  # fmt: skip


@pytest.mark.parametrize("arch, tokens, experts, k, dtype, how, count", ROUTES)
def test_the_best_experts_come_in_falling_order(arch, tokens, experts, k, dtype, how, count, rng):
    how = dict(how)
    logits = rng.permutation(tokens * experts).reshape(tokens, experts) / experts - tokens / 2  # scores are apart
    bias = rng.permutation(experts) / 7 if "bias" in how else None
    with strict(arch):
        given = of(logits, dtype)
        weights, ids = K.topk_softmax(given, k, **how | ({} if bias is None else {"bias": of(bias)}))
        assert kernels(weights, ids) == count and (weights.dtype, ids.dtype) == ("float32", "int32")
        how |= {} if bias is None else {"bias": np.float32(bias).astype(float)}
        want = [chosen(row, k, **how) for row in wide(given)]
        exact(ids, [i for _, i in want])
        close(weights, np.array([w for w, _ in want]))


@pytest.mark.parametrize("arch", ARCHS)
def test_ties_go_to_the_lower_id_and_rows_of_nan_have_different_ids(arch):
    logits = np.zeros((3, 6))
    logits[0, [1, 4]] = 1
    logits[1] = np.nan
    with strict(arch):
        weights, ids = K.topk_softmax(of(logits), 3)
        exact(ids, [[1, 4, 0], [0, 1, 2], [0, 1, 2]])
        assert np.isnan(wide(weights)[1]).all() and np.isfinite(wide(weights)[[0, 2]]).all()


@pytest.mark.parametrize("arch", ARCHS)
def test_infinite_logits_and_those_of_a_view_are_routed(arch):
    logits = np.full((2, 40), -np.inf)
    logits[:, [7, 30]] = 3, 5
    with strict(arch):
        turned = of(np.repeat(logits, 2, 0).T).transpose(0, 1)[::2]
        weights, ids = K.topk_softmax(turned, 4)
        exact(ids, [[30, 7, 0, 1]] * 2)
        close(weights, [[1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2)), 0, 0]] * 2)


def aligned(ids, block, experts, expert_map=None):
    """vLLM's three results, by the definition."""
    flat, order, of_blocks = ids.reshape(-1), [], []
    for e in range(experts):
        here = e if expert_map is None else expert_map[e]
        mine = [i for i, x in enumerate(flat) if x == e and here != -1]
        mine += [flat.size] * (-len(mine) % block)
        order += mine
        of_blocks += [here] * (len(mine) // block)
    most = flat.size + experts * (block - 1)
    blocks = -(-most // block)
    return order + [flat.size] * (most - len(order)), of_blocks + [-1] * (blocks - len(of_blocks)), [len(order)]


@pytest.mark.parametrize("arch, tokens, k, block, experts, mapped, count", [
    ("gfx1100", 7, 2, 4, 8, False, 3), ("gfx1201", 33, 1, 16, 4, True, 4), ("gfx942", 1, 9, 1, 257, False, 3),
    ("gfx90a", 20, 3, 7, 32, True, 4), ("gfx942", 700, 3, 16, 33, False, 3), ("gfx1100", 1024, 2, 64, 1, False, 3),
    ("gfx1201", 300, 2, 8, 600, False, 3), ("gfx1100", 3, 2, 1, 1025, False, 7)])  # fmt: skip
def test_choices_are_ordered_by_expert_and_filled_up_to_blocks(arch, tokens, k, block, experts, mapped, count, rng):
    ids = rng.integers(-1, experts, (tokens, k)).astype(np.int64 if block % 2 else np.int32)
    expert_map = np.where(rng.random(experts) < 0.5, -1, rng.permutation(experts)) if mapped else None
    with strict(arch):
        given = None if expert_map is None else Tensor(expert_map.astype(np.int32)).realize()
        found = K.moe_align_block_size(Tensor(ids).realize(), block, experts, given)
        assert kernels(*found) == count
        for got, want in zip(found, aligned(ids, block, experts, expert_map)):
            assert got.dtype == "int32"
            exact(got, want)


@pytest.mark.parametrize("bad", [4, -2, 99])
def test_an_id_out_of_range_is_an_error(bad):
    with pytest.raises(strata.MemoryFault, match=f"index {bad} is outside of axis 0"):
        K.moe_align_block_size(Tensor([[0, bad]]), 2, 4)[0].numpy()


def test_no_tokens_give_no_choices():
    weights, ids = K.topk_softmax(Tensor.zeros(0, 4), 2)
    assert weights.numpy().shape == ids.numpy().shape == (0, 2)
    order, experts, count = K.moe_align_block_size(Tensor.zeros(0, 2, dtype="int32"), 4, 3)
    exact(order, [0] * 9)
    exact(experts, [-1] * 3)
    exact(count, [0])


def test_a_gradient_that_arrives_is_refused():
    x = Tensor.ones(2, 4).contiguous()
    with pytest.raises(strata.Unsupported, match=r"\[topk_softmax\] has no gradient: detach"):
        strata.grad(lambda x: K.topk_softmax(x, 2)[0].sum())(x)


X, IDS = Tensor.ones(2, 4), Tensor([[0, 1]])
ERRORS = [
    (lambda: K.topk_softmax(X, 0), strata.UsageError, "[topk_softmax] k is 0: an integer, 1 or more"),
    (lambda: K.topk_softmax(X, 5), strata.UsageError,
     "[topk_softmax] k 5 of 4 experts in 1 groups, 1 of which take part"),
    (lambda: K.topk_softmax(X, 1, groups=3), strata.UsageError, "k 1 of 4 experts in 3 groups, 1 of which take part"),
    (lambda: K.topk_softmax(X, 1, scoring="relu"), strata.UsageError,
     "[topk_softmax] scoring 'relu': it is softmax or sigmoid"),
    (lambda: K.topk_softmax(X, 1, bias=Tensor.ones(3)), strata.ShapeError,
     "[topk_softmax] logits (2, 4), bias (3,): logits (tokens, experts), bias (experts,)"),
    (lambda: K.topk_softmax(IDS, 1), strata.DTypeError,
     "[topk_softmax] logits is of int64: it takes floats, cast it first"),
    (lambda: K.moe_align_block_size(X, 2, 4), strata.DTypeError,
     "[moe_align_block_size] topk_ids is of float32: it takes int32 or int64"),
    (lambda: K.moe_align_block_size(IDS, 0, 4), strata.UsageError,
     "[moe_align_block_size] block_size is 0: an integer, 1 or more"),
    (lambda: K.moe_align_block_size(IDS, 2, 4, Tensor([1])), strata.ShapeError,
     "[moe_align_block_size] topk_ids (1, 2), expert_map (1,): topk_ids (tokens, k), expert_map (4,)"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", ERRORS)
def test_what_does_not_fit_is_refused_by_name(call, kind, text):
    with pytest.raises(kind) as e:
        call()
    assert text in str(e.value)
