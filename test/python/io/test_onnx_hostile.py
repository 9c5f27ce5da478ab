"""Models of ONNX that are wrong, or want more than to be computed: each is refused in words, when it is loaded or
called.
"""

import contextlib
import os
import random
import resource
import time

import numpy as np
import pytest
import strata
from test_files_fuzz import damaged
from test_onnx import F, L, model
from tested import QUICK_TARGET

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

N = helper.make_node
SECONDS = float(os.environ.get("STRATA_FUZZ_SECONDS", 3))


def of(nodes, weights=None, given=None, outputs=("y",)):
    """A model whose weights may be any TensorProto, called with x."""
    given = F(2) if given is None else given
    proto = model(
        nodes, {"x": given}, {n: a for n, a in (weights or {}).items() if not isinstance(a, TensorProto)}, outputs
    )
    proto.graph.initializer.extend(w for w in (weights or {}).values() if isinstance(w, TensorProto))
    return strata.onnx.load(proto)(given)


ADD = [N("Add", ["x", "w"], ["y"])]


def outside(place, **more):
    w = TensorProto(name="w", data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": place, **more}.items():
        w.external_data.add(key=key, value=str(value))
    return w


@pytest.mark.parametrize(
    "place", ["../secret", "/dev/zero", "{here}/secret", "link", "nothing", ".", "", "a/../../secret"]
)
def test_weights_of_files_elsewhere_are_not_read(place, tmp_path, monkeypatch):
    (tmp_path / "models").mkdir()
    (tmp_path / "secret").write_bytes(bytes(8))
    (tmp_path / "models/link").symlink_to(tmp_path / "secret")
    proto = model(ADD, {"x": F(2)}, {}, ["y"])
    proto.graph.initializer.append(outside(place.format(here=tmp_path)))
    (tmp_path / "models/x.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(strata.UsageError, match="this is no model"):
        strata.onnx.load(tmp_path / "models/x.onnx")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(strata.UsageError, match="load the model by its file's name"):
        strata.onnx.load(proto.SerializeToString())


@pytest.mark.parametrize(
    "more", [{"offset": 1 << 40}, {"length": 1 << 40}, {"offset": -4}, {"length": -1}, {"offset": "x"}]
)
def test_places_in_files_that_lie(more, tmp_path):
    (tmp_path / "x.data").write_bytes(bytes(8))
    proto = model(ADD, {"x": F(2)}, {}, ["y"])
    proto.graph.initializer.append(outside("x.data", **more))
    (tmp_path / "x.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(strata.UsageError, match="this is no model"):
        strata.onnx.load(tmp_path / "x.onnx")


@pytest.mark.parametrize("dims", [[1 << 40], [1 << 32, 1 << 32], [-1], [0, 1 << 62], [3]])
@pytest.mark.parametrize("constant", [False, True])
def test_weights_whose_sizes_lie(dims, constant):
    w = TensorProto(name="w", data_type=1, dims=dims, raw_data=bytes(8))
    with pytest.raises(strata.UsageError, match="'w' cannot be read"):
        of([N("Constant", [], ["w"], value=w), *ADD] if constant else ADD, {} if constant else {"w": w})


def test_weights_of_other_types(rng):
    for kind, name in [
        (TensorProto.BFLOAT16, "bfloat16"),
        (TensorProto.FLOAT8E4M3FN, "fp8e4m3"),
        (TensorProto.FLOAT8E5M2, "fp8e5m2"),
        (TensorProto.FLOAT16, "float16"),
    ]:
        got = of([N("Identity", ["w"], ["y"])], {"w": helper.make_tensor("w", kind, [3], [1, -2, 0.5])})
        assert got.dtype.name == name and got.cast("float32").tolist() == [1, -2, 0.5]
    for w in (
        TensorProto(name="w", data_type=8, dims=[1], string_data=[b"a"]),
        TensorProto(name="w", data_type=77, dims=[1], raw_data=b"1"),
    ):
        with pytest.raises(strata.UsageError, match="'w' cannot be read"):
            of(ADD, {"w": w})


def branch(value):
    return helper.make_graph(
        [N("Constant", [], ["r"], value_float=value)], "b", [], [helper.make_value_info("r", onnx.TypeProto())]
    )


GRAPHS = {
    "a cycle": ([N("Add", ["x", "y"], ["a"]), N("Relu", ["a"], ["y"])], "takes 'y', which nothing before it gives"),
    "of itself": ([N("Relu", ["y"], ["y"])], "nothing before"),
    "out of order": ([N("Neg", ["a"], ["y"]), N("Relu", ["x"], ["a"])], "takes 'a'"),
    "no output": ([N("Relu", ["x"], ["a"])], "nothing gives the output y"),
    "one name twice": ([N("Relu", ["x"], ["y"]), N("Neg", ["x"], ["y"])], "gives 'y', which is there already"),
    "an input again": ([N("Relu", ["x"], ["x"]), N("Relu", ["x"], ["y"])], "there already"),
    "half an If": ([N("If", ["x"], ["y"], then_branch=branch(1.0))], "then_branch and else_branch"),
    "a branch of nothing": ([N("If", ["x"], ["y"], then_branch=branch(1.0),
                else_branch=helper.make_graph([N("Neg", ["q"], ["r"])], "b", [], []))], "takes 'q'"),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_that_cannot_be_computed(name):
    nodes, match = GRAPHS[name]
    with pytest.raises(strata.UsageError, match=match):
        strata.onnx.load(model(nodes, {"x": F(2)}, {}, ["y"]))


def test_nothing_is_no_model():
    for nothing in (b"", onnx.ModelProto()):
        with pytest.raises(strata.UsageError, match="no outputs"):
            strata.onnx.load(nothing)


def test_branches_are_taken_by_what_is_known_or_computed():
    both = {"then_branch": branch(1.0), "else_branch": branch(2.0)}
    for condition, want in ((True, 1.0), (False, 2.0)):
        assert of([N("If", ["c"], ["y"], **both)], {"c": np.array(condition)}).item() == want
    nodes = [N("ReduceSum", ["x"], ["s"], keepdims=0), N("Greater", ["s", "z"], ["c"]), N("If", ["c"], ["y"], **both)]
    for x, want in ((L(1, 1), 1.0), (L(-1, -1), 2.0)):
        assert of(nodes, {"z": np.int64(0)}, x).item() == want
    uses = helper.make_graph(
        [N("Mul", ["a", "w"], ["r"])],
        "b",
        [],
        [helper.make_value_info("r", onnx.TypeProto())],
        [numpy_helper.from_array(np.float32(3), "w")],
    )
    assert of(
        [N("Neg", ["x"], ["a"]), N("If", ["c"], ["y"], then_branch=uses, else_branch=branch(0.0))],
        {"c": np.array(True)},
        np.float32([1, 2]),
    ).tolist() == [-3, -6]


def test_functions_of_a_model_are_put_in_place():
    def proto(inner):
        f = helper.make_function(
            "own", "twice", ["a"], ["b"], [inner], [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
        )
        out = model([N("twice", ["x"], ["y"], domain="own")], {"x": F(2)}, {}, ["y"])
        out.functions.append(f)
        out.opset_import.append(helper.make_opsetid("own", 1))
        return out

    assert strata.onnx.load(proto(N("Add", ["a", "a"], ["b"])))(np.float32([1, 2])).tolist() == [2, 4]
    with pytest.raises(strata.UsageError, match="own functions"):
        strata.onnx.load(proto(N("twice", ["a"], ["b"], domain="own")))


def calling_twice(depth):
    """Functions that each call the next one twice."""
    own = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    proto = model([N("f0", ["x"], ["y"], domain="own")], {"x": F(2)}, {}, ["y"])
    for i in range(depth):
        kind = {"domain": "own"} if i < depth - 1 else {}
        proto.functions.append(
            helper.make_function(
                "own",
                f"f{i}",
                ["a"],
                ["c"],
                [
                    N(f"f{i + 1}" if kind else "Neg", ["a"], ["b"], **kind),
                    N(f"f{i + 1}" if kind else "Neg", ["b"], ["c"], **kind),
                ],
                own,
            )
        )
    proto.opset_import.append(own[1])
    return proto


def test_functions_that_call_each_other_twice_are_counted_first():
    assert strata.onnx.load(calling_twice(5))(np.float32([1, 2])).tolist() == [1, 2]
    with pytest.raises(strata.Unsupported, match=f"{2**27} nodes"):
        strata.onnx.load(calling_twice(27))
    with pytest.raises(strata.Error):
        strata.onnx.load(calling_twice(3000))


def asking_for_much(kind, much):
    """A node whose attributes are large numbers, of small arrays that the host knows."""
    schema = onnx.defs.get_schema(kind.rpartition(".")[2], domain=kind.rpartition(".")[0])
    given = {
        onnx.defs.OpSchema.AttrType.INT: much,
        onnx.defs.OpSchema.AttrType.INTS: [much, much],
        onnx.defs.OpSchema.AttrType.FLOATS: [float(much)] * 2,
    }
    attributes = {
        name: given[a.type]
        for name, a in schema.attributes.items()
        if a.type in given and name not in ("to", "dtype", "axis", "group", "output_dtype", "output_datatype")
    }
    return N(
        kind.rpartition(".")[2],
        [f"w{i}" for i in range(max(schema.min_input, min(schema.max_input, 2)))],
        ["y"],
        domain=kind.rpartition(".")[0],
        **attributes,
    )


@pytest.mark.parametrize("much", [1 << 28, 1 << 40])
def test_no_attribute_makes_the_host_compute_much(much):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for kind in strata.onnx.operators.OPERATORS:
        if kind in strata.onnx.control.CONTROL or kind == "Constant" or kind.startswith("com."):
            continue
        for shape in ((1, 1, 2, 2), (2,)):
            weights = {f"w{i}": np.ones(shape, np.int64) for i in range(4)} | {
                "w1": np.full(shape, much if len(shape) == 1 else 1)
            }
            with contextlib.suppress(strata.Error):
                proto = model([asking_for_much(kind, much)], {"x": F(2)}, weights, ["y"], 23)
                strata.onnx.load(proto)(F(2))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000


WORDS = [
    "",
    "mean",
    "sum",
    "none",
    "add",
    "max",
    "linear",
    "cubic",
    "nearest",
    "SAME_UPPER",
    "NOTSET",
    "forward",
    "bidirectional",
    "constant",
    "reflect",
    "LEFT",
    "i,j->ij",
    "border",
    "half_pixel",
    "asymmetric",
]


def of_schema(schema, i, kinds, names):
    """The type of an input, where those of the node fit together."""
    kind = schema.inputs[min(i, len(schema.inputs) - 1)].type_str if schema.inputs else ""
    return kinds.get(kind) or names.get(kind) if kinds else None


def any_node(kind, rnd):
    """(a node of an operator, its inputs' arrays), of any shapes, types and attributes."""
    schema, types = (
        onnx.defs.get_schema(kind.rpartition(".")[2], domain=kind.rpartition(".")[0]),
        onnx.defs.OpSchema.AttrType,
    )
    makers = {
        types.INT: lambda: rnd.randint(-2, 4),
        types.FLOAT: lambda: rnd.choice([0.0, 0.5, -1.0, 2.0]),
        types.STRING: lambda: rnd.choice(WORDS),
        types.INTS: lambda: [rnd.randint(-1, 3) for _ in range(rnd.randint(1, 4))],
        types.FLOATS: lambda: [rnd.uniform(-1, 3) for _ in range(rnd.randint(1, 3))],
        types.STRINGS: lambda: ["Tanh", "Relu"],
    }
    usual = [name for name, a in schema.attributes.items() if a.required or rnd.random() < 0.3]
    attributes = {
        name: makers[schema.attributes[name].type]() for name in usual if schema.attributes[name].type in makers
    }
    attributes |= {name: rnd.choice([1, 7, 10, 6]) for name in ("to", "dtype", "output_dtype") if name in attributes}
    names = {
        "tensor(float)": np.float32,
        "tensor(int64)": np.int64,
        "tensor(bool)": bool,
        "tensor(float16)": np.float16,
        "tensor(uint8)": np.uint8,
        "tensor(int32)": np.int32,
        "tensor(int8)": np.int8,
    }
    allowed = {c.type_param_str: [names[t] for t in c.allowed_type_strs if t in names] for c in schema.type_constraints}
    kinds = {name: rnd.choice(found) for name, found in allowed.items() if found} if rnd.random() < 0.7 else {}
    arrays, shape = {}, [rnd.randint(1, 4) for _ in range(rnd.randint(0, 4))]
    for i in range(rnd.randint(schema.min_input, max(schema.min_input, min(schema.max_input, 8)))):
        own = rnd.choice([shape, shape, [rnd.randint(0, 4) for _ in range(rnd.randint(0, 4))], [rnd.randint(1, 4)], []])
        arrays[f"x{i}"] = (np.random.default_rng(rnd.randint(0, 999)).standard_normal(own) * 3).astype(
            of_schema(schema, i, kinds, names)
            or rnd.choice([np.float32, np.float32, np.int64, bool, np.float16, np.uint8])
        )
    return N(
        kind.rpartition(".")[2],
        [*arrays],
        [f"y{i}" for i in range(rnd.randint(1, max(1, min(schema.max_output, 4))))],
        domain=kind.rpartition(".")[0],
        **attributes,
    ), arrays


def test_any_node_is_computed_or_refused():
    """Inputs are the model's, or known to the host. What an index reaches beyond a tensor is a fault of the kernel, an
    error too.
    """
    kinds = [
        kind
        for kind in strata.onnx.operators.OPERATORS
        if kind not in ("Constant", *strata.onnx.control.CONTROL) and not kind.startswith("com.")
    ]
    rnd, end, count = random.Random(11), time.monotonic() + SECONDS, 0
    with strata.config(target=QUICK_TARGET):
        while count < 1000 or time.monotonic() < end and "STRATA_FUZZ_SECONDS" in os.environ:
            node, arrays = any_node(kinds[count % len(kinds)], rnd)
            known = {name: a for name, a in arrays.items() if rnd.random() < 0.3}
            given = {name: a for name, a in arrays.items() if name not in known}
            count += 1
            try:
                got = strata.onnx.load(model([node], given, known, node.output, rnd.choice([7, 11, 13, 18, 22])))(
                    **given
                )
                for y in got if isinstance(got, tuple) else (got,):
                    if isinstance(y, strata.Tensor) and y.size < 1 << 16:
                        y.realize()
            except strata.Error:
                continue
            except Exception as e:
                raise AssertionError(
                    f"{type(e).__name__}: {e}, the {count}th: {node} of "
                    f"{[(n, a.dtype, a.shape) for n, a in arrays.items()]}, known {[*known]}"
                ) from e


FAR, WIDE = L(1 << 40), L(1 << 32, 1 << 32)
LARGE = {
    "ConstantOfShape": ([N("ConstantOfShape", ["s"], ["y"])], {"s": FAR}),
    "Expand": ([N("Expand", ["w", "s"], ["y"])], {"s": FAR, "w": L(1)}),
    "Tile": ([N("Tile", ["w", "s"], ["y"])], {"s": FAR, "w": L(1)}),
    "Pad": ([N("Pad", ["w", "s"], ["y"])], {"s": L(1 << 40, 0), "w": L(1)}),
    "OneHot": ([N("OneHot", ["w", "s", "x"], ["y"])], {"s": FAR, "w": L(1)}),
    "Range": ([N("Range", ["a", "b", "c"], ["y"])], {"a": np.int64(0), "b": np.int64(1 << 40), "c": np.int64(1)}),
    "doubled": ([N("Concat", ["w", "w"], ["c0"], axis=0),
            *(N("Concat", [f"c{i}"] * 2, [f"c{i + 1}" if i < 39 else "y"], axis=0) for i in range(40))], {"w": L(1)}),
    "all by all": ([N("Range", ["a", "b", "c"], ["r"]), N("Unsqueeze", ["r", "c1"], ["t"]),
            N("Add", ["r", "t"], ["y"])], {"a": np.int64(0), "b": np.int64(1 << 20), "c": np.int64(1), "c1": L(1)}),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_what_is_large_is_lazy(name):
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    nodes, weights = LARGE[name]
    assert of(nodes, weights).size >= 1 << 40
    assert time.process_time() - start < 5 and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


WRONG = {
    "sizes beyond 64 bits": ([N("Expand", ["w", "s"], ["y"])], {"s": WIDE, "w": L(1)}),
    "of zeros": ([N("ConstantOfShape", ["s"], ["y"])], {"s": WIDE}),
    "a negative size": ([N("ConstantOfShape", ["s"], ["y"])], {"s": L(-1)}),
    "a step of 0": ([N("Range", ["a", "b", "c"], ["y"])], {"a": np.int64(0), "b": np.int64(1 << 40), "c": np.int64(0)}),
    "an axis that is not there": ([N("Flatten", ["x"], ["y"], axis=9)], {}),
    "of Softmax": ([N("Softmax", ["x"], ["y"], axis=9)], {}),
    "of Transpose": ([N("Transpose", ["x"], ["y"], perm=[5])], {}),
    "of LayerNormalization": ([N("LayerNormalization", ["x", "w"], ["y"], axis=-7)], {"w": F(2)}),
    "no inputs": ([N("Concat", [], ["y"], axis=0)], {}), "no input": ([N("Relu", [], ["y"])], {}),
    "one left out": ([N("Relu", [""], ["y"])], {}),
    "an attribute that is a text": ([N("LeakyRelu", ["x"], ["y"], alpha="a")], {}),
    "few pads": ([N("Conv", ["x", "w"], ["y"], pads=[1])], {"w": F(1, 1, 2)}),
    "a step of 0 in a slice": ([N("Slice", ["x", "s", "e", "s", "s"], ["y"])], {"s": L(0), "e": L(2)}),
    "parts that do not fit": ([N("Split", ["x", "s"], ["y", "z"])], {"s": L(1, 5)}),
    "letters": ([N("Einsum", ["x", "x"], ["y"], equation="i,j->k")], {}),
    "no number": ([N("Resize", ["x", "", "s"], ["y"])], {"s": np.float32([np.nan])}),
    "much larger": ([N("Resize", ["x", "", "s"], ["y"])], {"s": np.float32([1e12])}),
    "more than there are": ([N("TopK", ["x", "k"], ["y", "z"])], {"k": L(9)}),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_calls_that_cannot_be_computed(name):
    with pytest.raises(strata.Error):
        of(*WRONG[name])


def test_damage_at_random_is_refused_or_harmless():
    weights = {"w": F(2), "s": L(1, 2), "t": L(2, 1)}
    nodes = [N("Add", ["x", "w"], ["a"]), N("Reshape", ["a", "s"], ["b"]), N("Expand", ["b", "t"], ["c"]),
        N("Transpose", ["c"], ["d"], perm=[1, 0]),
        N("If", ["k"], ["e"], then_branch=branch(1.0), else_branch=branch(2.0)), N("Mul", ["d", "e"], ["f"]),
        N("Softmax", ["f"], ["y"], axis=1)]  # fmt: skip
    content = model(nodes, {"x": F(2)}, weights | {"k": np.array(True)}, ["y"]).SerializeToString()
    rnd, end, count, wrong = random.Random(7), time.monotonic() + SECONDS, 0, 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    while time.monotonic() < end:
        now, start = damaged(content, rnd), time.process_time()
        try:
            got = strata.onnx.load(now)(F(2))
            for y in got if isinstance(got, tuple) else (got,):
                if y.size < 1 << 20:
                    y.realize()
        except strata.Error:
            wrong += 1
        except Exception as e:
            raise AssertionError(f"{type(e).__name__}: {e}, the {count}th: {now!r}") from e
        assert time.process_time() - start < 5
        count += 1
    assert wrong > count // 4 and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000
