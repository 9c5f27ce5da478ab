"""What a row of drop_in.tsv says, and its kernel's launch.

project, commit, path, kernel (a symbol, or as C++ names it); archs, if the table has it: those that the kernel is written for.
grid, block, lds: numbers, or for a wave WAVE. options: of the compiler; ROOT is the project's folder, {OWNER/NAME@COMMIT}
another project's, +NAME the options that options.tsv beside the table has for that name, PYTHON finds Python's and pybind11's
headers.
arguments, with a blank between them:
  f32[64]=FILL       a tensor, filled with a number, arange, random, or what a NumPy expression without blanks gives
  3 i64:3 bytes:00   what strata run takes; none is no memory
  (A;B;...)          a struct of these, laid out as C does; a tensor in it is its address
  NAME<-A            not an argument: sets the module's variable
In expressions a0, a1, ... are the values as given, variables and the tensors of structs among them, np is NumPy, rng (in FILL)
its random numbers, and what references.py defines has its name.
expect: checks with ` ; ` between them. `aN = EXPRESSION` compares the first elements of a tensor, or of `aN[SLICE]`, with all
of the expression's; `aN ~TOLERANCE = EXPRESSION` within another tolerance than 2e-5, relative and absolute, of integers
absolute; `printed = EXPRESSION` the kernel's output. None: that it ran is all that is known.
"""

import csv
import json
import re
import struct
import sys
import sysconfig
from pathlib import Path

import numpy as np

OTHER = re.compile(r"\{([\w.-]+/[\w.-]+)@([0-9a-f]{40})\}")
TENSOR = re.compile(r"(?P<type>\w+)\[(?P<shape>[\d,]+)\](=(?P<fill>.+))?$")
NUMBERS = {"i8": "b", "u8": "B", "bool": "?", "i16": "h", "u16": "H", "f16": "e", "i32": "i", "u32": "I", "f32": "f", "i64": "q", "u64": "Q", "f64": "d"}


def read_table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def expanded(row, table):
    """The row with the options of options.tsv, which lies beside its table, in their places."""
    beside = Path(table).with_name("options.tsv")
    shared = {r["name"]: r["options"] for r in read_table(beside)} if beside.exists() else {}
    words = row["options"].split()
    while any(word.startswith("+") for word in words):
        words = [w for word in words for w in (shared[word[1:]].split() if word.startswith("+") else [word])]
    return row | {"options": " ".join(words)}


def projects_of(row):
    """(project, commit) of all that an expanded row reads."""
    return [(row["project"], row["commit"]), *OTHER.findall(row["options"])]


def folder_of(folder, project, commit):
    return f"{folder}/{project.replace('/', '+')}@{commit[:12]}"


def split(text, by):
    """At `by` outside of brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        parts += [""] if c == by and depth == 0 else []
        parts[-1] += c if c != by or depth else ""
    return [part for part in parts if part]


class Bits:
    """A bfloat16 tensor with an address, which NumPy gives of types of its own alone."""

    def __init__(self, tensor):
        import strata

        self.tensor = strata.Tensor((tensor.cast("float32").numpy().view("uint32") >> 16).astype("uint16")).realize()

    def numpy(self):
        return (self.tensor.numpy().astype("uint32") << 16).view("float32")


class Values:
    """What a row's arguments are, and what they hold before the launch."""

    def __init__(self):
        import references

        self.names = {k: v for k, v in vars(references).items() if not k.startswith("_")} | {"np": np}
        self.given, self.values = {}, []

    def keep(self, value):
        self.given[f"a{len(self.values)}"] = self.as_numpy(value)
        self.values.append(value)
        return value

    @staticmethod
    def as_numpy(value):
        import strata

        if isinstance(value, Bits):
            return value.numpy()
        if not isinstance(value, strata.Tensor):
            return value
        return (value if value.dtype.numpy_name else value.cast("float32")).numpy().copy()

    def evaluate(self, expression, **more):
        return eval(expression, {**self.names, **self.given, **more})

    def tensor(self, kind, shape, fill):
        import strata
        from strata.run import SHORT

        shape, rng = tuple(int(n) for n in shape.split(",")), np.random.default_rng(len(self.values))
        count = int(np.prod(shape))
        if fill == "random":
            values = rng.standard_normal(count) if "f" in kind else rng.integers(0, 2 if kind == "bool" else 100, count)
        else:
            values = np.arange(count) if fill == "arange" else self.evaluate(fill, rng=rng)
        values = np.broadcast_to(np.asarray(values).ravel() if np.size(values) == count else values, count if np.size(values) == count else shape)
        numpy_name = {"bf16": "float32", "f16": "float16"}.get(kind, SHORT[kind])
        made = strata.Tensor(values.astype(numpy_name).reshape(shape).copy())
        return (made.cast(SHORT[kind]) if kind == "bf16" else made).realize()

    def struct(self, members):
        """Its bytes and its alignment."""
        data, align = b"", 1
        for member in split(members, ";"):
            if member.startswith("("):
                piece, step = self.struct(member[1:-1])
            elif TENSOR.match(member):
                piece, step = struct.pack("Q", self.address(self.one(member))), 8
            elif member == "none":
                piece, step = bytes(8), 8
            elif member.startswith("bytes:"):
                piece, step = bytes.fromhex(member[6:]), 1
            else:
                kind, _, number = member.partition(":")
                piece = struct.pack(NUMBERS[kind], float(number) if "f" in kind else int(number, 0))
                step = len(piece)
            data, align = data + bytes(-len(data) % step) + piece, max(align, step)
        return data + bytes(-len(data) % align), align

    def address(self, tensor):
        """Of the tensor that was kept last."""
        if not tensor.dtype.numpy_name:
            self.values[-1] = Bits(tensor)
            tensor = self.values[-1].tensor
        return np.asarray(tensor).ctypes.data

    def one(self, text):
        from strata.run import argument

        if text.startswith("("):
            return self.struct(text[1:-1])[0]
        if m := TENSOR.match(text):
            return self.keep(self.tensor(m["type"], m["shape"], m["fill"] or "0"))
        return self.keep(argument(text))


def check(text, values, printed):
    """One check of `expect`."""
    head, _, expression = text.partition("=")
    which, _, tolerance = head.strip().partition("~")
    expected = values.evaluate(expression)
    if which == "printed":
        assert printed == expected, f"printed {printed!r}, not {expected!r}"
        return
    place, bracket, slices = which.strip()[1:].partition("[")
    got = values.as_numpy(values.values[int(place)])
    got = np.ravel(eval(f"got[{slices}", {"got": got}) if bracket else got)
    expected = np.ravel(expected)
    assert 0 < expected.size <= got.size, f"{expected.size} values expected of {got.size}"
    limit = float(tolerance or 2e-5)
    relative = 0 if tolerance and got.dtype.kind in "iu" else limit
    np.testing.assert_allclose(got[: expected.size], expected, rtol=relative, atol=limit if tolerance else 1e-5)


def kernel_of(row, folder, wave):
    import strata

    sizes = lambda text: tuple(int(n) for n in text.replace("WAVE", str(wave)).split(","))  # noqa: E731
    root = folder_of(folder, row["project"], row["commit"])
    options = [OTHER.sub(lambda m: folder_of(folder, m[1], m[2]), word.replace("ROOT", root)) for word in row["options"].split()]
    if "PYTHON" in row["options"]:
        import pybind11

        headers = f"-I{sysconfig.get_path('include')} -I{pybind11.get_include()}".split()
        options = [w for word in options for w in (headers if word == "PYTHON" else [word])]
    launch = {"name": row["kernel"], "grid": sizes(row["grid"]), "block": sizes(row["block"]), "lds": int(row["lds"] or 0)}
    path = Path(root) / row["path"]
    if path.suffix in (".s", ".co"):
        return strata.asm_kernel(path.read_text() if path.suffix == ".s" else path.read_bytes(), **launch)
    return strata.hip_kernel(path, options=options, **launch)


def run(row, folder, arch):
    """Launches the row's kernel and compares: "right", or "ran" where it says nothing of values."""
    import strata

    kernel = kernel_of(row, folder, 64 if arch.startswith("gfx9") else 32)
    values, arguments = Values(), []
    for text in row["arguments"].split():
        name, is_variable, value = text.partition("<-")
        if is_variable:
            kernel.globals[name] = values.one(value)
        else:
            arguments.append(values.one(text))
    strata.reset_stats()
    kernel(*arguments)
    checks = [text for text in row["expect"].split(" ; ") if text]
    for text in checks:
        check(text, values, strata.stats().launches[-1].output)
    return "right" if checks else "ran"


def main():
    import strata

    folder, arch, row = sys.argv[1:]
    try:
        with strata.config(device=f"emu:{arch}"):
            outcome = (run(json.loads(row), folder, arch), "")
    except (strata.Error, AssertionError, OSError) as e:
        outcome = ("no", " ".join(str(e).split())[:400])
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
