"""Modelled shares of the limit of small programs, pinned in program_shares.txt: what was won is not lost unseen.

    python -P -m strata_tools.bench.program_shares --write    rewrites the table with what the programs reach now

A line is: arch, share, name of a row of `strata bench programs`. To pin another row, add its line with any share, then
rewrite the table. Of rows with a tanh the time depends on values, which sampled launches
leave unwritten: pin others."""

import sys
from pathlib import Path

from . import programs

TABLE = Path(__file__).resolve().with_name("program_shares.txt")
TOLERANCE = 0.02


def pinned():
    """{(arch, name of the row): share}"""
    lines = [line.split(maxsplit=2) for line in TABLE.read_text().splitlines() if line]
    return {(arch, name): float(share) for arch, share, name in lines}


def reached(strata, arch, name):
    row = next((row for found, *row in programs.rows() if found == name), None)
    if row is None:
        raise strata.UsageError(
            f"{TABLE.name} pins '{name}', which is no row of 'strata bench programs': drop its lines"
        )
    with strata.config(device=f"emu:{arch}", target="asm", garbage_mb=1, emu_pool_mb=0):
        return programs.modelled(strata, strata._strata._card(arch), *row)["share"]


def moved(strata, arch, name, share):
    """The message about a row whose share is not the pinned one, or ''."""
    now = reached(strata, arch, name)
    if abs(now / share - 1) <= TOLERANCE:
        return ""
    return (
        f"{name} on {arch} has {now} of its limit, pinned {share} ({now / share - 1:+.1%}). If that is meant: "
        f"python -P -m strata_tools.bench.program_shares --write"
    )


def write(strata):
    lines = [f"{arch:8s} {reached(strata, arch, name):<7} {name}\n" for arch, name in pinned()]
    TABLE.write_text("".join(lines))


if __name__ == "__main__":
    import strata

    if sys.argv[1:] == ["--write"]:
        write(strata)
    else:
        print("".join(line + "\n" for at in pinned().items() if (line := moved(strata, *at[0], at[1]))), end="")
