"""Calls every public function of strata, Tensor, UOp, DType, and of nn and optim, with random arguments: the child of
test_api_fuzz.py.

    python api_calls.py FILE [SECONDS [SEED]]     0 seconds: the same calls every time

FILE has the call that is made, so that it is known which one took the process. A call that takes 30 s ends it.
Errors are Strata's or Python's own of arguments; results that NumPy knows are compared. The last line gives the
figures as JSON.
"""

import collections
import faulthandler
import inspect
import json
import resource
import sys
import time
from pathlib import Path

import layer_calls
import numpy as np
import random_values as st
import strata
from api_references import differs, expected
from strata import Tensor, _hints, dtypes, uop

FOREIGN = (
    "incompatible function",
    "incompatible constructor",
    "Unable to cast",
    "pybind",
    "C++",
    "std::",
    "::at",
    "vector::",
    "basic_string",
    "_M_",
    "stoi",
    "bad_alloc",
    "bad_",
)
ALLOWED = (strata.Error, TypeError, ValueError, OverflowError, AttributeError, BufferError)
LEFT_OUT = {
    "asm_kernel": "its text goes to LLVM's assembler",
    "config": "settings of the process",
    "compile": "a compiler run a call",
    "manual_seed": "state of the process",
}

ARRAYS = [np.array(v, t) for v, t in [([1, -2, 3], "int32"), ([[1, 2, 3], [4, 5, 6]], "int64"),
        ([1.5, -2.5, 0.0, np.nan], "float32"), ([[0.5], [2.0]], "float64"), ([True, False, True], "bool"),
        ([250, 3, 255], "uint8"), (7, "int64"), (2.5, "float32"),
        ([], "float32"), ([[0, 1], [1, 0]], "uint64"), ([127, -128, 5], "int8"),
        (np.arange(24).reshape(2, 3, 4), "float32"), ([[2**62, -(2**63)]], "int64"),
        ([-0.0, np.inf, -np.inf], "float16"), ([0, 2, 1], "int16"),
        ([2**31, 1], "uint32")]]  # fmt: skip
EDGES = [
    0,
    1,
    -1,
    2,
    3,
    5,
    31,
    32,
    63,
    64,
    127,
    128,
    255,
    256,
    2**31 - 1,
    2**31,
    2**32,
    2**32 + 1,
    2**53 + 1,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
    2**64,
    2**70,
    -2,
    -3,
    -128,
    -(2**31),
    -(2**31) - 1,
    -(2**63),
    -(2**63) - 1,
    -(2**70),
]


CALLS_A_ROUND = 12
# Results of each function that are compared, and every how many rounds: most of them are a kernel to compile.
COMPARED_A_ROUND, COMPARED_ROUNDS = 2, 20


class Opaque:
    """An object that no function takes."""


small = st.integers(-3, 6)
ints = st.one_of(small, small, small, st.sampled_from(EDGES))
floats = st.one_of(
    st.sampled_from(
        [0.0, -0.0, 1.0, 0.5, -1.5, 1e30, -1e300, 1e-320, float("nan"), float("inf"), -float("inf"), 16777217.0]
    ),
    st.floats(-10, 10),
)
numbers = st.one_of(
    small,
    ints,
    floats,
    st.booleans(),
    ints.filter(lambda i: -128 <= i < 128).map(np.int8),
    st.floats(-10, 10).map(np.float32),
)
arrays = st.sampled_from(ARRAYS)
tensors = arrays.map(Tensor)
shapes = st.one_of(ints, st.lists(st.one_of(small, small, ints), max_size=4), st.lists(small, max_size=3).map(tuple))
types = st.one_of(
    st.sampled_from([*dtypes.all, *(t.name for t in dtypes.all), bool, int, float, np.float32, np.dtype("int16")]),
    st.sampled_from(["float31", "", "index", object, "complex64"]),
)
words = st.sampled_from(
    [
        "",
        "x",
        "mean",
        "sum",
        "none",
        "float32",
        "emu:gfx1100",
        "emu:gfx942",
        "cuda",
        "global",
        "local",
        "loop",
        "reg",
        "reduce",
        "add",
        "max",
        "gidx0",
        "lidx2",
        "k",
        "double",
        "é",
        "\0",
        "a" * 300,
    ]
)
lists = st.nested(st.one_of(ints, floats, st.booleans()), max_size=3)
parts = st.one_of(
    ints,
    st.none(),
    st.just(...),
    st.builds(slice, *[st.one_of(st.none(), ints)] * 3),
    tensors,
    arrays,
    lists.filter(lambda v: isinstance(v, list)),
    st.just(np.True_),
    st.just(np.array(1)),
)


def nodes():
    place = lambda t: uop.placeholder(8, t, "global")[uop.range(8, 0, "loop")]  # noqa: E731
    of_type = st.sampled_from(["float32", "int32", "boolean", "float16", "uint64"])
    return st.one_of(of_type.map(lambda t: place(t).load()), of_type.map(place),
        of_type.map(lambda t: uop.placeholder(4, t)), st.just(None).map(lambda _: uop.range(4, 1)),
        ints.filter(lambda i: abs(i) < 2**31).map(lambda i: uop.const(i, "int64")),
        st.just(None).map(lambda _: place("float32").store(1.0)))  # fmt: skip


NODES = nodes()
junk = st.one_of(
    numbers,
    tensors,
    arrays,
    shapes,
    types,
    words,
    lists,
    parts,
    NODES,
    st.none(),
    st.builds(Opaque),
    st.just({}),
    st.just(b"bytes"),
    st.just(lambda *a: None),
    st.just(1j),
)
BY_TYPE = {
    "int": ints, "float": floats, "bool": st.booleans(), "str": words, "Scalar": numbers,
    "Operand": st.one_of(tensors, numbers, numbers, numbers, arrays, lists), "Tensor": tensors,
    "ArrayLike": st.one_of(tensors, arrays, lists), "Shape": shapes, "Axes": shapes, "DTypeLike": types,
    "IndexPart": st.one_of(parts, st.lists(parts, max_size=3).map(tuple)), "UOp": NODES,
    "Sequence[ArrayLike]": st.lists(tensors, max_size=3),
    "Sequence[tuple[int, int]]": st.lists(st.tuples(small, st.one_of(small, ints)), max_size=3),
    "Sequence[int]": st.lists(ints, max_size=3),
    "AxisKind": words, "Space": words, "list[Tensor]": st.lists(tensors, max_size=3),
}  # fmt: skip


AXES = st.integers(-2, 1)


def strategy_of(parameter, annotation):
    """Mostly what the parameter takes; now and then anything."""
    if "axis" in parameter:
        return st.one_of(AXES, AXES, AXES, ints, st.lists(AXES, max_size=2).map(tuple), junk)
    fitting = [s for name, s in BY_TYPE.items() if name in annotation] or [junk]
    return st.one_of(*fitting * 6, junk)


def functions():
    """(label, function, its owner's strategy or None, [(parameter, annotation)]) of everything public."""
    own = {Tensor: tensors, uop.UOp: NODES, strata.DType: st.sampled_from(dtypes.all)}
    for owner in (strata, strata.functional, uop, Tensor, uop.UOp, strata.DType):
        for name in dir(owner):
            f = inspect.getattr_static(owner, name)
            shared = isinstance(f, staticmethod)
            f = f.__func__ if shared else f
            if (name.startswith("_") and not name.startswith("__")) or name in LEFT_OUT or not callable(f):
                continue
            if isinstance(f, type):
                if f in own:
                    yield f"{name}()", f, None, described(f.__init__)
            elif (f.__doc__ or "").startswith(f"{name}("):
                method = inspect.isclass(owner) and not shared and name != "__init__"
                if name != "__init__":
                    yield f"{owner.__name__}.{name}", f, own[owner] if method else None, described(f)


def described(f):
    first = (f.__doc__ or "").partition("\n")[0]
    text = first.partition("(")[2].rpartition(" -> ")[0].rpartition(")")[0]
    out, depth, start = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            name, _, annotation = text[start:i].strip().partition(":")
            if name and name not in ("self", "/", "*") and not name.startswith("arg0"):
                out.append((name, annotation))
            start = i + 1
    return out


class Fuzzer:
    """Makes the calls and counts."""

    def __init__(self, file, seed):
        self.file, self.seed, self.counts, self.compared, self.armed = (
            open(file, "w"),
            seed,
            collections.Counter(),
            collections.Counter(),
            0,
        )
        self.targets = [*(Target(*f) for f in functions()), *layer_calls.targets()]

    def guard(self):
        """A call that takes 30 s ends the process; arming costs more than most calls."""
        now = time.monotonic()
        if now - self.armed > 1:
            self.armed = now
            faulthandler.dump_traceback_later(31, exit=True)

    def call(self, label, function, given, named, allowed=ALLOWED):
        words = [*map(_hints._short.repr, given), *(f"{k}={_hints._short.repr(v)}" for k, v in named.items())]
        text = f"{label}({', '.join(words)})"
        self.file.seek(0)
        self.file.write(text + "\n")
        self.file.truncate()
        self.file.flush()
        self.guard()
        self.counts["calls"] += 1
        try:
            result = function(*given, **named)
            self.counts["results"] += 1
            if isinstance(result, Tensor):
                self.compare(text, label.rpartition(".")[2], given, named, result)
        except strata.InternalError as e:
            raise AssertionError(f"{text}: {e!r}") from e
        except allowed as e:
            assert not any(w in str(e) for w in FOREIGN), f"{text}: {e!r}"
            self.counts["errors"] += 1
        except RecursionError:
            self.counts["errors"] += 1

    def compare(self, text, name, given, named, result):
        assert result.shape == tuple(result.shape) and all(n >= 0 for n in result.shape) and result.size < 2**63, (
            f"{text}: shape {result.shape}"
        )
        if result.size > 1000 or not result.dtype.numpy_name or self.compared[name] >= COMPARED_A_ROUND:
            return
        want = expected(name, given, named, result.dtype.numpy_name)
        if want is None:
            return
        self.compared[name] += 1
        self.counts["compared"] += 1
        wrong = differs(result.numpy(), want)
        assert not wrong, f"{text}: {wrong}"

    def round(self, number):
        if number % COMPARED_ROUNDS == 0:
            self.compared.clear()
        for target in self.targets:
            r = st.seeded(self.seed, number, target.label)
            for _ in range(target.calls):
                self.call(target.label, target.function, *target.arguments(r), target.allowed)


class Target:
    """A function and where its arguments come from."""

    calls, allowed = CALLS_A_ROUND, ALLOWED

    def __init__(self, label, function, owner, parameters):
        self.label, self.function, self.owner = label, function, owner
        self.fixed = [
            (name, strategy_of(name, annotation), "=" not in annotation)
            for name, annotation in parameters
            if not name.startswith("*")
        ]
        variadic = any(name.startswith("*") and not name.startswith("**") for name, _ in parameters)
        self.more = (
            st.lists(st.one_of(small, shapes, NODES if "UOp" in label or "uop" in label else tensors, junk), max_size=3)
            if variadic
            else None
        )

    def arguments(self, r):
        given = [self.owner.draw(r)] if self.owner is not None else []
        positional = r.randint(0, len(self.fixed))
        given += [values.draw(r) for _, values, _ in self.fixed[:positional]]
        named = {}
        if self.more is not None:
            given += self.more.draw(r)
        else:
            named = {
                name: values.draw(r)
                for name, values, required in self.fixed[positional:]
                if required or r.random() < 1 / 3
            }
        if r.random() < 1 / 31:
            given.append(junk.draw(r))
        return given, named


def resident():
    """MiB of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20


def main(file, seconds="0", seed="0"):
    faulthandler.enable()
    fuzzer, start, rounds, early = Fuzzer(file, int(seed)), time.monotonic(), 0, 0
    while rounds == 0 or time.monotonic() - start < float(seconds):
        fuzzer.round(rounds)
        rounds += 1
        if not early and time.monotonic() - start > float(seconds) / 3:
            early = resident()
    faulthandler.cancel_dump_traceback_later()
    print(
        json.dumps(
            {
                **fuzzer.counts,
                "functions": len(fuzzer.targets),
                "rounds": rounds,
                "seconds": round(time.monotonic() - start, 1),
                "early_mib": early,
                "end_mib": resident(),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
