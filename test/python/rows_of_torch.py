"""Calls of torch.nn.functional's functions, as their users write them: (name, arguments, named arguments), arrays of
float64 for tensors.

Values have eight bits, so that a call in any floating type is given the same ones.
"""

import numpy as np

RNG = np.random.default_rng(4)
ROWS = []


def row(name, *arguments, **named):
    ROWS.append((name, arguments, named))


def rounded(x):
    m, e = np.frexp(np.asarray(x, np.float64))
    return np.ldexp(np.round(m * 256), e - 8)


def some(*shape):
    return rounded(RNG.standard_normal(shape))


def distinct(*shape):
    """At most 510 values, no two alike: the largest is one alone."""
    values = np.concatenate([np.arange(-255, 0), np.arange(1, 256)]) / 64
    return RNG.permutation(values)[: np.prod(shape)].reshape(shape)


def between(*shape, low=0.05, high=0.95):
    return rounded(RNG.uniform(low, high, shape))


def whole(most, *shape):
    return RNG.integers(0, most, shape)


def chance(*shape, axis=-1):
    x = RNG.uniform(0.1, 1, shape)
    return rounded(x / x.sum(axis, keepdims=True))


# Activations.
X = rounded(some(4, 6) * 3)
for name in "relu relu6 hardsigmoid hardswish leaky_relu elu selu celu mish silu hardtanh rrelu".split():
    row(name, X), row(name, X, inplace=True)
for name in (
    "sigmoid tanh logsigmoid gelu glu softplus softsign tanhshrink softshrink hardshrink softmax softmin log_softmax"
).split():
    row(name, X)
(
    row("leaky_relu", X, 0.25),
    row("elu", X, 2.0),
    row("celu", X, 2.5),
    row("hardtanh", X, -0.5, 2.0),
    row("rrelu", X, 0.25, 0.5),
    row("threshold", X, 0.5, 7.0),
    row("threshold", X, 0.5, 7.0, True),
    row("gelu", X, "tanh"),
    row("glu", X, 0),
)
(
    row("softplus", X, 2, 3),
    row("softshrink", X, 0.25),
    row("hardshrink", X, lambd=0.25),
    row("prelu", some(2, 3, 4), some(3)),
    row("prelu", some(5), some(1)),
)
for shape in ((5,), (2, 3, 4), (2, 3, 2, 2)):
    row("softmax", some(*shape)), row("log_softmax", some(*shape), dim=0)
for name, more in (
    ("relu_", ()),
    ("leaky_relu_", ()),
    ("elu_", ()),
    ("selu_", ()),
    ("celu_", ()),
    ("hardtanh_", ()),
    ("rrelu_", ()),
    ("threshold_", (0.5, 7.0)),
):
    row(name, X, *more)

# Attention, linear maps, tables.
Q, K, V = some(2, 4, 5, 8), some(2, 4, 7, 8), some(2, 4, 7, 6)
MASK = np.arange(35).reshape(5, 7) % 3 != 1
(
    row("scaled_dot_product_attention", Q, K, V),
    row("scaled_dot_product_attention", Q, K, V, attn_mask=MASK),
    row("scaled_dot_product_attention", Q, K, V, some(2, 1, 5, 7), 0.0, scale=0.25),
    row("scaled_dot_product_attention", Q, K, V, is_causal=True),
)
row("scaled_dot_product_attention", Q, K[:, :2], V[:, :2], None, 0.0, True, enable_gqa=True)
HEADS = (
    some(5, 2, 8),
    some(6, 2, 8),
    some(6, 2, 8),
    8,
    2,
    some(24, 8),
    some(24),
    some(1, 1, 8),
    some(1, 1, 8),
    True,
    0.0,
    some(8, 8),
    some(8),
)
(
    row("multi_head_attention_forward", *HEADS, key_padding_mask=np.arange(12).reshape(2, 6) % 6 > 3),
    row("multi_head_attention_forward", *HEADS, attn_mask=~MASK[:, :6]),
)
(
    row("linear", some(2, 3), some(4, 3), some(4)),
    row("linear", some(2, 3), some(3)),
    row("bilinear", some(2, 4, 3), some(2, 4, 5), some(6, 3, 5), some(6)),
)
ENDS = np.array([2, 2, 5])
(
    row("grouped_mm", some(3, 4, 5), some(3, 5, 2)),
    row("grouped_mm", some(5, 4), some(3, 4, 2), offs=ENDS),
    row("grouped_mm", some(3, 4, 2), some(2, 5), offs=ENDS),
    row("grouped_mm", some(2, 5), some(5, 3), offs=ENDS),
)
IDS = np.array([[1, 4, 2, 2], [0, 2, 5, 1], [2, 2, 3, 0]])
(
    row("one_hot", IDS),
    row("one_hot", IDS, 7),
    row("embedding", IDS, some(6, 5)),
    row("embedding", IDS, some(6, 5), padding_idx=2),
)
for mode in ("sum", "mean", "max"):
    (
        row("embedding_bag", IDS, some(6, 5), mode=mode),
        row("embedding_bag", IDS.ravel(), some(6, 5), np.array([0, 3, 3, 7]), mode=mode),
        row(
            "embedding_bag",
            IDS.ravel(),
            some(6, 5),
            np.array([0, 3, 3, 12]),
            mode=mode,
            include_last_offset=True,
            padding_idx=2,
        ),
    )
row("embedding_bag", IDS, some(6, 5), mode="sum", per_sample_weights=some(3, 4))

# Distances.
A, B = some(4, 5), some(4, 5)
(
    row("cosine_similarity", A, B),
    row("cosine_similarity", some(3, 1, 4), some(2, 4), -1),
    row("pairwise_distance", A, B),
    row("pairwise_distance", A, some(5), 1, keepdim=True),
    row("pdist", A),
    row("pdist", A, 3),
    row("pdist", A, np.inf),
    row("normalize", some(3, 4, 2)),
    row("normalize", A, 1, 0),
)

# Losses.
P, T, SIGN, NEAR = between(4, 5), between(4, 5), np.where(B > 0, 1.0, -1.0), rounded(A + 0.25)
for kind in ("mean", "sum", "none"):
    for name in ("l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss"):
        row(name, A, NEAR, reduction=kind)
    (
        row("l1_loss", A, B, reduction=kind, weight=T),
        row("mse_loss", A, B, reduction=kind, weight=T),
        row("smooth_l1_loss", A, B, reduction=kind, beta=0.5),
        row("smooth_l1_loss", A, B, reduction=kind, beta=0.0),
        row("huber_loss", A, B, kind, 0.5, T),
    )
    (
        row("binary_cross_entropy", P, T, reduction=kind),
        row("binary_cross_entropy", P, T, between(5), reduction=kind),
        row("binary_cross_entropy_with_logits", A, T, reduction=kind),
        row("binary_cross_entropy_with_logits", A, T, between(4, 5), reduction=kind, pos_weight=between(5)),
    )
    (
        row("kl_div", A, chance(4, 5), reduction=kind),
        row("kl_div", A, B, reduction=kind, log_target=True),
        row("poisson_nll_loss", A, rounded(T * 6), reduction=kind),
        row("poisson_nll_loss", P, rounded(T * 6), False, True, reduction=kind),
    )
    (
        row("gaussian_nll_loss", A, B, P, reduction=kind),
        row("gaussian_nll_loss", A, B, between(4), True, reduction=kind),
        row("gaussian_nll_loss", A, B, between(4, 1), reduction=kind),
        row("gaussian_nll_loss", A, B, 2.0, reduction=kind),
    )
    (
        row("hinge_embedding_loss", A, SIGN, reduction=kind),
        row("soft_margin_loss", A, SIGN, reduction=kind),
        row("margin_ranking_loss", A, B, SIGN, 0.25, reduction=kind),
    )
    (
        row("cosine_embedding_loss", A, B, np.array([1, -1, 1, -1]), 0.125, reduction=kind),
        row("cosine_embedding_loss", A[0], B[0], np.array(-1), reduction=kind),
    )
    (
        row("triplet_margin_loss", A, B, some(4, 5), reduction=kind),
        row("triplet_margin_loss", A, B, some(4, 5), 2.0, 1, swap=True, reduction=kind),
        row("triplet_margin_with_distance_loss", A, B, some(4, 5), swap=True, reduction=kind),
    )
    for shape in ((5,), (4, 5), (2, 5, 2, 3)):
        logits, target = some(*shape), whole(5, *shape[:1], *shape[2:]) if len(shape) > 1 else np.array(3)
        few = np.where(np.arange(target.size).reshape(target.shape) % 3 == 1, -100, target)
        (
            row("cross_entropy", logits, few, reduction=kind),
            row("cross_entropy", logits, few, between(5), reduction=kind, label_smoothing=0.25),
            row(
                "cross_entropy",
                logits,
                chance(*shape, axis=min(1, len(shape) - 1)),
                between(5),
                reduction=kind,
                label_smoothing=0.25,
            ),
        )
        (
            row("nll_loss", logits, few, between(5), reduction=kind),
            row("nll_loss", logits, target, ignore_index=2, reduction=kind),
        )
    (
        row("linear_cross_entropy", some(4, 3), some(5, 3), whole(5, 4), linear_bias=some(5), reduction=kind),
        row("multi_margin_loss", A, whole(5, 4), reduction=kind),
        row("multi_margin_loss", A, whole(5, 4), 2, 0.5, between(5), reduction=kind),
        row("multi_margin_loss", A[0], np.array(3), reduction=kind),
    )
    (
        row(
            "multilabel_margin_loss",
            A,
            np.array([[1, 2, -1, 0, 0], [0, -1, 2, 2, 2], [-1, 0, 0, 0, 0], [4, 3, 2, 1, 0]]),
            reduction=kind,
        ),
        row("multilabel_soft_margin_loss", A, np.round(T), reduction=kind),
        row("multilabel_soft_margin_loss", A, np.round(T), between(5), reduction=kind),
    )
    LOGS, LABELS = rounded(np.log(chance(5, 3, 3))), np.array([[1, 2], [1, 1], [2, 0]])
    (
        row("ctc_loss", LOGS, LABELS, (5, 4, 3), (2, 2, 1), reduction=kind),
        row("ctc_loss", LOGS, np.array([1, 2, 1, 1, 2]), np.array([5, 4, 3]), np.array([2, 2, 1]), reduction=kind),
        row("ctc_loss", LOGS, LABELS, (5, 2, 3), (2, 2, 0), reduction=kind, zero_infinity=True),
    )
(
    row("kl_div", A, chance(4, 5), reduction="batchmean"),
    row("ctc_loss", LOGS, LABELS, (5, 2, 3), (2, 2, 1), reduction="none"),
)

# Over (n, channels, sizes).
for n in (1, 2, 3):
    sizes, kernel = (7, 5, 3)[:n], (3, 2, 4)[:n]
    x = distinct(2, 2, *sizes)
    for of in ((2,), (3, 2, 1), (2, 3, 1)):
        for ceil in (False, True):
            (
                row(f"max_pool{n}d", x, *of, ceil_mode=ceil),
                row(f"avg_pool{n}d", x, *of, ceil_mode=ceil, count_include_pad=not ceil),
            )
    (
        row(f"max_pool{n}d", x, 2, 1, 1, 2, False, True),
        row(f"max_pool{n}d", x, kernel, 2, 1, ceil_mode=True, return_indices=True),
        row(f"max_pool{n}d", x[0], 2),
    )
    row(f"lp_pool{n}d", between(2, 2, *sizes), 2, 2), row(f"lp_pool{n}d", between(2, 2, *sizes), 3, 3, 2, True)
    if n > 1:
        row(f"avg_pool{n}d", x, 2, 2, 1, True, True, 5)
    for to in (1, 3, (4, None, 2)[:n]):
        (
            row(f"adaptive_avg_pool{n}d", x, to),
            row(f"adaptive_max_pool{n}d", x, to),
            row(f"adaptive_max_pool{n}d", x, to, True),
        )
    pooled = (3, 3, 2)[:n]
    at = np.ravel_multi_index([2 * i + j % 2 for j, i in enumerate(np.indices(pooled))], [2 * i for i in pooled])
    row(f"max_unpool{n}d", some(2, 2, *pooled), np.broadcast_to(at, (2, 2, *pooled)).copy(), 2)
    if n > 1:
        (
            row(f"fractional_max_pool{n}d", x, (2, 2, 1)[:n], 2, None, True, between(2, 2, n)),
            row(
                f"fractional_max_pool{n}d",
                x,
                (3, 2, 1)[:n],
                output_ratio=(0.5, 0.6, 0.7)[:n],
                _random_samples=between(2, 2, n),
            ),
        )
    row(f"conv{n}d", x, some(4, 2, *(3, 2, 2)[:n])), row(f"conv_transpose{n}d", x, some(2, 3, *(3, 3, 2)[:n]))
    for named in (
        {},
        {"padding": "same"},
        {"padding": "same", "dilation": 2},
        {"padding": "valid", "stride": 2},
        {"padding": 1, "groups": 2},
        {"stride": (2, 1, 2)[:n], "padding": (1, 0, 2)[:n], "dilation": (1, 2, 1)[:n]},
    ):
        row(f"conv{n}d", x, some(4, 2 // named.get("groups", 1), *(3, 2, 2)[:n]), some(4), **named)
    for named in (
        {},
        {"stride": 2, "output_padding": 1},
        {"padding": 1, "groups": 2},
        {"dilation": 2, "output_padding": 1},
        {"padding": (2, 2, 1)[:n]},
    ):
        row(f"conv_transpose{n}d", x, some(2, 3, *(3, 3, 2)[:n]), some(3 * named.get("groups", 1)), **named)
    for mode in ("nearest", "nearest-exact", "area"):
        (
            row("interpolate", x, 5, mode=mode),
            row("interpolate", x, (9, 3, 5)[:n], None, mode),
            row("interpolate", x, scale_factor=1.3, mode=mode) if mode != "area" else None,
        )
    for mode in {1: ("linear",), 2: ("bilinear", "bicubic"), 3: ("trilinear",)}[n]:
        (
            row("interpolate", x, None, 1.4, mode),
            row("interpolate", x, None, 1.4, mode, False, True),
            row("interpolate", x, (9, 3, 5)[:n], None, mode, True),
        )
    (
        row("instance_norm", x, None, None, some(2), some(2)),
        row("instance_norm", x, some(2), between(2), use_input_stats=False),
        row("batch_norm", x, some(2), between(2), some(2), some(2)),
        row("batch_norm", x, None, None, some(2), some(2), True),
        row("group_norm", x, 2, some(2), some(2)),
        row("local_response_norm", some(2, 4, *sizes[1:], 3), 3, 0.5, 0.75, 2.0),
    )
IMAGE = some(2, 3, 6, 5)
for align in (False, True):
    for mode in ("bilinear", "bicubic"):
        (
            row("interpolate", IMAGE, (4, 9), mode=mode, align_corners=align, antialias=True),
            row("interpolate", IMAGE, None, 0.7, mode, align, antialias=True),
        )
    row("affine_grid", some(2, 2, 3), (2, 3, 4, 5), align), row("affine_grid", some(2, 3, 4), (2, 3, 4, 1, 3), align)
    for outside in ("zeros", "border", "reflection"):
        for mode in ("bilinear", "nearest", "bicubic"):
            row("grid_sample", IMAGE, rounded(some(2, 3, 2, 2) * 1.5), mode, outside, align)
    row("grid_sample", some(2, 2, 3, 4, 5), some(2, 2, 2, 2, 3), "bilinear", "zeros", align)
(
    row("upsample", IMAGE, 7),
    row("upsample_nearest", IMAGE, None, 2),
    row("upsample_bilinear", IMAGE, (9, 3)),
    row("conv_tbc", some(6, 2, 3), some(3, 3, 4), some(4), 1),
)
(
    row("layer_norm", some(3, 4, 5), (4, 5), some(4, 5), some(4, 5)),
    row("rms_norm", some(3, 4, 5), (4, 5), some(4, 5)),
    row("rms_norm", some(3, 4, 5), (5,), None, 0.5),
)
for mode in ("constant", "reflect", "replicate", "circular"):
    row("pad", IMAGE, (1, 2, 3, 1), mode)
(
    row("pad", IMAGE, (1, -2, -1, 1), "constant", 3.0),
    row("pixel_shuffle", some(2, 8, 3, 2), 2),
    row("pixel_unshuffle", some(2, 4, 6), 2),
    row("channel_shuffle", some(2, 6, 3), 3),
    row("native_channel_shuffle", some(2, 6, 3), 3),
)
for named, places in (
    ({}, 16),
    ({"padding": 1, "stride": 2}, 9),
    ({"dilation": 2, "padding": 2, "stride": (1, 2)}, 24),
):
    (
        row("unfold", IMAGE, (3, 2), **named),
        row("fold", some(2, 18, places), (6, 5), (3, 2), **named),
        row("fold", some(6, places), (6, 5), (3, 2), **named),
    )
