"""strata.plan: operations selected by descriptor, checked and run over memory of tensors."""

import numpy as np
import pytest
import strata
from strata import Spec, Tensor, plan

pytestmark = pytest.mark.emulated
ASM = {"target": "asm"}
X = np.random.default_rng(0).standard_normal((2, 4, 8)).astype(np.float32)


def swiglu(x, axis):
    a, b = np.split(x.astype(np.float64), 2, axis)
    return a * b / (1 + np.exp(-b))


@pytest.fixture(scope="module")
def p():
    return plan.select("swiglu", x=Spec((2, 4, 8), "float32"), axis=1, prefer=ASM)


def test_a_plan_computes_its_operation(p):
    assert np.allclose(p.run(x=Tensor(X)).numpy(), swiglu(X, 1), rtol=1e-6, atol=1e-6)


def test_given_outputs_are_filled_and_nothing_else_changes(p):
    y, x = Tensor.zeros(2, 2, 8).contiguous().realize(), Tensor(X)
    before = y + 0
    other = y.reshape(32).realize()
    assert p.can_implement(x=x, y=y)
    assert p.run(x=x, y=y) is None
    assert np.allclose(y.numpy(), swiglu(X, 1), rtol=1e-6, atol=1e-6)
    assert not other.numpy().any() and not before.numpy().any()


def test_a_plan_says_what_it_is(p):
    x, y = p.operands
    assert (x.name, x.shape, x.output, y.name, y.shape, y.output) == ("x", (2, 4, 8), False, "y", (2, 2, 8), True)
    assert (p.workspace_size, p.launches) == (0, 1)
    assert p.sku["op"] == "swiglu" and p.sku["target"] == "asm" and p.sku["arch"] == "gfx1100"
    assert p.precision.math == p.precision.accumulate == strata.float32
    assert plan.select("glu", x=Spec((2,), "float64"), prefer=ASM).precision.accumulate == strata.float64


def test_hashes_are_those_of_every_process(p):
    assert p.sku_hash == plan.select("swiglu", x=Spec((2, 4, 8)), axis=1, prefer=ASM).sku_hash == 0xFC22DFD4652F4A2D


def test_views_of_memory_are_operands(p):
    memory = Tensor(np.concatenate([np.zeros(4, np.float32), X.reshape(-1)]))
    y = p.run(x=plan.view(memory, (2, 4, 8), offset=16))
    assert np.allclose(y.numpy(), swiglu(X, 1), rtol=1e-6, atol=1e-6)
    q = plan.select("neg", x=Spec((4, 8), strides=(1, 4)), prefer=ASM)
    assert (q.run(x=plan.view(Tensor(X), (4, 8), (1, 4))).numpy() == -X.reshape(-1)[:32].reshape(8, 4).T).all()
    assert (q.run(x=Tensor(X[0])).numpy() == -X[0]).all()  # brought into that order


def test_a_plan_that_is_saved_is_an_artifact(p, tmp_path):
    p.save(tmp_path / "p.strata")
    a = strata.Artifact.load(tmp_path / "p.strata")
    assert (a(Tensor(X)).numpy() == p.run(x=Tensor(X)).numpy()).all()


def test_rows_are_listed():
    rows = {row.name: row for row in plan.operations()}
    assert rows["swiglu"].inputs == ("x",) and rows["swiglu"].attributes == {"axis": -1} and rows["swiglu"].backward
    assert rows["add"].category == "binary" and "float16" in rows["add"].dtypes
    assert not rows["isnan"].backward


SELECTED = {
    "an operation that there is not": (("swigul", {}), "UNSUPPORTED", "", 0, 0),
    "an operand that there is not": (("swiglu", {"x": Spec((3,)), "z": Spec((1,))}), "ARGUMENT", "z", 0, 0),
    "an attribute that there is not": (("swiglu", {"x": Spec((3,)), "axes": 1}), "ARGUMENT", "axes", 0, 0),
    "a missing operand": (("swiglu", {"axis": 7}), "ARGUMENT", "x", 0, 0),
    "an attribute of another kind": (("swiglu", {"x": Spec((3,), "int8"), "axis": "b"}), "ARGUMENT", "axis", 0, 0),
    "mixed types": (("add", {"a": Spec((2,)), "b": Spec((3,), "float64")}), "UNSUPPORTED", "b", 0, 0),
    "no axis": (("swiglu", {"x": Spec((), "int8")}), "INVALID", "x", 1, 0),
    "another axis": (("swiglu", {"x": Spec((3, 3), "int8"), "axis": 2}), "INVALID", "axis", 2, 2),
    "no halves": (("swiglu", {"x": Spec((3,), "int8"), "y": Spec((7,))}), "INVALID", "x", 4, 3),
    "no broadcast": (("add", {"a": Spec((2, 4)), "b": Spec((3,))}), "INVALID", "b", 4, 3),
    "another output": (("swiglu", {"x": Spec((4,)), "y": Spec((4,))}), "INVALID", "y", 2, 4),
    "another dy": (("swiglu_backward", {"x": Spec((4,)), "dy": Spec((4,))}), "INVALID", "dy", 2, 4),
    "nine axes": (("swiglu", {"x": Spec((2,) * 9, "int8")}), "UNSUPPORTED", "x", 8, 9),
    "a type that it does not take": (("swiglu", {"x": Spec((4,), "int8")}), "UNSUPPORTED", "x", 0, 0),
    "2^63 bytes": (("neg", {"x": Spec((1 << 31, 1 << 31))}), "INVALID", "x", 1 << 63, (1 << 64) - 1),
    "another target": (("neg", {"x": Spec((4,)), "prefer": {"target": "ptx"}}), "UNSUPPORTED", "target", 0, 0),
}


@pytest.mark.parametrize("what", SELECTED)
def test_select_says_the_first_that_is_wrong(what):
    (name, given), status, operand, needed, got = SELECTED[what]
    with pytest.raises(strata.Error) as e:
        plan.select(name, **{"prefer": ASM, **given})
    assert (e.value.status, e.value.operand, e.value.needed, e.value.got) == (status, operand, needed, got)


def test_close_names_are_said():
    with pytest.raises(strata.Unsupported, match="close to it: swiglu"):
        plan.select("swigul")


def run_errors():
    x, y = Tensor(X), Tensor.zeros(2, 2, 8).contiguous().realize()
    memory = Tensor(np.zeros(100, np.float32))
    return {
        "an operand that there is not": ({"x": x, "z": y}, "ARGUMENT", "z", 0, 0),
        "a missing operand": ({"y": y}, "ARGUMENT", "x", 2, 1),
        "another type": ({"x": x.cast("float64"), "y": y}, "INVALID", "x", None, None),
        "another shape": ({"x": x, "y": plan.view(y, (2, 2, 9), bytes=0)}, "INVALID", "y", 8, 9),
        "other strides": ({"x": plan.view(x, (2, 4, 8), (32, 1, 4)), "y": y}, "INVALID", "x", 8, 1),
        "short memory": ({"x": plan.view(x, offset=4, bytes=252), "y": y}, "BUFFER", "x", 256, 252),
        "a misaligned address": ({"x": plan.view(memory, (2, 4, 8), offset=4), "y": y}, "MISALIGNED", "x", 16, 4),
        "an output over an input": ({"x": x, "y": plan.view(x, (2, 2, 8))}, "INVALID", "y", None, None),
    }


@pytest.mark.parametrize("what", run_errors())
def test_a_run_says_the_first_that_is_wrong(p, what):
    operands, status, operand, needed, got = run_errors()[what]
    for call in (p.can_implement, p.run):
        with pytest.raises(strata.Error) as e:
            call(**operands)
        assert (e.value.status, e.value.operand) == (status, operand)
        assert needed is None or (e.value.needed, e.value.got) == (needed, got)


def test_an_elementwise_output_may_lie_over_its_input():
    p = plan.select("add", a=Spec((64,)), b=Spec((64,)), prefer=ASM)
    a, b = Tensor(np.arange(64, dtype=np.float32)), Tensor(np.ones(64, np.float32))
    p.run(a=a, b=b, y=a)
    assert (a.numpy() == np.arange(64) + 1).all()


def test_other_arguments_are_refused(p):
    for call in (
        lambda: plan.select(3),
        lambda: plan.select("neg", x=Spec((2,)), prefer={"speed": 1}),
        lambda: plan.select("neg", x=Spec((2,)), prefer=7),
        lambda: plan.select("neg", x=[1.5]),
        lambda: p.run(x=X),
        lambda: plan.view(X),
        lambda: plan.view(Tensor(X), offset=-1),
        lambda: plan.view(Tensor(X), (2, 2), (1,)),
    ):
        with pytest.raises(strata.UsageError):
            call()
