"""Every function that is differentiable against central differences in float64, and against torch where that is
installed: a row each. Those without a row are named with the reason, and every rule of ops/autograd/gradients.def is
met by some row.
"""

import re
from pathlib import Path

import numpy as np
import pytest
import strata
from rows_of_gradients import FEW, ROWS, SPD, SQUARE, TALL, WIDE, A, B, symmetric
from strata import Tensor, functional, linalg, nn
from test_gradients import check
from tested import QUICK_TARGET

try:
    import torch
except ImportError:
    torch = None

OPS = Path(__file__).parents[3] / "ops"

# Names without a row, by the reason.
NOT = {
    "bool, integers or bits: their results have no gradient": (
        "isnan isinf isfinite signbit logical_not logical_and logical_or logical_xor bitwise_invert "
        "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift eq ne lt le gt ge equal "
        "not_equal less less_equal greater greater_equal any all count_nonzero argmax argmin argsort "
        "searchsorted nonzero flat_nonzero one_hot unique unique_all unique_counts unique_inverse "
        "unique_values multinomial matrix_rank tril_indices triu_indices"
    ),
    "by bits, so that nothing goes through": "bitcast nextafter",
    "made of no tensor's values": (
        "arange asarray empty empty_like eye from_dlpack full full_like linspace ones ones_like zeros "
        "zeros_like fftfreq rfftfreq can_cast finfo iinfo isdtype result_type e inf nan newaxis pi "
        "LinAlgError"
    ),
    "of LAPACK on the host, which says so": "qr",
}


@pytest.fixture(autouse=True)
def compiled_fast():
    with strata.config(target=QUICK_TARGET):
        yield


@pytest.mark.parametrize("name", ROWS)
def test_derivatives_are_central_differences(name):
    _, function, arrays, _ = ROWS[name]
    check(function, *arrays)


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row[3]])
def test_derivatives_are_torchs(name):
    _, function, arrays, same = ROWS[name]
    weights = None
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    value = same(*leaves)
    weights = np.linspace(0.5, 1.5, value.numel()).reshape(value.shape)
    (value * torch.tensor(weights)).sum().backward()
    got = strata.grad(lambda *t: (function(*t) * Tensor(weights)).sum(), tuple(range(len(arrays))))(
        *[Tensor(a) for a in arrays]
    )
    np.testing.assert_allclose(
        function(*[Tensor(a) for a in arrays]).numpy(), value.detach().numpy(), rtol=1e-9, atol=1e-9
    )
    for g, leaf in zip(got, leaves):
        np.testing.assert_allclose(g.numpy(), 0 if leaf.grad is None else leaf.grad.numpy(), rtol=1e-8, atol=1e-9)


def public():
    from strata import _namespace

    named = (
        {n for n in dir(strata._strata.operations) if not n.startswith("_")}
        | {*_namespace.__all__, *linalg.__all__, *strata.fft.__all__}
        | {n for n in dir(functional) if not n.startswith("_")}
    )
    return named


def test_every_function_has_a_row_or_a_reason():
    without = {name for names in NOT.values() for name in names.split()}
    with_row = {row[0] for row in ROWS.values()} & public()
    assert public() - with_row == without - with_row and not without & with_row


def test_every_rule_is_met():
    """By the graph of some row, or of the slope of one: rules are by operation."""
    rules = set(re.findall(r"^GRADIENT\( (\w+)", (OPS / "autograd/gradients.def").read_text(), re.M))
    assert len(rules) > 20
    met, seen, pending = (
        set(),
        set(),
        [function(*[Tensor(a) for a in arrays]).uop for _, function, arrays, _ in ROWS.values()],
    )
    pending.append(strata.grad(lambda x: x.gelu().sum())(Tensor(FEW)).uop)
    while pending:
        node = pending.pop()
        if hash(node) not in seen:
            seen.add(hash(node))
            met.add(node.op)
            pending += node.src
    assert rules - met == set()


def test_decompositions_without_a_gradient_say_so():
    for said, f, x in [
        ("qr", lambda x: linalg.qr(x).Q.sum(), SPD),
        ("full_matrices=False", lambda x: linalg.svd(x).U.sum(), TALL),
        ("complex matrices", lambda x: linalg.svdvals(strata.complex(x, x)).sum(), TALL),
    ]:
        with pytest.raises(strata.Unsupported, match=said):
            strata.grad(f)(Tensor(x))


def test_decompositions_have_second_derivatives():
    """By differences of the first; pinv of a rank that is not full, whose neighbours have it too."""
    for f, x in [
        (linalg.svdvals, TALL[0]),
        (linalg.svdvals, WIDE[0]),
        (lambda x: linalg.eigvalsh(symmetric(x)), SPD[0]),
        (linalg.pinv, SQUARE[0]),
        (linalg.pinv, TALL[0]),
        (lambda x: linalg.svd(x, full_matrices=False).U.square(), TALL[0]),
    ]:
        weights = Tensor(np.cos(np.arange(f(Tensor(x)).size)).reshape(f(Tensor(x)).shape))

        def first(x, f=f, weights=weights):
            leaf = x if strata._strata._wants_gradient(x) else x.requires_grad_()
            return strata.gradients((f(leaf).square() * weights).sum(), [leaf])[0]

        along = np.sin(np.arange(x.size) + 1).reshape(x.shape)
        leaf = Tensor(x).requires_grad_()
        got = (strata.gradients((first(leaf) * Tensor(along)).sum(), [leaf])[0].numpy() * along).sum()
        step = 1e-5
        ends = [(first(Tensor(x + sign * step * along)).numpy() * along).sum() for sign in (1, -1)]
        np.testing.assert_allclose(got, (ends[0] - ends[1]) / (2 * step), rtol=1e-6)


def test_pinv_of_a_lower_rank_has_a_gradient_along_it():
    for factor in (0, 1):
        check(lambda a, b: linalg.pinv(a @ b, rtol=1e-9), A[:, :2].copy(), B.T[:, :3].copy() + factor)


def test_exponential_units_have_the_slope_from_below_at_0():
    for name, slope in (("ELU", 1.0), ("SELU", 1.0507009873554805 * 1.6732632423543772)):
        assert (
            strata.grad(lambda x: getattr(nn, name)()(x).sum())(Tensor([0.0, -0.0], dtype="float64")).tolist()
            == [slope] * 2
        )


def test_lengths_of_nothing_get_no_gradient():
    """As in PyTorch, where their slope has no value."""
    still = Tensor(np.zeros((3, 2)))
    for f in (
        lambda x: strata.norm(x, axis=1),
        lambda x: strata.norm(x, 3, 1),
        lambda x: strata.cdist(x, x),
        lambda x: strata.cdist(x, x, 3),
        lambda x: x.std(1),
        lambda x: strata.nanstd(x, 1),
        strata.linalg.matrix_norm,
        lambda x: strata.hypot(x, x),
    ):
        np.testing.assert_array_equal(strata.grad(lambda x: f(x).sum())(still).numpy(), 0)
    same = Tensor(np.ones((3, 2)))
    np.testing.assert_array_equal(strata.grad(lambda x: x.std(0).sum() + strata.cdist(x, x).sum())(same).numpy(), 0)


def test_second_derivatives_are_those_of_the_first():
    """Every row of elementwise.def that is differentiable is checked by differences of its derivative."""
    rows = set(re.findall(r"^(?:UNARY|BINARY)\s*\( ?(\w+),", (OPS / "elementwise.def").read_text(), re.M))
    for name, (own, function, arrays, _) in ROWS.items():
        if own in rows and own not in ("floor", "ceil", "trunc", "round", "sign", "floor_divide"):
            first = strata.grad(lambda *t: function(*t).square().sum())
            try:
                check(first, *arrays)
            except AssertionError as e:
                raise AssertionError(f"{name}: {e}") from e
