"""Scaled losses: the steps of plain ones, gradients that do not vanish, and steps that are left out."""

import numpy as np
import pytest
import strata
from strata import Tensor, optim


def test_scaled_losses_make_the_steps_of_plain_ones(rng):
    start = rng.integers(-8, 9, (4, 3)) / 8
    x = Tensor(rng.integers(-8, 9, (5, 4)) / 8, dtype="float32")
    got = []
    for scaler in (None, optim.LossScaler(1024.0, growth_interval=3)):
        w = Tensor(start, dtype="float32").requires_grad_()
        step = optim.Adam([w], 0.1)
        for _ in range(4):
            loss = (x @ w).square().mean()
            (scaler(loss) if scaler else loss).backward()
            scaler.step(step) if scaler else step()
        got.append(w.numpy())
    np.testing.assert_allclose(*got, rtol=1e-6)
    assert scaler.scale.item() == 2048 and scaler.good.item() == 1


def test_gradients_that_vanish_in_float16_are_kept_by_a_scale():
    for scaler, moved in ((optim.LossScaler(1.0), False), (optim.LossScaler(2.0**12), True)):
        w = Tensor([1.0], dtype="float16").requires_grad_()
        scaler(w * 1e-5 * 1e-3).sum().backward()
        scaler.step(optim.SGD([w], 1e7))
        assert (w.item() != 1) == moved


@pytest.mark.parametrize("captured", [False, True])
def test_a_step_with_gradients_that_are_not_finite_is_left_out(captured):
    w, scaler = Tensor([1.0, 2.0]).requires_grad_(), optim.LossScaler(4.0, growth_interval=2)
    step = optim.SGD([w], 0.5, momentum=0.5)

    def make(x):
        scaler(w * x).sum().backward()
        return scaler.step(step)

    run = strata.jit(make) if captured else make
    seen = [
        (run(Tensor([x, 1.0])).item(), w.tolist(), scaler.scale.item())
        for x in (1.0, float("inf"), 1.0, 1.0, float("nan"), 1.0)
    ]
    assert seen == [(True, [0.5, 1.5], 4), (False, [0.5, 1.5], 2), (True, [-0.25, 0.75], 2),
        (True, [-1.125, -0.125], 4), (False, [-1.125, -0.125], 2),
        (True, [-2.0625, -1.0625], 2)]  # fmt: skip
    with pytest.raises(strata.UsageError, match="no parameter has a gradient"):
        scaler.step(step)
    with pytest.raises(strata.UsageError, match="below 1"):
        optim.LossScaler(backoff_factor=2)
