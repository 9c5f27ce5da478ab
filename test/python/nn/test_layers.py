"""Layers, losses and optimisers: values against NumPy, gradients against central differences, names, and what a step
costs.
"""

import math

import numpy as np
import pytest
import strata
from strata import Tensor, nn, optim
from strata.nn import losses


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def close(got, want, tolerance=1e-6):
    np.testing.assert_allclose(got.numpy(), want, rtol=tolerance, atol=tolerance)


ERF = np.vectorize(math.erf)
PHI = lambda x: 0.5 * x * (1 + ERF(x / math.sqrt(2)))  # noqa: E731
ACTIVATIONS = {
    "ReLU": lambda x: np.maximum(x, 0), "LeakyReLU": lambda x: np.where(x > 0, x, 0.01 * x),
    "ELU": lambda x: np.where(x > 0, x, np.expm1(x)),
    "SELU": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)), "GELU": PHI,
    "GELUTanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "SiLU": lambda x: x * sigmoid(x),
    "Mish": lambda x: x * np.tanh(np.log1p(np.exp(x))), "Softplus": lambda x: np.log1p(np.exp(x)),
    "Softsign": lambda x: x / (1 + abs(x)), "Sigmoid": sigmoid,
    "LogSigmoid": lambda x: np.log(sigmoid(x)), "Tanh": np.tanh, "Hardtanh": lambda x: x.clip(-1, 1),
    "Hardsigmoid": lambda x: (x / 6 + 0.5).clip(0, 1),
    "Hardswish": lambda x: x * (x / 6 + 0.5).clip(0, 1), "ReLU6": lambda x: x.clip(0, 6),
    "Softmax": lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
    "LogSoftmax": lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True)), "GLU": lambda x: x[:, :4] * sigmoid(x[:, 4:]),
    "SwiGLU": lambda x: x[:, :4] * x[:, 4:] * sigmoid(x[:, 4:]), "GEGLU": lambda x: x[:, :4] * PHI(x[:, 4:]),
    "ReGLU": lambda x: x[:, :4] * np.maximum(x[:, 4:], 0),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name, rng):
    x = rng.uniform(-4, 4, (6, 8))
    layer = getattr(nn, name)()
    close(layer(Tensor(x)), ACTIVATIONS[name](x), 1e-12)
    step = 1e-6 * rng.uniform(0.5, 1, x.shape)
    along = strata.jvp(lambda x: layer(x), (Tensor(x),), (Tensor(step),))[1].numpy()
    np.testing.assert_allclose(
        along, (ACTIVATIONS[name](x + step) - ACTIVATIONS[name](x - step)) / 2, rtol=1e-5, atol=1e-13
    )


def test_every_activation_is_tested():
    assert set(ACTIVATIONS) == {
        name for name in vars(nn.activations) if isinstance(getattr(nn, name, None), type) and name != "Module"
    }


def test_softplus_and_its_kin_do_not_overflow():
    x = Tensor([-1e4, 1e4])
    close(nn.Softplus()(x), [0, 1e4])
    close(nn.LogSigmoid()(x), [-1e4, 0])


def test_linear_and_embedding(rng):
    layer, table = nn.Linear(5, 3), nn.Embedding(7, 4)
    x = rng.uniform(-1, 1, (2, 6, 5)).astype(np.float32)
    close(layer(Tensor(x)), x @ layer.weight.numpy().T + layer.bias.numpy())
    assert np.abs(layer.weight.numpy()).max() <= 1 / math.sqrt(5)
    ids = rng.integers(0, 7, (2, 3))
    close(table(Tensor(ids)), table.weight.numpy()[ids])


def normalised(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def test_norms(rng):
    x = rng.uniform(-1, 2, (3, 6, 4, 5))
    weight, bias = rng.uniform(1, 2, 6), rng.uniform(-1, 1, 6)

    def of(layer):
        layer.weight.assign(weight), layer.bias.assign(bias)
        return layer(Tensor(x))

    scaled = lambda y: y * weight[:, None, None] + bias[:, None, None]  # noqa: E731
    close(
        of(nn.GroupNorm(2, 6, dtype="float64")),
        scaled(normalised(x.reshape(3, 2, -1), 2, 1e-5).reshape(x.shape)),
        1e-12,
    )
    close(of(nn.InstanceNorm(6, affine=True, dtype="float64")), scaled(normalised(x, (2, 3), 1e-5)), 1e-12)
    close(of(nn.BatchNorm(6, dtype="float64")), scaled(normalised(x, (0, 2, 3), 1e-5)), 1e-12)
    close(nn.LayerNorm((4, 5), dtype="float64")(Tensor(x)), normalised(x, (2, 3), 1e-5), 1e-12)
    close(nn.RMSNorm(5, dtype="float64")(Tensor(x)), x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6), 1e-12)


def test_batch_norm_keeps_running_statistics(rng):
    layer = nn.BatchNorm(3, dtype="float64")
    mean, var = np.zeros(3), np.ones(3)
    for _ in range(4):
        x = rng.uniform(-1, 3, (5, 3, 2))
        layer(Tensor(x))
        mean, var = 0.9 * mean + 0.1 * x.mean((0, 2)), 0.9 * var + 0.1 * x.var((0, 2), ddof=1)
    close(layer.running_mean, mean, 1e-12)
    close(layer.running_var, var, 1e-12)
    close(layer.eval()(Tensor(x)), (x - mean[:, None]) / np.sqrt(var[:, None] + 1e-5), 1e-12)
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    assert set(layer.state_dict()) == {"weight", "bias", "running_mean", "running_var"}


def test_dropout_keeps_the_mean_and_does_nothing_outside_training():
    x, layer = Tensor.ones(100, 100), nn.Dropout(0.25)
    y = layer(x).numpy()
    assert set(np.unique(y)) == {0.0, np.float32(1 / 0.75)} and abs(y.mean() - 1) < 0.03
    assert layer.eval()(x) is x


def turned(x, base, start=0):
    half = x.shape[-1] // 2
    angle = (np.arange(x.shape[-2]) + start)[:, None] * base ** (-np.arange(half) / half)
    pairs = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angle)
    return np.concatenate([pairs.real, pairs.imag], -1)


def attention(layer, x, causal, rope):
    """By NumPy."""
    n, positions, width = x.shape
    project = lambda part, heads: (
        (x @ part.weight.numpy().T + part.bias.numpy()).reshape(n, positions, heads, -1).transpose(0, 2, 1, 3)
    )  # noqa: E731
    q, k, v = (
        project(layer.query, layer.num_heads),
        project(layer.key, layer.num_kv_heads),
        project(layer.value, layer.num_kv_heads),
    )
    if rope:
        q, k = turned(q, rope), turned(k, rope)
    k, v = (np.repeat(t, layer.num_heads // layer.num_kv_heads, 1) for t in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(positions, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = (weights / weights.sum(-1, keepdims=True)) @ v
    return y.transpose(0, 2, 1, 3).reshape(x.shape) @ layer.out.weight.numpy().T + layer.out.bias.numpy()


@pytest.mark.parametrize("kv_heads, causal, rope", [(4, False, None), (2, True, 10000.0), (1, True, None)])
def test_attention_with_several_heads(kv_heads, causal, rope, rng):
    layer = nn.MultiheadAttention(16, 4, kv_heads, causal, rope)
    x = rng.uniform(-1, 1, (2, 7, 16)).astype(np.float32)
    close(layer(Tensor(x)), attention(layer, x, causal, rope), 2e-5)


def test_a_cache_gives_what_the_whole_sequence_gives(rng):
    layer = nn.MultiheadAttention(16, 4, 2, causal=True, rope=100.0)
    x = rng.uniform(-1, 1, (1, 6, 16)).astype(np.float32)
    whole, cache = layer(Tensor(x)).numpy(), nn.KVCache()
    parts = [layer(Tensor(x[:, a:b]), cache=cache).numpy() for a, b in [(0, 3), (3, 5), (5, 6)]]
    np.testing.assert_allclose(np.concatenate(parts, 1), whole, atol=2e-6)
    assert len(cache) == 6


def test_recurrent_layers(rng):
    x, h, c = rng.uniform(-1, 1, (2, 4, 3)), rng.uniform(-1, 1, (2, 5)), rng.uniform(-1, 1, (2, 5))
    gru, lstm = nn.GRU(3, 5, dtype="float64"), nn.LSTM(3, 5, dtype="float64")

    def gates(layer, x, h):
        given = x @ layer.weight_input.numpy().T + layer.bias_input.numpy()
        kept = h @ layer.weight_state.numpy().T + layer.bias_state.numpy()
        return np.split(given, layer.gates, 1), np.split(kept, layer.gates, 1)

    want, state = [], h
    for t in range(4):
        given, kept = gates(gru, x[:, t], state)
        r, z = sigmoid(given[0] + kept[0]), sigmoid(given[1] + kept[1])
        state = (1 - z) * np.tanh(given[2] + r * kept[2]) + z * state
        want.append(state)
    y, last = gru(Tensor(x), Tensor(h))
    close(y, np.stack(want, 1), 1e-12)
    close(last, state, 1e-12)
    state, cell, want = h, c, []
    for t in range(4):
        i, f, g, o = (a + b for a, b in zip(*gates(lstm, x[:, t], state)))
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        state = sigmoid(o) * np.tanh(cell)
        want.append(state)
    y, (last, last_cell) = lstm(Tensor(x), (Tensor(h), Tensor(c)))
    close(y, np.stack(want, 1), 1e-12)
    close(last_cell, cell, 1e-12)


# Losses.

PAIR = {
    "l1": lambda x, t: abs(x - t), "mse": lambda x, t: (x - t) ** 2, "huber": lambda x,
    t: np.where(abs(x - t) <= 1, (x - t) ** 2 / 2, abs(x - t) - 0.5),
    "smooth_l1": lambda x, t: np.where(abs(x - t) <= 1, (x - t) ** 2 / 2, abs(x - t) - 0.5), "log_cosh": lambda x,
    t: np.log(np.cosh(x - t)),
    "binary_cross_entropy_with_logits": lambda x, t: -(t * np.log(sigmoid(x)) + (1 - t) * np.log(1 - sigmoid(x))),
    "focal": lambda x,
    t: -(t * np.log(sigmoid(x)) + (1 - t) * np.log(1 - sigmoid(x))) * (1 - np.where(t == 1, sigmoid(x),
            1 - sigmoid(x))) ** 2,
    "poisson_nll": lambda x, t: np.exp(x) - t * x,
}  # fmt: skip
SIGNED = {
    "hinge": lambda x, t: np.maximum(0, 1 - t * x), "squared_hinge": lambda x, t: np.maximum(0, 1 - t * x) ** 2,
    "soft_margin": lambda x, t: np.log1p(np.exp(-t * x)),
}  # fmt: skip


@pytest.mark.parametrize("name", [*PAIR, *SIGNED])
def test_losses_of_predictions_and_targets(name, rng):
    x, t = rng.uniform(-3, 3, (4, 5)), rng.integers(0, 2, (4, 5)).astype(np.float64)
    if name in SIGNED:
        t = 2 * t - 1
    want = {**PAIR, **SIGNED}[name](x, t)
    loss = getattr(losses, name)
    close(loss(Tensor(x), Tensor(t)), want.mean(), 1e-12)
    close(loss(Tensor(x), Tensor(t), reduction="sum"), want.sum(), 1e-12)
    close(loss(Tensor(x), Tensor(t), reduction="none"), want, 1e-12)
    with pytest.raises(strata.ShapeError, match=r"\(4, 5\).*\(5,\)"):
        loss(Tensor(x), Tensor(t[0]))
    with pytest.raises(strata.UsageError, match="use mean, sum or none"):
        loss(Tensor(x), Tensor(t), reduction="average")


def test_losses_of_probabilities(rng):
    p, q = rng.dirichlet(np.ones(5), 4), rng.dirichlet(np.ones(5), 4)
    target = np.array([1, 0, 4, 2])
    close(losses.binary_cross_entropy(Tensor(p), Tensor(q)), -(q * np.log(p) + (1 - q) * np.log(1 - p)).mean(), 1e-12)
    close(losses.kl_div(Tensor(np.log(p)), Tensor(q), "sum"), (q * np.log(q / p)).sum(), 1e-12)
    close(losses.nll(Tensor(np.log(p)), Tensor(target)), -np.log(p)[np.arange(4), target].mean(), 1e-12)
    x = rng.uniform(-2, 2, (4, 5))
    log_softmax = x - np.log(np.exp(x).sum(1, keepdims=True))
    mixed = 0.9 * np.eye(5)[target] + 0.1 / 5
    close(
        losses.cross_entropy(Tensor(x), Tensor(target), label_smoothing=0.1),
        -(mixed * log_softmax).sum(1).mean(),
        1e-12,
    )
    close(losses.gaussian_nll(Tensor(x), Tensor(p), Tensor(q)), ((np.log(q) + (x - p) ** 2 / q) / 2).mean(), 1e-12)


def test_losses_of_rows(rng):
    a, b, c = rng.uniform(-1, 1, (3, 4, 6))
    sign = np.array([1.0, -1, 1, -1])
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    close(
        losses.cosine_embedding(Tensor(a), Tensor(b), Tensor(sign)),
        np.where(sign > 0, 1 - cosine, np.maximum(0, cosine)).mean(),
        1e-12,
    )
    far = np.linalg.norm(a - b, axis=1) - np.linalg.norm(a - c, axis=1) + 1
    close(losses.triplet_margin(Tensor(a), Tensor(b), Tensor(c)), np.maximum(0, far).mean(), 1e-6)
    close(
        losses.margin_ranking(Tensor(a[0]), Tensor(b[0]), Tensor(np.ones(6)), 0.5),
        np.maximum(0, 0.5 - (a[0] - b[0])).mean(),
        1e-12,
    )


def test_ctc_sums_over_all_alignments(rng):
    """Against every path of labels that collapses to the target."""
    import itertools

    steps, classes = 5, 3
    logits = rng.uniform(-1, 1, (steps, 2, classes))
    p = np.exp(logits) / np.exp(logits).sum(2, keepdims=True)
    targets, lengths, inputs = np.array([[1, 2], [2, 0]]), [2, 1], [5, 4]

    def collapsed(path):
        return [k for k, _ in itertools.groupby(path) if k != 0]

    want = []
    for row in range(2):
        goal = list(targets[row][: lengths[row]])
        paths = (path for path in itertools.product(range(classes), repeat=inputs[row]) if collapsed(path) == goal)
        want.append(-np.log(sum(np.prod([p[t, row, k] for t, k in enumerate(path)]) for path in paths)))
    got = losses.ctc(Tensor(np.log(p)), Tensor(targets), inputs, lengths, reduction="none")
    close(got, want, 1e-9)
    close(losses.ctc(Tensor(np.log(p)), Tensor(targets), inputs, lengths), np.mean(np.array(want) / lengths), 1e-9)


# Modules.


class Model(nn.Module):
    def __init__(self):
        self.first, self.rest = nn.Linear(3, 4), [nn.Linear(4, 4), nn.LayerNorm(4)]
        self.heads = {"a": nn.Linear(4, 2, bias=False)}
        self.tied = self.first

    def forward(self, x):
        x = self.first(x)
        for layer in self.rest:
            x = layer(x).relu()
        return self.heads["a"](x)


def test_parts_have_dotted_names_and_are_listed_once():
    model = Model()
    names = [
        "first.weight",
        "first.bias",
        "rest.0.weight",
        "rest.0.bias",
        "rest.1.weight",
        "rest.1.bias",
        "heads.a.weight",
    ]
    assert [name for name, _ in model.named_parameters()] == names == list(model.state_dict())
    assert len(model.modules()) == 5
    assert "rest.1: LayerNorm(4)" in repr(model) and "a: Linear(4, 2, bias=False)" in repr(model)
    model.eval()
    assert not model.rest[1].training
    with pytest.raises(strata.UsageError, match="has no forward"):
        nn.Module()(1)


def test_states_move_from_one_model_to_another(rng):
    a, b = Model(), Model()
    x = Tensor(rng.uniform(-1, 1, (5, 3)).astype(np.float32))
    b.load_state_dict({name: t.numpy() for name, t in a.state_dict().items()})
    np.testing.assert_array_equal(a(x).numpy(), b(x).numpy())
    assert all(t.requires_grad for t in b.parameters())
    with pytest.raises(strata.UsageError, match="missing: first.bias.*unknown: first.offset"):
        b.load_state_dict({**{n: t for n, t in a.state_dict().items() if n != "first.bias"}, "first.offset": x})
    with pytest.raises(strata.ShapeError, match=r"first.weight has shape \(4, 3\), the value \(3, 4\)"):
        b.load_state_dict({**a.state_dict(), "first.weight": Tensor.zeros(3, 4)})
    np.testing.assert_array_equal(a(x).numpy(), b(x).numpy())


def test_errors_of_layers_say_what_to_do():
    for make, what in [
        (lambda: nn.Dropout(2), "not between 0 and 1"), (lambda: nn.GroupNorm(4, 6), "do not make 4 groups"),
        (lambda: nn.MultiheadAttention(10, 4), "not a multiple"),
        (lambda: nn.LeakyReLU(alpha=1), "takes \\(negative_slope\\)"),
        (lambda: nn.LayerNorm(4)(Tensor.zeros(2, 3)), r"of \(4,\) for"),
        (lambda: nn.BatchNorm(4)(Tensor.zeros(2, 3)), "4 channels"),
        (lambda: nn.GRU(3, 4)(Tensor.zeros(2, 3)), r"\(n, steps, 3\)"),
        (lambda: nn.GLU()(Tensor.zeros(2, 3)), "odd size"), (lambda: optim.SGD([]), "no parameters"),
        (lambda: optim.SGD([Tensor([1.0]).requires_grad_()] * 2), "parameter 1 is parameter 0 again"),
        (lambda: optim.SGD([Tensor([1.0]).requires_grad_()], -0.1), "lr is -0.1, negative"),
        (lambda: optim.SGD([Tensor([1.0])]), "requires no gradient"),
        (lambda: optim.SGD([Tensor([1.0]).requires_grad_()])(), "call backward"),
        (lambda: nn.init.kaiming_uniform((3,)), "two axes or more"),
    ]:  # fmt: skip
        with pytest.raises(strata.Error, match=what):
            make()


def test_batch_norm_reduces_its_batch_once():
    norm, x = nn.BatchNorm(4), Tensor.rand(8, 4, 6).realize()
    counted = []
    for _ in range(3):
        strata.reset_stats()
        norm(x).realize()
        counted.append(strata.stats().kernels)
    assert counted[-1] <= 4, counted


def test_alignments_that_cannot_be_cost_infinity_and_have_no_gradient(rng):
    logits = Tensor(rng.uniform(-1, 1, (3, 2, 4))).requires_grad_()
    loss = losses.ctc(logits.log_softmax(-1), Tensor([[1, 1, 1], [2, 3, 0]]), [3, 3], [3, 2], reduction="none")
    got, slopes = loss.numpy(), strata.gradients(loss.sum(), [logits])[0].numpy()
    assert got[0] == np.inf and np.isfinite(got[1])
    assert (slopes[:, 0] == 0).all() and np.isfinite(slopes).all() and (slopes[:, 1] != 0).all()
