#!/usr/bin/env python3
"""The compiled form of an expression, without running it: HIP text, schedule, registers, machine code.

Look at the table: one expression, four instruction sets. A code object is a file that hipModuleLoadData takes.
"""

import collections
import re

import strata
from strata import Tensor


def main():
    x = Tensor.empty(64, 1024)
    expression = (x * x).mean(axis=1).rsqrt()

    print(
        f"{'arch':<9} {'kernel':<12} {'grid':>4} {'block':>5} {'vgprs':>5} {'sgprs':>5} {'bytes':>6}  most "
        "frequent instructions"
    )
    for arch in ("gfx1100", "gfx1201", "gfx942", "gfx90a"):
        for k in strata.compile(expression, arch=arch).kernels:
            names = collections.Counter(re.findall(r"^ +[0-9a-f]{6}  (\S+)", k.assembly, re.MULTILINE))
            most = ", ".join(f"{count} {name}" for name, count in names.most_common(3))
            print(
                f"{arch:<9} {k.name:<12} {k.grid[0]:>4} {k.block[0]:>5} {k.vgprs:>5} {k.sgprs:>5} "
                f"{len(k.code_object):>6}  {most}"
            )
            assert k.code_object.startswith(b"\x7fELF") and names and k.scratch == 0

    kernel = strata.compile(expression, arch="gfx1100").kernels[0]
    print(f"\nschedule: {kernel.schedule}\n\n{kernel.source}")
    print("machine code, the first lines:", *kernel.assembly.splitlines()[:12], "...", sep="\n  ")
    assert strata.stats().kernels == 0, "nothing ran"


if __name__ == "__main__":
    main()
