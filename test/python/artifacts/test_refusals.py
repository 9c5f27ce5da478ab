"""Refusals of strata.compile: reads and changes in a function that it traces are UsageErrors that say what to do."""

import math

import numpy as np
import pytest
import strata
from strata import Spec, Tensor, nn

held = Tensor.zeros(3).realize()
lazy = Tensor.zeros(3)


def compiled(f, *more, **how):
    return strata.compile(f, Spec((3,)), *more, arch="gfx1100", target="asm", **how)


def sets(x):
    x[0] = 7
    return x.sum()


READS = {
    "if": lambda x, s: x if s > 2 else -x,
    "while": lambda x, s: [x for _ in iter(lambda: bool(s > 2), False)],
    "range": lambda x, s: sum((x for _ in range(s)), x),
    "int": lambda x, s: x.reshape(int(s), 1),
    "float": lambda x, s: x * float(s),
    "math": lambda x, s: x * math.sqrt(s),
    "full": lambda x, s: Tensor.full((3,), s) + x,
    "item": lambda x, s: x * (s + 1).item(),
    "numpy": lambda x, s: x * Tensor(np.sin(s.numpy())),
    "realize": lambda x, s: (x + s).realize(),
    "text": lambda x, s: x if f"{s.tolist()}" else -x,
}


@pytest.mark.parametrize("name", READS)
def test_a_number_that_the_function_reads_is_named(name):
    with pytest.raises(strata.UsageError, match=r"reads the values of '(s|x)' while it is compiled") as error:
        compiled(READS[name], np.int32(3))
    assert "Give a Python number where a value decides" in str(error.value)


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x if x.sum() > 2 else -x,
        lambda x: x * x.numpy(),
        lambda x: x[x > 0],
        lambda x: x.reshape(3, 1).tolist(),
        lambda x: x * x.permute(0)[1].item(),
    ],
)
def test_a_tensor_that_the_function_reads_is_named(read):
    with pytest.raises(strata.UsageError, match="reads the values of 'x' while it is compiled"):
        compiled(read)


@pytest.mark.parametrize("change", [sets, lambda x: x.__setitem__(slice(1), x[1:2]), lambda x: x.assign(x + 1)])
def test_an_argument_that_the_function_changes_is_named(change):
    with pytest.raises(strata.UsageError, match="changes its argument 'x'.*Change a copy, such as x \\+ 0"):
        compiled(change)


def test_a_number_that_comes_back_as_it_is_given_is_named():
    for f in (lambda x, s: (x, s), lambda x, s: {"a": s.reshape(1)}):
        with pytest.raises(strata.UsageError, match="returns the number 's' as it is given"):
            compiled(f, np.float32(3))
    assert compiled(lambda x, s: (x, Tensor.zeros(1) + s), np.float32(3))(Tensor.ones(3), 2.5)[1].tolist() == [2.5]


def test_tensors_from_outside_that_the_function_changes_are_named_and_stay():
    inside = Tensor.full((3,), 5.0)

    def closed_over(x):
        inside.assign(inside + x)
        return inside * 2

    def by_global(x):
        held[0] = x[0]
        return held + 0

    def unrealized(x):
        lazy.assign(lazy + x)
        return lazy * 2

    def found(x):  # by no name that the function has
        globals()["he" + "ld"].assign(x)
        return x * 2

    for f, words in (
        (closed_over, "'inside'"),
        (by_global, "'held'"),
        (unrealized, "'lazy'"),
        (found, r"a tensor of shape \(3,\)"),
    ):
        with pytest.raises(strata.UsageError, match=f"changes {words}, which was there before.*Return the new value"):
            compiled(f)
    assert inside.tolist() == [5] * 3 and held.tolist() == [0] * 3 and lazy.tolist() == [0] * 3


def test_gradients_left_outside_are_refused():
    weight = Tensor([1.0, 1.0, 1.0]).requires_grad_()

    def leaves_gradient(x):
        (x * weight).sum().backward()
        return weight.grad

    with pytest.raises(strata.UsageError, match=r"leaves a gradient in a tensor of shape \(3,\) by backward\(\)"):
        compiled(leaves_gradient)
    assert weight.grad is None
    made = compiled(lambda x: strata.grad(lambda w: (x * w).sum())(weight))
    assert made(Tensor([1.0, 2.0, 3.0])).tolist() == [1, 2, 3]


def test_running_statistics_are_refused_in_training_and_read_after_eval():
    norm, spec = nn.BatchNorm2d(3), Spec((4, 3, 2, 2))
    with pytest.raises(strata.UsageError, match=r"changes 'BatchNorm.running_mean'.*Call eval\(\) of a layer"):
        strata.compile(norm, spec, arch="gfx1100", target="asm")
    assert norm.running_mean.tolist() == [0] * 3
    norm.eval()
    x = Tensor(np.arange(48, dtype="float32").reshape(4, 3, 2, 2))
    np.testing.assert_allclose(strata.compile(norm, spec, arch="gfx1100", target="asm")(x), norm(x).numpy(), rtol=1e-6)


def test_captured_functions_are_compiled_as_the_functions_that_they_are():
    @strata.jit
    def twice(x):
        return x * 2

    for _ in range(3):  # it has a list of launches
        twice(Tensor.ones(3))
    assert compiled(twice)(Tensor([1.0, 2.0, 3.0])).tolist() == [2, 4, 6]
    assert compiled(lambda x: twice(x) + 1)(Tensor([1.0, 2.0, 3.0])).tolist() == [3, 5, 7]
    assert twice(Tensor.ones(3)).tolist() == [2] * 3


def test_tensors_that_the_function_makes_may_change():
    def f(x):
        out, copy = Tensor.zeros(3), x + 0
        out[0] = x[1]
        out[1] = held[0] + 4
        copy[0] = 8
        seen = x.reshape(3)
        seen[2] = 9
        return out, copy, seen

    got = compiled(f)(Tensor([1.0, 2.0, 3.0]))
    assert [t.tolist() for t in got] == [[2, 4, 0], [8, 2, 3], [1, 2, 9]]


def test_a_trace_that_fails_leaves_nothing_behind():
    with pytest.raises(strata.UsageError):
        compiled(READS["if"], np.int32(3))
    held.assign(held + 1)
    assert held.tolist() == [1] * 3
    held.assign(held - 1).realize()
