"""strata targets: the architectures that Strata makes code for."""

import json

import strata

from .. import _strata


def described(name, family):
    facts = strata.arch(name)
    return {
        "arch": name,
        "family": family,
        "wave": facts.wave_size,
        "lds": facts.lds_bytes,
        "registers": facts.registers,
        "threads": facts.max_block,
        "matrix": [
            {"name": atom.name, "shape": list(atom.shape_mnk), "operand": atom.dtype.name, "sum": atom.acc.name}
            for atom in facts.mma_atoms
        ],
    }


def targets(args):
    rows = [described(*pair) for pair in _strata._families()]
    if args.json:
        return print(json.dumps(rows, indent=2))
    print(f"{'arch':8s} {'family':7s} {'wave':>4s} {'LDS':>7s} {'registers':>9s} {'threads':>7s}  matrix products")
    for row in rows:
        shapes = sorted({"x".join(map(str, m["shape"])) + f" {m['operand']}" for m in row["matrix"]})
        print(
            f"{row['arch']:8s} {row['family']:7s} {row['wave']:4d} {row['lds']:7d} {row['registers'] or '-'!s:>9s} "
            f"{row['threads']:7d}  {', '.join(shapes) or 'none'}"
        )
