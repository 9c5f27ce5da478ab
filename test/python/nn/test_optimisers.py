"""Optimisers, against their formulas in NumPy."""

import numpy as np
import pytest
import strata
from strata import Tensor, nn, optim

# Optimisers, against their formulas in NumPy.


def sgd(w, g, s, t, rate, momentum=0.0, nesterov=False, decay=0.0):
    g = g + decay * w
    s["m"] = m = momentum * s.get("m", 0) + g
    return w - rate * ((g + momentum * m if nesterov else m) if momentum else g)


def adam(w, g, s, t, rate, decay=0.0, apart=False, b1=0.9, b2=0.999, eps=1e-8):
    g = g if apart else g + decay * w
    s["m"], s["v"] = b1 * s.get("m", 0) + (1 - b1) * g, b2 * s.get("v", 0) + (1 - b2) * g * g
    step = s["m"] / (1 - b1**t) / (np.sqrt(s["v"] / (1 - b2**t)) + eps)
    return w * (1 - rate * decay * apart) - rate * step


def lamb(w, g, s, t, rate, decay, b1=0.9, b2=0.999, eps=1e-8):
    s["m"], s["v"] = b1 * s.get("m", 0) + (1 - b1) * g, b2 * s.get("v", 0) + (1 - b2) * g * g
    step = s["m"] / (1 - b1**t) / (np.sqrt(s["v"] / (1 - b2**t)) + eps) + decay * w
    return w - rate * step * np.linalg.norm(w) / np.linalg.norm(step)


OPTIMISERS = {
    "sgd": (lambda p: optim.SGD(p, 0.1), lambda *a: sgd(*a, 0.1)),
    "momentum": (
        lambda p: optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01),
        lambda *a: sgd(*a, 0.1, 0.9, False, 0.01),
    ),
    "nesterov": (lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True), lambda *a: sgd(*a, 0.1, 0.9, True)),
    "adam": (lambda p: optim.Adam(p, 0.1, weight_decay=0.01), lambda *a: adam(*a, 0.1, 0.01)),
    "adamw": (lambda p: optim.AdamW(p, 0.1, weight_decay=0.01), lambda *a: adam(*a, 0.1, 0.01, True)),
    "lamb": (lambda p: optim.Lamb(p, 0.1, weight_decay=0.01), lambda *a: lamb(*a, 0.1, 0.01)),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers_follow_their_formulas(name, rng):
    make, formula = OPTIMISERS[name]
    w = rng.uniform(-1, 1, (3, 4))
    target = rng.uniform(-1, 1, (3, 4))
    p = Tensor(w).requires_grad_()
    step, state = make([p]), {}
    for t in range(1, 6):
        (p - Tensor(target)).square().sum().backward()
        step()
        w = formula(w, 2 * (w - target), state, t)
        np.testing.assert_allclose(p.numpy(), w, rtol=1e-9)
    assert p.grad is None


def test_muon_makes_orthogonal_steps(rng):
    p = Tensor(np.zeros((4, 6), np.float32)).requires_grad_()
    step = optim.Muon([p], 1.0)
    (p * Tensor(rng.uniform(-1, 1, (4, 6)).astype(np.float32))).sum().backward()
    step()
    values = np.linalg.svd(p.numpy(), compute_uv=False)
    assert values.min() > 0.5 and values.max() < 1.3


def test_an_optimiser_goes_on_where_another_stopped(rng):
    def run(p, step, times):
        for _ in range(times):
            (p * p).sum().backward()
            step()

    a = Tensor([1.0, -2.0]).requires_grad_()
    first = optim.Adam([a], 0.1)
    run(a, first, 3)
    b = Tensor(a.numpy()).requires_grad_()
    second = optim.Adam([b], 0.1)
    second.load_state_dict(first.state_dict())
    run(a, first, 2), run(b, second, 2)
    np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_rates():
    assert [optim.linear(1.0, 4)(s) for s in range(6)] == [1, 0.75, 0.5, 0.25, 0, 0]
    assert [optim.step_decay(1.0, 2, 0.5)(s) for s in range(5)] == [1, 1, 0.5, 0.5, 0.25]
    np.testing.assert_allclose([optim.cosine(2.0, 4, 1.0)(s) for s in (0, 2, 4, 9)], [2, 1.5, 1, 1])
    np.testing.assert_allclose([optim.exponential(1.0, 0.5, warmup=3)(s) for s in range(5)], [0.25, 0.5, 0.75, 1, 0.5])
    p = Tensor([1.0]).requires_grad_()
    step = optim.SGD([p], optim.step_decay(0.5, 1, 0.5))
    for want in (0.5, 0.25, 0.125):
        before = p.item()
        p.sum().backward()
        step()
        assert before - p.item() == want


def test_gradients_are_clipped():
    a, b = Tensor([3.0]).requires_grad_(), Tensor([4.0]).requires_grad_()
    (a * a + b * b).sum().backward()
    norm = optim.clip_grad_norm([a, b], 1.0)
    assert norm.item() == 10
    np.testing.assert_allclose([a.grad.item(), b.grad.item()], [0.6, 0.8], rtol=1e-6)
    optim.clip_grad_value([a, b], 0.7)
    np.testing.assert_allclose([a.grad.item(), b.grad.item()], [0.6, 0.7], rtol=1e-6)


def test_a_step_after_the_first_ones_compiles_nothing():
    strata.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4))
    step = optim.AdamW(net.parameters(), optim.cosine(1e-2, 50))
    x, target = Tensor.randn(64, 16).realize(), Tensor.randint(0, 4, (64,)).realize()
    values = []
    for i in range(30):
        loss = nn.cross_entropy(net(x), target)
        loss.backward()
        step()
        values.append(loss.item())
        if i == 8:
            strata.reset_stats()
    assert strata.stats().plans_made == 0
    assert values[-1] < 0.7 * values[0]
