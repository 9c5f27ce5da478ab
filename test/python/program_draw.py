"""Programs of realistic form from a seed: rows of what a line may be, filled with values that are there."""

import re

import bounded
import numpy as np
from bounded_functions import REFERENCE
from program_lines import CASTS, CORNERS, FLOATS, PLACES, TRUTH, VIEWS, WHOLE
from program_text import INTEGERS, NAME, NUMBERS, Input, Program, fit, made

SIZES = [1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 17, 23, 33, 50, 65, 67, 100, 129, 200, 257]
LIKELY = np.array([5, 6, 9, 4, 9, 5, 9, 6, 6, 6, 6, 5, 6, 4, 6, 4, 5, 3, 2, 2], float)
LIMIT = 17000  # elements of a value


class Refused(Exception):
    """There is no value for a place of a row."""


class Draw:
    """A program under way, and the values of its reference, which say what fits."""

    def __init__(self, seed):
        self.rng = np.random.default_rng([38, seed])
        self.float = str(
            self.rng.choice(["float32", "float32", "float32", "float32", "float16", "bfloat16", "float64"])
        )
        few = [n for n, often in zip("nmhd", (1, 1, 0.6, 0.4)) if self.rng.random() < often]
        self.sizes = {n: int(self.rng.choice(SIZES, p=LIKELY / LIKELY.sum())) for n in few}
        if self.rng.random() < 0.03:
            self.sizes[str(self.rng.choice(few))] = 0
        self.inputs, self.lines, self.values, self.seed = {}, [], {}, seed
        self.smooth = self.rng.random() < 0.25  # derivatives are wanted
        self.kind = "f" if self.smooth or self.rng.random() < 0.8 else "i"
        shape = tuple(str(n) for n in self.rng.choice(few, self.rng.choice([1, 2, 3, 4], p=[0.15, 0.5, 0.25, 0.1])))
        while len(shape) > 1 and np.prod([self.sizes[n] for n in shape]) > LIMIT:
            shape = shape[1:]
        self.add_input(shape, self.type_of(self.kind))
        if self.rng.random() < 0.5:
            self.add_input(shape[self.rng.integers(len(shape)) :], self.type_of(str(self.rng.choice(list("ffib")))))

    def type_of(self, kind):
        return {"f": self.float, "b": "bool", "i": str(self.rng.choice(INTEGERS))}[kind]

    def add_input(self, shape, dtype, scale=1.0):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = Input(shape, dtype, scale)
        program = Program(self.sizes, self.inputs, seed=self.seed)
        self.values[name] = bounded.Bounded(program.arrays()[name], dtype)
        return name

    def size_named(self, size):
        """The name of a size; a new one where none is it."""
        for name, known in self.sizes.items():
            if known == size:
                return name
        name = f"s{len(self.sizes)}"
        self.sizes[name] = int(size)
        return name

    # Operations in a row.
    def __getitem__(self, key):
        if key not in self.filled:
            self.filled[key] = getattr(self, "of_" + key)()
        return self.filled[key] if key not in ("c", "n", "keep", "k") else self.filled.pop(key)

    def of(self, name):
        return self.values[self[name]]

    def pick(self, accepts):
        names = [n for n, v in self.values.items() if accepts(v)]
        if not names:
            raise Refused
        used = " ".join(self.lines)
        weights = np.array(
            [(i + 1) * (1 if re.search(rf"\b{n}\b", used) else 4) for i, n in enumerate(names)], float
        )  # late and unused ones: long chains
        return str(self.rng.choice(names, p=weights / weights.sum()))

    def of_a(self):
        return self.pick(lambda v: kind_of(v) == self.row_kind)

    def of_b(self):
        a = self.of("a") if "v" not in self.filled else self.of("v")

        def meets(v):
            if v.dtype != a.dtype and not (v.is_float and a.is_float):
                return False
            try:
                return np.broadcast_shapes(v.shape, a.shape) is not None
            except ValueError:
                return False

        if "v" in self.filled:
            return self.pick(
                lambda v: v.dtype == a.dtype and meets(v) and np.broadcast_shapes(v.shape, a.shape) == a.shape
            )
        try:
            return self.pick(lambda v: v is not a and meets(v))
        except Refused:
            return self["a"]

    def of_v(self):
        """A value that a line changes."""
        self.filled["a"] = self.pick(lambda v: kind_of(v) != "b")
        return self.filled["a"]

    def of_x(self):
        a = self.of("a")
        if not a.ndim:
            raise Refused
        return int(self.rng.integers(-1, a.ndim))

    def of_y(self):
        a = self.of("a")
        return (self["x"] % a.ndim + 1) % a.ndim

    def of_xs(self):
        """One axis, several or all."""
        a = self.of("a")
        if not a.ndim:
            raise Refused
        some = tuple(int(i) for i in sorted(self.rng.choice(a.ndim, self.rng.integers(1, a.ndim + 1), replace=False)))
        return None if self.rng.random() < 0.1 else some[0] if len(some) == 1 else some

    def of_m(self):
        return self.pick(
            lambda v: (
                kind_of(v) == self.row_kind and v.ndim >= 2 and v.shape[-2] <= 130 and v.size * v.shape[-2] < 300_000
            )
        )

    def of_r(self):
        return self.pick(lambda v: kind_of(v) == self.row_kind and v.ndim == 1 and v.size < 130)

    def of_p(self):
        """A function of positive values."""
        return self.pick(lambda v: v.is_float and v.ndim and v.size and (v.v > 4 * v.e).all())

    def of_px(self):
        return int(self.rng.integers(self.of("p").ndim))

    def matrix(self, rows, columns):
        return self.add_input(
            (self.size_named(rows), self.size_named(columns)), self.of("a").dtype, round(float(max(rows, 1) ** -0.5), 3)
        )

    def of_w(self):
        a = self.of("a")
        if not a.ndim or a.shape[-1] > 300 or a.size > 6000:
            raise Refused
        self.columns = int(self.rng.choice([2, 3, 5, 7, 13, 17, 33]))
        return self.matrix(a.shape[-1], self.columns)

    def of_wt(self):
        return self.matrix(self.columns, self.of("a").shape[-1])

    def of_row(self):
        a = self.of("a")
        if not a.ndim:
            raise Refused
        return self.add_input((self.size_named(a.shape[-1]),), a.dtype)

    def of_numbers(self):
        return self.pick(lambda v: v.is_float and v.shape == self.of("a").shape)

    def of_index(self):
        a = self.of("a")
        axis = self["x"]
        found = self.pick(lambda v: kind_of(v) == "i" and v.size < 40)
        if not a.shape[axis]:
            raise Refused
        return f'({found}.cast("int64") % {a.shape[axis]})'

    def of_image(self):
        name = self.pick(lambda v: v.is_float and v.ndim == 4 and v.size < 3000 and 0 < v.shape[1] < 20)
        x, window = self.values[name], int(self.rng.integers(1, 4))
        if min(x.shape[2:]) < window or not x.size:
            raise Refused
        w = self.add_input(
            (
                self.size_named(int(self.rng.integers(1, 6))),
                self.size_named(x.shape[1]),
                self.size_named(window),
                self.size_named(window),
            ),
            x.dtype,
            0.3,
        )
        return (
            f"strata.functional.conv({name}, {w}, stride={self.rng.integers(1, 3)}, padding={self.rng.integers(0, 2)})"
        )

    def of_keep(self):
        return bool(self.rng.integers(2))

    def of_c(self):
        whole = self.row_kind == "i" or "v" in self.filled and kind_of(self.of("v")) == "i"
        return self.of_n() if whole else float(self.rng.choice([0.1, 0.25, 0.5, 0.7, 1.3, 2.0]))

    def of_k(self):
        return "k" if self.rng.random() < 0.7 else float(self.rng.choice(NUMBERS))

    def of_n(self):
        return int(self.rng.integers(1, 5))

    def of_float(self):
        return str(self.rng.choice(list(bounded.FLOATS) if self.rng.random() < 0.3 else [self.float]))

    def of_int(self):
        return str(self.rng.choice(INTEGERS))

    def of_order(self):
        a = self.of("a")
        if a.ndim < 2:
            raise Refused
        return tuple(int(i) for i in self.rng.permutation(a.ndim))

    def of_shape(self):
        """Axes joined, or one divided."""
        shape = list(self.of("a").shape)
        if len(shape) > 1 and self.rng.random() < 0.7:
            i = int(self.rng.integers(len(shape) - 1))
            shape[i : i + 2] = [shape[i] * shape[i + 1]]
            if self.rng.random() < 0.3:
                shape = [int(np.prod(shape))]
        elif shape:
            i = int(self.rng.integers(len(shape)))
            shape[i : i + 1] = [n for d in (2, 3, 5, 1) if shape[i] % d == 0 for n in (d, shape[i] // d)][:2]
        return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})" if shape else "(1)"

    def of_cut(self):
        a = self.of("a")
        if not a.ndim:
            raise Refused
        parts = [":"] * a.ndim
        i = int(self.rng.integers(a.ndim))
        n = a.shape[i]
        parts[i] = str(
            self.rng.choice(
                [
                    "1:",
                    ":-1",
                    "::2",
                    "1::2",
                    "::-1",
                    f"{n // 2}:",
                    f":{n // 2 + 1}",
                    f"{n // 3}:{n - n // 4}",
                    *(["0", "-1", "None, 0"] if n else []),
                ]
            )
        )
        return ", ".join(parts[: i + 1] if self.rng.random() < 0.5 else parts)

    def of_widths(self):
        if not self.of("a").ndim:
            raise Refused
        return [tuple(int(n) for n in self.rng.integers(0, 3, 2)) for _ in self.of("a").shape]

    def of_counts(self):
        if not self.of("a").ndim:
            raise Refused
        return f"({', '.join(str(self.rng.integers(1, 3)) for _ in self.of('a').shape)},)"

    def line(self):
        """Adds a line, or none where it does not fit."""
        part = self.rng.random()
        newest = self.values[self.lines and made(self.lines[-1]) or list(self.values)[-1]]
        self.row_kind = kind_of(newest) if self.rng.random() < 0.8 else str(self.rng.choice(list("fib")))
        rows = (
            {"f": FLOATS, "i": WHOLE, "b": TRUTH}[self.row_kind]
            if part < 0.68
            else VIEWS
            if part < 0.9
            else PLACES
            if part < 0.95 and not self.smooth
            else CASTS
        )
        often = np.array([row[0] if not self.smooth or not CORNERS.search(row[1]) else 0.05 * row[0] for row in rows])
        row = rows[self.rng.choice(len(rows), p=often / often.sum())][1]
        before = dict(self.inputs), dict(self.values), dict(self.sizes)
        self.filled = {}
        try:
            text = re.sub(r"\{(\w+)\}", lambda found: str(self[found[1]]), row)
            if rows is not PLACES:
                text = f"v{len(self.lines)} = {text}"
            self.run(text)
            self.lines.append(text)
        except (Refused, bounded.Ambiguous):
            self.inputs, self.values, self.sizes = before

    def program(self):
        """The last value is a result, those that nothing uses may be, and changed inputs are."""
        named = [n for n in self.values if n.startswith("v")]
        if not named:
            return None
        text = "\n".join(self.lines)
        unused = [n for n in named if len(re.findall(rf"\b{n}\b", text)) == 1]
        results = {
            named[-1],
            *(n for n in unused if self.rng.random() < 0.5),
            *(str(n) for n in self.rng.choice(named, self.rng.integers(0, 3))),
        }
        results |= {NAME.search(line)[0] for line in self.lines if not made(line) and ".realize" not in line}
        number = float(self.rng.choice(NUMBERS))
        return Program(
            dict(self.sizes),
            dict(self.inputs),
            tuple(self.lines),
            tuple(n for n in self.values if n in results),
            seed=self.seed,
            number=number,
        )

    def run(self, text):
        scope = {**self.values, "strata": REFERENCE, "k": 1.5}
        name = made(text) or NAME.search(text)[0]
        if not made(text):
            old = self.values[name]
            scope[name] = bounded.Bounded(old.v.copy(), old.dtype, old.e)
        with np.errstate(all="ignore"):
            exec(text, scope)
        value = scope[name]
        if value.size > LIMIT or value.ndim > 6 or not fit(value):
            raise Refused
        self.values[name] = value


def kind_of(v):
    return "f" if v.is_float else "b" if v.dtype == "bool" else "i"


def drawn_program(seed):
    """One that has a reference."""
    d = Draw(seed)
    wanted = int(d.rng.integers(3, 13))
    for _ in range(wanted * 3):
        if len(d.lines) < wanted:
            d.line()
    program = d.program()
    program = program and (d.smooth and with_gradient(program, d) or program.used())
    return program if program and program.usual[1] is not None else drawn_program(seed + 10**9)


def with_gradient(program, d):
    """The derivative by the inputs of floats; None where it has none, or rounding decides."""
    results = tuple(r for r in program.results if d.values[r].is_float and d.values[r].size)
    by = tuple(n for n, x in program.inputs.items() if x.dtype in bounded.UNIT)
    changed = [line for line in program.lines if not made(line)]
    if not results or not by or changed:
        return None
    out = Program(program.sizes, program.inputs, program.lines, results, by, program.seed, program.number).used()
    return out if out.usual[1] is not None else None
