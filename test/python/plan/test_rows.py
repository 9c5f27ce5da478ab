"""Every row that plans do, forward and backward, against NumPy in float64."""

import numpy as np
import pytest
import strata
from rows_of_plans import APART, ROWS, elementwise
from strata import Spec, Tensor, plan
from tested import TARGETS

pytestmark = pytest.mark.emulated
SERVED = {row.name: row for row in plan.operations() if row.served}
CASES = {name: ROWS.get(name) or elementwise(name, row.inputs) for name, row in SERVED.items() if name not in APART}
LOW = {"": -2, "positive": 0.2, "unit": 0.1, "above 1": 1.2, "integers": 0}
WIDTH = {"unit": 0.8}
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def drawn(name, dtype):
    """(operands as the type holds them, the same as float64)."""
    case, given, wide = CASES[name], {}, []
    random = np.random.default_rng(sum(map(ord, name)))
    for operand, what in case.operands.items():
        if isinstance(what, np.ndarray) and what.dtype.kind in "bi":
            given[operand] = Tensor(what)
            wide.append(what)
            continue
        values = (
            what
            if isinstance(what, np.ndarray)
            else random.random(what) * WIDTH.get(case.domain, 2 if case.domain else 4) + LOW[case.domain]
        )
        t = Tensor(np.floor(values * 4).astype(np.int32)) if case.domain == "integers" else Tensor(values).cast(dtype)
        given[operand] = t.realize()
        wide.append(t.cast("float64").numpy() if t.dtype.is_float else t.numpy())
    return given, wide


def computed(name, operands, attributes, arch, target="asm"):
    with strata.config(device=f"emu:{arch}", target=target):
        placed = {operand: t.to(f"emu:{arch}") for operand, t in operands.items()}
        p = plan.select(name, **{operand: Spec(tuple(t.shape), t.dtype) for operand, t in placed.items()}, **attributes)
        return p, p.run(**placed)


def close(got, wanted, dtype, ulps):
    wanted = np.asarray(wanted, np.float64)
    assert got.shape == wanted.shape
    found = got.cast("float64").numpy()
    error = np.abs(found - wanted) / np.maximum(1, np.abs(wanted))
    assert error.max(initial=0) <= ulps * EPS[dtype], (error.max() / EPS[dtype], found, wanted)


@pytest.mark.parametrize("arch, dtype", [("gfx1100", "float32"), ("gfx942", "float32"), ("gfx1100", "float64"),
                                         ("gfx1100", "float16"), ("gfx942", "bfloat16")])  # fmt: skip
def test_rows_compute_their_formula(arch, dtype):
    wrong = []
    for name, case in CASES.items():
        given, wide = drawn(name, dtype)
        try:
            p, y = computed(name, given, case.attributes, arch)
            with np.errstate(all="ignore"):
                close(y, case.formula(*wide, **case.attributes), dtype, 16 if dtype == "float64" else 8)
            assert p.operands[-1].dtype == y.dtype
        except Exception as e:  # all rows are said at once
            wrong.append(f"{name}: {type(e).__name__}: {str(e)[:300]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arch", ["gfx90a", "gfx1201"])
def test_some_rows_compute_their_formula_by_both_targets(arch, target):
    for name in ("swiglu", "layer_norm", "gemm"):
        given, wide = drawn(name, "float32")
        p, y = computed(name, given, CASES[name].attributes, arch, target)
        close(y, CASES[name].formula(*wide, **CASES[name].attributes), "float32", 8)
        assert p.sku["target"] == target and p.sku["arch"] == arch


def test_an_index_out_of_range_is_a_fault_that_names_it():
    x, indices = Tensor(np.ones((4, 6), np.float32)), Tensor(np.full((2, 6), 9, np.int32))
    p = plan.select("gather", x=x, indices=indices, axis=0, prefer={"target": "asm"})
    with pytest.raises(strata.MemoryFault, match="index 9 is outside of axis 0") as e:
        p.run(x=x, indices=indices)
    assert e.value.status == "FAULT"
    assert (p.run(x=x, indices=indices * 0).numpy() == 1).all()


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64"])
def test_rows_of_bits_count_within_the_width_of_the_type(dtype):
    bits = np.dtype(dtype).itemsize * 8
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = np.array([0, 1, 2, 80, 127, most, most - 1, most // 3, least], dtype)
    texts = [np.binary_repr(int(v), bits) for v in x]
    wanted = {
        "popcount": [text.count("1") for text in texts],
        "clz": [bits - len(text.lstrip("0")) for text in texts],
        "ctz": [bits - len(text.rstrip("0")) for text in texts],
    }
    for name, counts in wanted.items():
        y = computed(name, {"x": Tensor(x)}, {}, "gfx1100")[1]
        assert y.numpy().tolist() == counts and str(y.numpy().dtype) == dtype, name


def test_bincount_counts_values_and_faults_at_those_without_a_bin():
    x = np.array([[0, 3, 3], [1, 3, 0]], np.int8)
    assert computed("bincount", {"x": Tensor(x)}, {"bins": 5}, "gfx1100")[1].numpy().tolist() == [2, 1, 0, 3, 0]
    for outside in (5, -1):
        with pytest.raises(strata.MemoryFault, match="index 5 is outside"):
            computed("bincount", {"x": Tensor(np.array([outside], np.int8))}, {"bins": 5}, "gfx1100")


def test_kthvalue_gives_the_kth_smallest_and_where_it_is():
    x = np.random.default_rng(5).permutation(24).reshape(4, 6).astype(np.float32)
    for k, axis in ((1, -1), (3, 0), (6, 1)):
        values, indices = computed("kthvalue", {"x": Tensor(x)}, {"k": k, "axis": axis}, "gfx942")[1]
        assert (values.numpy() == np.sort(x, axis).take(k - 1, axis)).all()
        assert (indices.numpy() == np.argsort(x, axis).take(k - 1, axis)).all()


def test_int8_rounds_halves_to_even_saturates_and_comes_back_by_its_scale():
    x = np.array([0.5, 1.5, -2.5, 200, -200, np.inf, -np.inf], np.float32)
    q = computed("quantize_int8", {"x": Tensor(x), "scale": Tensor(np.float32([1]))}, {}, "gfx1100")[1]
    assert q.numpy().tolist() == [0, 2, -2, 127, -128, 127, -128] and q.numpy().dtype == np.int8
    scale = np.float16([0.5, 2, 1, 1, 1, 1, 3])
    back = computed("dequantize_int8", {"x": q, "scale": Tensor(scale)}, {}, "gfx1100")[1]
    assert (back.numpy() == q.numpy() * scale).all() and back.numpy().dtype == np.float16


def test_classes_of_multi_margin_count_from_the_end_below_0():
    x, of = Tensor(np.random.default_rng(6).random((3, 5), np.float32)), [1, 4, 0]
    wanted, got = (
        computed("multi_margin", {"x": x, "target": Tensor(np.int32(of) - less)}, {}, "gfx1100")[1] for less in (0, 5)
    )
    assert got.item() == wanted.item() > 0


def test_lp_pool_has_no_slope_where_all_of_a_window_is_0():
    x, dy = Tensor(np.zeros((1, 1, 4), np.float32)), Tensor(np.ones((1, 1, 2), np.float32))
    dx = computed("lp_pool_backward", {"dy": dy, "x": x}, {"window": [2]}, "gfx1100")[1]
    assert (dx.numpy() == 0).all()


@pytest.mark.parametrize("name, operands, attributes, operand", [
    ("quantize_int8", {"x": Spec((4,)), "scale": Spec((3, 4))}, {}, "scale"),
    ("segment_sum", {"x": Spec((4, 6)), "ids": Spec((3,), "int32")}, {"segments": 2}, "ids"),
    ("multi_margin", {"x": Spec((4, 6)), "target": Spec((3,), "int32")}, {}, "target"),
    ("binary_cross_entropy", {"x": Spec((4, 6)), "target": Spec((4, 5))}, {}, "target"),
])  # fmt: skip
def test_shapes_that_do_not_fit_are_invalid_by_the_operand(name, operands, attributes, operand):
    with pytest.raises(strata.Error) as e:
        plan.select(name, **operands, **attributes)
    assert (e.value.status, e.value.operand) == ("INVALID", operand)


def slopes(f, wide, dy, at):
    """Central differences of the formula by one operand."""
    x, step = wide[at], 1e-5
    out = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        both = []
        for by in (step, -step):
            moved = x.copy()
            moved[i] += by
            both.append((f(*wide[:at], moved, *wide[at + 1 :]) * dy).sum())
        out[i] = (both[0] - both[1]) / (2 * step)
    return out


@pytest.mark.parametrize("part", range(8))
def test_backward_rows_compute_the_slopes_of_their_formula(part):
    wrong = []
    names = [name for name in CASES if SERVED[name].backward]
    for name in names[part::8]:
        case = CASES[name]
        given, wide = drawn(name, "float64")
        f = lambda *x, case=case: np.asarray(case.formula(*x, **case.attributes), np.float64)  # noqa: E731
        dy = np.asarray(np.random.default_rng(1).standard_normal(f(*wide).shape))
        try:
            p, made = computed(f"{name}_backward", {"dy": Tensor(dy), **given}, case.attributes, "gfx1100")
            outputs = dict(zip([o.name for o in p.operands if o.output], made if isinstance(made, tuple) else [made]))
            for at, (operand, t) in enumerate(given.items()):
                if t.dtype.is_float:
                    wanted = slopes(f, wide, dy, at)
                    assert np.allclose(outputs[f"d{operand}"].numpy(), wanted, rtol=1e-5, atol=1e-6), (
                        operand,
                        outputs[f"d{operand}"].numpy(),
                        wanted,
                    )
        except Exception as e:
            wrong.append(f"{name}: {type(e).__name__}: {str(e)[:400]}")
    assert not wrong, "\n".join(wrong)


def test_rows_that_are_not_served_say_so_by_name():
    names = [row.name for row in plan.operations() if not row.served]
    assert {"fft", "solve", "resize", "unique", "nonzero", "paged_attention", "selective_scan"} <= set(names)
    for name in names:
        with pytest.raises(strata.Unsupported, match=f"'{name}' is not served") as e:
            plan.select(name, x=Spec((2,)))
        assert e.value.status == "UNSUPPORTED"


def gated(x, gate, slope):
    """(y, dx for dy = 1) of an array, by the formulas."""
    a, b = np.split(x.astype(np.float64), 2)
    with np.errstate(all="ignore"):
        return a * gate(b), np.concatenate([gate(b), a * slope(b)])


def test_gated_rows_keep_the_tails_and_nan():
    def of(name, x, dtype="float32"):
        t = Tensor(np.array(x)).cast(dtype)
        y = plan.select(name, x=t, prefer={"target": "asm"}).run(x=t)
        p = plan.select(f"{name}_backward", x=t, dy=y, prefer={"target": "asm"})
        return y.numpy(), p.run(x=t, dy=Tensor(np.ones(len(x) // 2)).cast(dtype)).numpy()

    y, dx = of("geglu", [1.0, -10.0])
    assert np.allclose(y, -7.619853e-23, rtol=1e-5) and np.allclose(dx[1], -7.618400e-22, rtol=1e-5)
    for name in ("glu", "reglu", "swiglu", "geglu"):
        y, dx = of(name, [2.0, 3.0, np.nan, 1000.0])
        assert np.isnan(y[0]) and np.isnan(dx[0]) and np.isfinite(y[1]) and np.isfinite(dx[[1, 3]]).all(), name
        y, dx = of(name, [2.0, 3.0, -1000.0, -200.0])
        assert np.isfinite(y).all() and np.isfinite(dx).all(), name
    y, dx = of("reglu", [np.inf, 2.0, -1.0, -np.inf])
    assert (y == 0).all() and (dx == 0).all()


@pytest.mark.parametrize("name", ["glu", "reglu", "swiglu", "geglu"])
@pytest.mark.parametrize("dtype", EPS)
def test_gated_rows_are_within_their_bounds(name, dtype):
    from rows_of_plans import erfc, sigmoid

    def density(b):
        return np.exp(-b * b / 2) / np.sqrt(2 * np.pi)

    gate, slope = {
        "glu": (sigmoid, lambda b: sigmoid(b) * (1 - sigmoid(b))),
        "reglu": (lambda b: np.maximum(b, 0), lambda b: (b > 0) * 1.0),
        "swiglu": (lambda b: b * sigmoid(b), lambda b: sigmoid(b) * (1 + b * (1 - sigmoid(b)))),
        "geglu": (lambda b: b * erfc(-b / np.sqrt(2)) / 2, lambda b: erfc(-b / np.sqrt(2)) / 2 + b * density(b)),
    }[name]
    x = Tensor(np.random.default_rng(2).standard_normal(256) * 4).cast(dtype).realize()
    y, dx = gated(x.cast("float64").numpy(), gate, slope)
    asm = {"target": "asm"}
    ones = Tensor(np.ones(128)).cast(dtype).realize()
    got = plan.select(name, x=x, prefer=asm).run(x=x)
    back = plan.select(f"{name}_backward", x=x, dy=ones, prefer=asm).run(x=x, dy=ones)
    close(got, y, dtype, 0.51 if name == "reglu" else 4)
    close(back, dx, dtype, 8)
