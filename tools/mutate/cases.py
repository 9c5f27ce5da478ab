"""Known-good kernels with arguments: the built-in ones of kernels.hip, kernels.s and tensor expressions, or those of
files.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import strata
from strata import Tensor
from strata.cli.lint import image
from strata.cli.run import argument, sizes

HERE = Path(__file__).parent
BUILT_IN = re.compile(r"//@ ([\d,]+) \| ([\d,]+) \| (.+)\n(?:extern \"C\" __global__ void (\w+)|(\w+):)")
# Compiled tensor programs: one kernel each, whose parameters are the result and the inputs.
EXPRESSIONS = {
    "sum of rows": (lambda a: a.sum(1), (16, 96)),
    "softmax of rows": (lambda a: a.softmax(1), (4, 64)),
    "matrix product": (lambda a, b: a @ b, (32, 32), (32, 32)),
    "transposed": (lambda a: a.T.contiguous() + 1, (32, 32)),
    "outer product": (lambda a, b: a.reshape(32, 1) * b.reshape(1, 32), (32,), (32,)),
    "square root and exponential": (lambda a: (a * a).sqrt() + a.exp(), (128,)),
    "pooled": (lambda a: a.reshape(16, 8, 2).max(2), (16, 16)),
    "convolved": (lambda a, b: a[:-3] * b[0] + a[1:-2] * b[1] + a[2:-1] * b[2] + a[3:] * b[3], (67,), (4,)),
}


@dataclass
class Case:
    name: str
    image: bytes
    kernel: str
    grid: tuple
    block: tuple
    specs: tuple  # one a parameter, as --arg takes them
    lds: int = 0

    def arrays(self):
        return [n for n, spec in enumerate(self.specs) if "[" in spec or spec.endswith(".npy")]


def values(case, cut=-1):
    """New arguments for a launch; that of number `cut` is one element shorter."""
    out = []
    for n, spec in enumerate(case.specs):
        value = argument(spec)
        out.append(Tensor(value.numpy().ravel()[:-1]) if n == cut else value)
    return out


def numbers(text):
    return tuple(int(n) for n in text.split(","))


def kernels_in(data):
    return {symbol.decode() for symbol in re.findall(rb"(\w+)\.kd\0", data)}


def marked(text):
    """(kernel, grid, block, specs) of each kernel under a line //@ grid | block | arguments."""
    for grid, block, specs, function, label in BUILT_IN.findall(text):
        yield function or label, numbers(grid), numbers(block), tuple(specs.split())


def hip_cases(arch, level):
    text = (HERE / "kernels.hip").read_text()
    data = image(HERE / "kernels.hip", [level], arch)
    there = kernels_in(data)
    for name, grid, block, specs in marked(text):
        if name in there:
            yield Case(f"{name} {level}", data, name, grid, block, specs)


def expression_cases(arch):
    for name, (function, *shapes) in EXPRESSIONS.items():
        inputs = [Tensor(np.zeros(shape, np.float32)).realize() for shape in shapes]
        result = function(*inputs)
        specs = (f"f32[{result.size}]", *(f"f32[{np.prod(shape)}]=random" for shape in shapes))
        for target in ("hip", "asm"):
            kernels = strata.compile(result, arch, target=target).kernels
            if len(kernels) == 1:
                k = kernels[0]
                yield Case(f"{name}, {target}", k.code_object, k.name, tuple(k.grid), tuple(k.block), specs)


def assembly_cases(arch):
    file = HERE / f"kernels.{arch}.s"
    for part in file.read_text().split("//@")[1:] if file.is_file() else ():
        ((name, grid, block, specs),) = marked("//@" + part)
        a = strata.asm.Assembler(arch, name=name, block=block, grid=grid)
        for n, _ in enumerate(specs):
            a.argument(f"x{n}")
        if "ds_" in part:
            a.lds(512)
        a.emit_text(part.partition(":\n")[2])
        yield Case(f"{name}, assembly", a.finish(), name, grid, block, specs)


def built_in(arch):
    yield from hip_cases(arch, "-O2")
    yield from expression_cases(arch)
    yield from assembly_cases(arch)


def of_file(args, file, arch):
    """The kernel of a file with the command line's arguments, or all of its kernels for the linter alone."""
    data = image(file, args.option, arch)
    names = [args.kernel] if args.kernel else sorted(kernels_in(data))
    if not names:
        raise strata.UsageError(f"{file} has no kernels")
    if args.arg and len(names) > 1:
        raise strata.UsageError(f"{file} has {len(names)} kernels, and --arg is for one: --kernel {' or '.join(names)}")
    for name in names:
        yield Case(
            f"{Path(file).name}: {name}", data, name, sizes(args.grid), sizes(args.block), tuple(args.arg), args.lds
        )
