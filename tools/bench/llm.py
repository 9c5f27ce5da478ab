"""strata bench llm: kernels of language models beside their aims, by the timing model.

A share is the limit over the modelled time. The limit is the time of the least bytes or of the operations, whichever
is longer. The launches of as many kernels as the row may take are added."""

import math

from .llm_rows import ROWS
from .programs import bar, figures, modelled, rows

ARCHS = ("gfx1100", "gfx942", "gfx1201")


def beside_aims(strata, card, row, dtype, sizes):
    """The figures of a row."""
    of = modelled(strata, card, row, dtype, sizes)
    launches = card["launch_us"] + (row.kernels - 1) * card["next_launch_us"]
    out = {"us": round(of["ms"] * 1e3, 2), "kernels": of["kernels"], "allowed": row.kernels}
    if row.aim_us is not None:
        return out | {"aim_us": row.aim_us, "limited_by": of["limited_by"]}
    return out | {"share": round((of["limit_ms"] + launches * 1e-3) / of["ms"], 3), "limited_by": of["limited_by"]}


def reached(row):
    """Whether a row is at its aim, with no more kernels than it may take."""
    if "failed" in row or row["kernels"] > row["allowed"]:
        return False
    return row["us"] <= row["aim_us"] if "aim_us" in row else row["share"] >= row.get("aim", math.inf)


def bench_llm(quick, archs=(), only=()):
    """quick: the first row of each kind. archs: gfx1100, gfx942 and gfx1201 if empty. only: texts that names
    contain."""
    import strata

    chosen = list(rows(only, programs=ROWS))
    if not chosen:
        known = ", ".join(dict.fromkeys(row.name for row in ROWS))
        raise strata.UsageError(f"no row's name contains {' or '.join(map(repr, only))}; known: {known}")
    if quick:
        chosen = list({row.name: of for of in reversed(chosen) for row in [of[1]]}.values())[::-1]
    archs = archs or ARCHS
    show, out = bar(len(chosen) * len(archs)), {}
    for arch in archs:
        of = figures(strata, arch, chosen, show, beside_aims)
        for name, row, *_ in chosen:
            if row.aims and arch in ARCHS and "failed" not in of[name]:
                of[name]["aim"] = row.aims[ARCHS.index(arch)]
        at_aim = f"{sum(map(reached, of.values()))} of {len(of)}"
        out[arch] = {"card": strata._strata._card(arch)["name"], "at_aim": at_aim, "rows": of}
    return out


def cell(row):
    """A row's figures for people."""
    if "failed" in row:
        return row["failed"].partition("\n")[0][:60], "-", "-", "-"
    share = f"{row['share']:.3f}" if "share" in row else f"{row['us']:.1f} us"
    aim = f"{row['aim']:.2f}" if "aim" in row else f"{row['aim_us']:.0f} us" if "aim_us" in row else "-"
    return share, aim, f"{row['kernels']} of {row['allowed']}", row["limited_by"]


def table(result):
    """The result of bench_llm in Markdown: in a cell what each arch has, in their order."""
    every = list(result.values())
    lines = [
        ["row (" + "; ".join(of["card"] for of in every) + ")", "share of the limit", "aim", "kernels", "limited by"]
    ]
    for name in every[0]["rows"]:
        cells = zip(*(cell(of["rows"][name]) for of in every), strict=True)
        lines.append([name, *("; ".join(of) for of in cells)])
    lines.append(["at their aims", "; ".join(of["at_aim"] for of in every), "", "", ""])
    lines.insert(1, ["---", "--:", "--:", "--:", "---"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def document(result):
    """The table of docs/benchmarks.md."""
    from .pages import of_cards

    return of_cards(table(result))
