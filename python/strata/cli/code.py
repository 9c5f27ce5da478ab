"""strata asm, disasm and emu coverage: code objects and the instruction tables."""

import sys
from pathlib import Path

from strata import asm, emulator

from .._files import read_regular
from .._strata import _families
from .._written import written


def first_archs() -> list[str]:
    """The first architecture of each of AMD's families."""
    first: dict[str, str] = {}
    for arch, family in _families():
        first.setdefault(family, arch)
    first.pop("nvidia", None)
    return list(first.values())


def read(path, binary=False):
    data = sys.stdin.buffer.read() if path == "-" else read_regular(path)
    if binary:
        return data
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def assemble(args):
    image = asm.assemble(read(args.file), args.arch, args.file)
    target = args.output or (Path(args.file).stem + ".co" if args.file != "-" else "a.co")
    with written(target) as out:
        out.write(image)
    print(f"{target}: {len(image)} bytes")


def disassemble(args):
    print(asm.disassemble(read(args.file, binary=True), args.arch), end="")


def emu_coverage(args):
    for arch in args.arch or first_archs():
        formats = emulator.coverage(arch)
        print(f"{arch}\n  {'format':8s} {'forms':>6s} {'run':>6s} {'graphics':>9s} {'refused':>8s}")
        for f in formats:
            print(f"  {f.format:8s} {f.rows:6d} {f.executed:6d} {f.graphics:9d} {len(f.missing):8d}")
        rows, run, graphics = (sum(getattr(f, what) for f in formats) for what in ("rows", "executed", "graphics"))
        share = f", {100 * run / (rows - graphics):.2f} % of the compute forms" if rows > graphics else ""
        print(f"  {'all':8s} {rows:6d} {run:6d} {graphics:9d} {rows - run - graphics:8d}{share}")
        for f in formats:
            if f.missing:
                print(f"  refused {f.format}: {' '.join(f.missing)}")
