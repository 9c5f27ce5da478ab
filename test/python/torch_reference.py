"""torch.nn.functional's functions by their definitions, in NumPy: plain loops and sums over float64."""

import itertools
import math

import numpy as np

erf = np.vectorize(math.erf)
sig = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731


def pairs(value, axes):
    return (value,) * axes if isinstance(value, int) else tuple(value)


# Activations.

sigmoid, tanh = sig, np.tanh


def relu(x, inplace=False):
    return np.maximum(x, 0)


def relu6(x, inplace=False):
    return np.clip(x, 0, 6)


def hardtanh(x, min_val=-1.0, max_val=1.0, inplace=False):
    return np.clip(x, min_val, max_val)


def hardsigmoid(x, inplace=False):
    return np.clip(x / 6 + 0.5, 0, 1)


def hardswish(x, inplace=False):
    return x * np.clip(x / 6 + 0.5, 0, 1)


def leaky_relu(x, negative_slope=0.01, inplace=False):
    return np.where(x > 0, x, negative_slope * x)


def elu(x, alpha=1.0, inplace=False):
    return np.where(x > 0, x, alpha * np.expm1(x))


def selu(x, inplace=False):
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def celu(x, alpha=1.0, inplace=False):
    return np.where(x > 0, x, alpha * np.expm1(x / alpha))


def mish(x, inplace=False):
    return x * np.tanh(np.log1p(np.exp(x)))


def silu(x, inplace=False):
    return x * sig(x)


def threshold(x, threshold, value, inplace=False):
    return np.where(x > threshold, x, value)


def rrelu(x, lower=1 / 8, upper=1 / 3, training=False, inplace=False):
    return np.where(x > 0, x, x * (lower + upper) / 2)


def logsigmoid(x):
    return -np.log1p(np.exp(-x))


def gelu(x, approximate="none"):
    return (
        x * sig(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
        if approximate == "tanh"
        else x * (1 + erf(x / math.sqrt(2))) / 2
    )


def glu(x, dim=-1):
    a, b = np.split(x, 2, dim)
    return a * sig(b)


def softplus(x, beta=1, threshold=20):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, threshold))) / beta)


def softsign(x):
    return x / (1 + abs(x))


def tanhshrink(x):
    return x - np.tanh(x)


def softshrink(x, lambd=0.5):
    return np.sign(x) * np.maximum(abs(x) - lambd, 0)


def hardshrink(x, lambd=0.5):
    return np.where(abs(x) > lambd, x, 0)


def prelu(x, weight):
    return np.where(x > 0, x, x * (weight.reshape(-1, *[1] * (x.ndim - 2)) if weight.size > 1 else weight))


def usual_axis(x, dim):
    return dim if dim is not None else 0 if x.ndim in (0, 1, 3) else 1


def softmax(x, dim=None):
    e = np.exp(x - x.max(usual_axis(x, dim), keepdims=True))
    return e / e.sum(usual_axis(x, dim), keepdims=True)


def softmin(x, dim=None):
    return softmax(-x, dim)


def log_softmax(x, dim=None):
    return np.log(softmax(x, dim))


# Attention and linear maps.


def scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    s = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = np.tril(np.ones(s.shape[-2:], bool))
    if attn_mask is not None:
        s = np.where(attn_mask, s, -np.inf) if attn_mask.dtype == bool else s + attn_mask
    return softmax(s, -1) @ v


def multi_head_attention_forward(
    query,
    key,
    value,
    width,
    heads,
    weight,
    bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_weight,
    out_bias,
    key_padding_mask=None,
    attn_mask=None,
):
    q, k, v = (x @ w.T + b for x, w, b in zip((query, key, value), np.split(weight, 3), np.split(bias, 3)))
    k, v = (
        np.concatenate([x, np.broadcast_to(b, (1, *x.shape[1:])), 0 * x[:1]]) if add_zero_attn else x
        for x, b in ((k, bias_k), (v, bias_v))
    )
    q, k, v = (x.reshape(len(x), x.shape[1], heads, -1).transpose(1, 2, 0, 3) for x in (q, k, v))
    hidden = np.zeros((len(query[0]), 1, len(query), k.shape[2]), bool)
    if attn_mask is not None:
        hidden[..., : attn_mask.shape[-1]] |= attn_mask
    if key_padding_mask is not None:
        hidden[..., : key_padding_mask.shape[-1]] |= key_padding_mask[:, None, None]
    w = softmax(np.where(hidden, -np.inf, q @ np.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5), -1)
    return (w @ v).transpose(2, 0, 1, 3).reshape(query.shape) @ out_weight.T + out_bias, w.mean(1)


def linear(x, weight, bias=None):
    return x @ weight.T + (0 if bias is None else bias)


def bilinear(a, b, weight, bias=None):
    return np.einsum("...i,oij,...j->...o", a, weight, b) + (0 if bias is None else bias)


def grouped_mm(a, b, offs=None):
    if offs is None:
        return a @ b
    ends = [*zip([0, *offs], offs)]
    if a.ndim == b.ndim:
        return np.stack([a[:, i:j] @ b[i:j] for i, j in ends])
    return (
        np.concatenate([a[i:j] @ b[k] for k, (i, j) in enumerate(ends)])
        if a.ndim == 2
        else np.concatenate([a[k] @ b[:, i:j] for k, (i, j) in enumerate(ends)], 1)
    )


def one_hot(x, num_classes=-1):
    return np.eye(x.max() + 1 if num_classes < 0 else num_classes, dtype=np.int64)[x]


def embedding(ids, weight, padding_idx=None):
    return weight[ids]


def embedding_bag(
    ids, weight, offsets=None, mode="mean", per_sample_weights=None, include_last_offset=False, padding_idx=None
):
    if offsets is not None:
        ends = [*offsets[1:], len(ids)]
        bags = [ids[a:b] for a, b in zip(offsets, ends)][: len(offsets) - include_last_offset]
    else:
        bags = [*ids]
    out = np.zeros((len(bags), weight.shape[1]))
    for i, bag in enumerate(bags):
        keep = np.ones(len(bag), bool) if padding_idx is None else bag != padding_idx
        rows = weight[bag[keep]] * (1 if per_sample_weights is None else per_sample_weights[i][keep][:, None])
        if len(rows):
            out[i] = getattr(rows, mode)(0)
    return out


# Distances.


def cosine_similarity(a, b, dim=1, eps=1e-8):
    return (a * b).sum(dim) / np.maximum(np.sqrt((a * a).sum(dim)), eps) / np.maximum(np.sqrt((b * b).sum(dim)), eps)


def pairwise_distance(a, b, p=2.0, eps=1e-6, keepdim=False):
    return np.linalg.norm(a - b + eps, p, -1, keepdim)


def pdist(x, p=2):
    return np.array([np.linalg.norm(a - b, p) for a, b in itertools.combinations(x, 2)])


def normalize(x, p=2.0, dim=1, eps=1e-12):
    return x / np.maximum(np.linalg.norm(x, p, dim, True), eps)


# Losses.


def red(x, reduction):
    return {"mean": np.mean, "sum": np.sum, "none": lambda x: x, "batchmean": lambda x: x.sum() / len(x)}[reduction](x)


def by_weight(loss, weight, reduction):
    return (
        (loss * weight).sum() / weight.sum()
        if reduction == "mean" and weight is not None
        else red(loss * (1 if weight is None else weight), reduction)
    )


def l1_loss(x, t, reduction="mean", weight=None):
    return by_weight(abs(x - t), weight, reduction)


def mse_loss(x, t, reduction="mean", weight=None):
    return by_weight((x - t) ** 2, weight, reduction)


def huber_loss(x, t, reduction="mean", delta=1.0, weight=1.0):
    d = abs(x - t)
    return red(np.where(d < delta, d * d / 2, delta * (d - delta / 2)) * weight, reduction)


def smooth_l1_loss(x, t, reduction="mean", beta=1.0):
    return l1_loss(x, t, reduction) if beta == 0 else huber_loss(x, t, reduction, beta) / beta


def binary_cross_entropy(x, t, weight=1.0, reduction="mean"):
    return red(-(t * np.log(x) + (1 - t) * np.log(1 - x)) * weight, reduction)


def binary_cross_entropy_with_logits(x, t, weight=1.0, reduction="mean", pos_weight=1.0):
    return red(-(pos_weight * t * np.log(sig(x)) + (1 - t) * np.log(sig(-x))) * weight, reduction)


def kl_div(x, t, reduction="mean", log_target=False):
    t = np.exp(t) if log_target else t
    return red(np.where(t > 0, t * (np.log(np.maximum(t, 1e-300)) - x), 0), reduction)


def poisson_nll_loss(x, t, log_input=True, full=False, eps=1e-8, reduction="mean"):
    loss = np.exp(x) - t * x if log_input else x - t * np.log(x + eps)
    above = np.maximum(t, 1)
    return red(
        loss + full * np.where(t > 1, above * np.log(above) - above + np.log(2 * np.pi * above) / 2, 0), reduction
    )


def gaussian_nll_loss(x, t, var, full=False, eps=1e-6, reduction="mean"):
    v = np.maximum(np.broadcast_to(np.reshape(var, (-1, 1)) if np.ndim(var) == 1 else var, x.shape), eps)
    return red((np.log(v) + (x - t) ** 2 / v + full * np.log(2 * np.pi)) / 2, reduction)


def hinge_embedding_loss(x, t, margin=1.0, reduction="mean"):
    return red(np.where(t == 1, x, np.maximum(0, margin - x)), reduction)


def soft_margin_loss(x, t, reduction="mean"):
    return red(np.log1p(np.exp(-t * x)), reduction)


def margin_ranking_loss(a, b, t, margin=0, reduction="mean"):
    return red(np.maximum(0, margin - t * (a - b)), reduction)


def cosine_embedding_loss(a, b, t, margin=0, reduction="mean"):
    c = cosine_similarity(a, b, -1, 0)
    return red(np.where(t == 1, 1 - c, np.maximum(0, c - margin)), reduction)


def triplet_margin_loss(a, p_, n, margin=1.0, p=2, eps=1e-6, swap=False, reduction="mean"):
    far = pairwise_distance(a, n, p, eps)
    far = np.minimum(far, pairwise_distance(p_, n, p, eps)) if swap else far
    return red(np.maximum(0, pairwise_distance(a, p_, p, eps) - far + margin), reduction)


def triplet_margin_with_distance_loss(a, p, n, margin=1.0, swap=False, reduction="mean"):
    return triplet_margin_loss(a, p, n, margin, swap=swap, reduction=reduction)


def rows_of_classes(x):
    """(n, classes) of (n, classes, ...) or (classes,)."""
    return np.moveaxis(x, min(1, x.ndim - 1), -1).reshape(-1, x.shape[min(1, x.ndim - 1)])


def nll_loss(x, t, weight=None, ignore_index=-100, reduction="mean"):
    rows, weight = rows_of_classes(x), np.ones(x.shape[min(1, x.ndim - 1)]) if weight is None else weight
    each = [0.0 if k == ignore_index else -row[k] * weight[k] for row, k in zip(rows, t.ravel())]
    share = sum(weight[k] for k in t.ravel() if k != ignore_index)
    return sum(each) / share if reduction == "mean" else red(np.reshape(each, t.shape), reduction)


def cross_entropy(x, t, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    axis = min(1, x.ndim - 1)
    rows, n = np.log(softmax(rows_of_classes(x), 1)), x.shape[axis]
    if t.dtype.kind == "f":
        spread = rows_of_classes(t) * (1 - label_smoothing) + label_smoothing / n
        each = -(rows * spread * (1 if weight is None else weight)).sum(1)
        return each.mean() if reduction == "mean" else red(each.reshape(np.delete(x.shape, axis)), reduction)
    w = np.ones(n) if weight is None else weight
    each = np.array(
        [
            0.0 if k == ignore_index else -(1 - label_smoothing) * row[k] * w[k] - label_smoothing / n * (row * w).sum()
            for row, k in zip(rows, t.ravel())
        ]
    )
    return (
        each.sum() / sum(w[k] for k in t.ravel() if k != ignore_index)
        if reduction == "mean"
        else red(each.reshape(t.shape), reduction)
    )


def linear_cross_entropy(x, linear_weight, t, linear_bias=None, reduction="mean"):
    return cross_entropy(linear(x, linear_weight, linear_bias), t, reduction=reduction)


def ctc_loss(logs, targets, steps, lengths, blank=0, reduction="mean", zero_infinity=False):
    """The sum over every path that collapses to the labels."""
    losses = []
    for i, (many, count) in enumerate(zip(steps, lengths)):
        start = sum(lengths[:i])
        labels = [*(targets[start : start + count] if targets.ndim == 1 else targets[i, :count])]
        total = 0.0
        for path in itertools.product(range(logs.shape[2]), repeat=many):
            if [k for k, _ in itertools.groupby(path) if k != blank] == labels:
                total += math.exp(sum(logs[t, i, k] for t, k in enumerate(path)))
        losses.append(-math.log(total) if total else 0.0 if zero_infinity else math.inf)
    losses = np.array(losses) / (np.maximum(lengths, 1) if reduction == "mean" else 1)
    return red(losses, reduction)


def multi_margin_loss(x, t, p=1, margin=1.0, weight=None, reduction="mean"):
    rows = np.atleast_2d(x)
    each = [
        sum(
            (1 if weight is None else weight[k]) * max(0, margin - row[k] + v) ** p for j, v in enumerate(row) if j != k
        )
        / len(row)
        for row, k in zip(rows, t.ravel())
    ]
    return red(np.reshape(each, t.shape), reduction)


def multilabel_margin_loss(x, t, reduction="mean"):
    each = []
    for row, named in zip(np.atleast_2d(x), np.atleast_2d(t)):
        right = [*itertools.takewhile(lambda k: k >= 0, named)]
        each.append(sum(max(0, 1 - row[k] + v) for k in right for j, v in enumerate(row) if j not in right) / len(row))
    return red(np.reshape(each, x.shape[:-1]), reduction)


def multilabel_soft_margin_loss(x, t, weight=1.0, reduction="mean"):
    return red((binary_cross_entropy_with_logits(x, t, reduction="none") * weight).mean(-1), reduction)
