"""Public functions and classes that Python defines (layers, losses, optimisers, gradients, captured functions, files),
with random arguments by the names of their parameters, for api_calls.py. Errors are Strata's own, whatever is given.
"""

import functools
import inspect
import tempfile
from pathlib import Path

import numpy as np
import random_values as st
import strata
from strata import Tensor, kernels, nn, optim

FOLDER = Path(tempfile.mkdtemp(prefix="strata-calls-"))
SHAPES = [(), (0,), (2,), (3,), (2, 2), (2, 3), (2, 0, 4), (1, 2, 4), (2, 2, 4, 4), (1, 2, 3, 4, 4)]


class Opaque:
    """An object that no layer takes."""


def made(shape, dtype):
    return Tensor(np.arange(int(np.prod(shape)) or 0).reshape(shape).astype(dtype) / (2 if dtype == "float32" else 1))


TENSORS = {(shape, dtype): made(shape, dtype) for shape in SHAPES for dtype in ("float32", "int32")}
tensors = st.sampled_from([t for (_, dtype), t in TENSORS.items() if dtype == "float32"])
integers = st.sampled_from([t for (_, dtype), t in TENSORS.items() if dtype == "int32"])
odd = st.one_of(
    st.none(),
    st.sampled_from(
        [
            "",
            "x",
            "é",
            "mean",
            b"x",
            1j,
            float("nan"),
            float("inf"),
            -1,
            0,
            2**40,
            2**70,
            -(2**70),
            1.5,
            True,
            (),
            [],
            {},
            {"a": 1},
            [None],
            ("a",),
            np.float32(2),
            np.array([1.0]),
            abs,
            Tensor,
            len,
        ]
    ),
    st.builds(Opaque),
)
sizes = st.sampled_from([0, 1, 1, 2, 2, 3, 4])
windows = st.one_of(sizes, st.lists(sizes, max_size=3).map(tuple))
numbers = st.sampled_from([0.0, 0.5, 1.0, 2.0, -1.0, 1e-5, 0.9, 1, 3])
axes = st.integers(-3, 3)
functions = st.sampled_from(
    [
        lambda x: x,
        lambda *a: a[0],
        lambda x: (x * x).sum(),
        lambda x: 5,
        lambda x: (x * 1, lambda g: g),
        lambda x: (x, 5),
        Tensor.sum,
        nn.ReLU(),
        nn.Linear(2, 2),
        functools.partial(lambda k, x: x * k, 2.0),
    ]
)
parameters = st.one_of(
    st.lists(tensors.map(lambda t: t.clone().requires_grad_()), max_size=2),
    tensors,
    st.sampled_from([nn.Linear(2, 2).parameters()]),
)
states = st.one_of(
    st.sampled_from([nn.Linear(2, 2).state_dict(), {"weight": TENSORS[(2, 2), "float32"]}, {"steps": 3}, {}])
)
files = st.sampled_from(
    [
        FOLDER / "a.safetensors",
        FOLDER / "b.npz",
        FOLDER / "c.npy",
        FOLDER / "none" / "x.npz",
        FOLDER,
        "",
        "x\0.npz",
        FOLDER / "d.pt",
        FOLDER / ("n" * 300 + ".npz"),
    ]
)
named = st.one_of(
    st.sampled_from(
        [
            {},
            {"a": TENSORS[(2,), "float32"]},
            {"": TENSORS[(), "int32"]},
            {"a\0": TENSORS[(2,), "float32"]},
            {"\ud800": TENSORS[(2,), "float32"]},
            {1: TENSORS[(2,), "float32"]},
            {"a": 5},
        ]
    ),
    odd,
)
BY_NAME = [
    ("target targets ids weight_ids indices labels", st.one_of(tensors, integers, integers)),
    ((
            "features_in features_out channels_in channels_out entries width width_in heads kv_heads groups channels "
            "num_classes classes blank"
        ), sizes),
    ("window stride padding dilation output_padding kernel_size size normalized_shape", windows),
    ("shape", st.lists(sizes, max_size=4).map(tuple)), ("axis dim axes argnums", axes),
    ("steps warmup every", st.integers(-1, 5)),
    ((
            "eps delta beta margin gamma momentum p alpha slope low high label_smoothing rate end factor most base "
            "gain std mean decay scale_factor growth backoff scale a min max negative_slope value start"
        ), numbers),
    ("bias affine nesterov causal training is_causal count_padding symbolic align_corners strict", st.booleans()),
    ("betas", st.tuples(numbers, numbers)), ("reduction", st.sampled_from(["mean", "sum", "none", "all"])),
    ("mode", st.sampled_from(["nearest", "linear", "constant", "reflect"])),
    ("dtype", st.sampled_from(["float32", "float16", "int32", "bool", "x"])), ("parameters", parameters),
    ("f function", functions), ("state", states),
    ("path", files), ("tensors", named), ("metadata", st.sampled_from([None, {}, {"a": "b"}, {"a": 1}])),
    ("arguments tangents", st.one_of(st.lists(tensors, max_size=2), tensors)),
    ("device", st.sampled_from(["", "emu:gfx1100", "x"])),
    ("input_lengths target_lengths", st.lists(sizes, max_size=3)), ("pad", st.lists(sizes, max_size=4)),
    ("layers", functions),
]  # fmt: skip
STRATEGIES = {name: strategy for names, strategy in BY_NAME for name in names.split()}
DEEP = (strata.Error, OSError)  # OSError: of a file that cannot be written
OF_A_FUNCTION = (strata.Error, TypeError, IndexError, AttributeError)  # which is given, and takes what it takes


def strategy_of(name):
    fitting = STRATEGIES.get(name, tensors)
    return st.one_of(*[fitting] * 7, odd, tensors)


class Called:
    """A function, or a class whose object is then called with tensors."""

    def __init__(self, label, function, calls, then=None, allowed=DEEP):
        self.label, self.calls, self._then, self.target, self.allowed = label, calls, then, function, allowed
        parameters = inspect.signature(function).parameters.values()
        self._fixed = [
            (p.name, strategy_of(p.name), p.default is p.empty)
            for p in parameters
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name != "self"
        ]
        more = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
        self._more = st.lists(strategy_of(more[0]), max_size=3) if more else None

    def function(self, *given, then=None, **named):
        made = self.target(*given, **named)
        return self._then(made, *then) if self._then else made

    def arguments(self, r):
        named = {
            name: values.draw(r)
            for name, values, required in self._fixed
            if (required and r.random() < 0.97) or r.random() < 1 / 3
        }
        given = self._more.draw(r) if self._more else []
        if self._fixed and r.random() < 1 / 40:
            named["unknown"] = 1
        if self._then:
            named["then"] = [strategy_of("x").draw(r) for _ in range(1 if r.random() < 0.9 else 2)]
        return given, named


def called(layer, *given):
    return layer(*given)


def stepped(step, *given):
    try:
        callable(step.rate) and step.rate(step.steps)
    except Exception:
        return None  # what a function that was given raises is its own
    for p in step.parameters:
        p.grad = None
    (sum((p * p).sum() for p in step.parameters) * 1.0).backward()
    step(*given[1:])
    step.load_state_dict(given[0] if given[0] is None or isinstance(given[0], dict) else step.state_dict())


def targets():
    for module in (nn.losses, nn.functional, nn.init):
        for name, f in vars(module).items():
            if inspect.isfunction(f) and not name.startswith("_") and f.__module__.startswith(module.__name__):
                yield Called(f"{module.__name__}.{name}", f, 6)
    for name in kernels.__all__:
        if name not in kernels._FAMILIES["custom"]:  # those of one's own take text, or compile
            yield Called(f"kernels.{name}", getattr(kernels, name), 6)
    yield Called("nn.rotary_embedding", nn.rotary_embedding, 6)
    for name, cls in vars(nn).items():
        if isinstance(cls, type) and issubclass(cls, nn.Module) and cls is not nn.Module:
            yield Called(f"nn.{name}", cls, 5, called, OF_A_FUNCTION if cls is nn.Sequential else DEEP)
    yield Called("Module.load_state_dict", nn.Linear(2, 2).load_state_dict, 6)
    for name, f in vars(optim).items():
        if inspect.isfunction(f) and f.__module__ == optim.__name__ and not name.startswith("_"):
            yield Called(f"optim.{name}", f, 6)
        elif isinstance(f, type) and issubclass(f, optim.Optimizer) and f is not optim.Optimizer:
            yield Called(f"optim.{name}", f, 5, stepped)
    yield Called(
        "optim.LossScaler", optim.LossScaler, 8, lambda scaler, x, *more: (scaler(x), scaler.load_state_dict(x))
    )
    for f in (
        strata.grad,
        strata.value_and_grad,
        strata.checkpoint,
        strata.custom_gradient,
        lambda f=None, symbolic=False: strata.jit(f, symbolic=symbolic),
    ):
        yield Called(
            f"strata.{f.__name__.replace('<lambda>', 'jit')}",
            f,
            8,
            lambda made, *given: made(TENSORS[(2,), "float32"]),
            OF_A_FUNCTION,
        )
    for f in (strata.vjp, strata.jvp):
        yield Called(f"strata.{f.__name__}", f, 8, allowed=OF_A_FUNCTION)
    for f in (strata.save, strata.load, strata.no_grad, strata.interpolate, strata.pad, strata.from_dlpack):
        yield Called(f"strata.{f.__name__}", f, 8)
