"""strata bench and strata mutate, which a checkout has (tools/) and a wheel has not."""

import argparse
import importlib
import json

import strata


def tool(command, module):
    """A module of tools/. Unsupported where there is no checkout."""
    try:
        return importlib.import_module(f"strata_tools.{module}")
    except ModuleNotFoundError as e:
        if e.name not in ("strata_tools", f"strata_tools.{module}"):
            raise
        raise strata.Unsupported(
            f"'strata {command}' is not part of an installed package: in a checkout of Strata (tools/{command}) "
            f"scripts/setup builds it, "
            f"and .venv/bin/strata {command} runs it"
        ) from None


def classes(text):
    """Those of --classes, as a list."""
    known = tool("mutate", "mutate").CLASSES
    names = text.split(",")
    if any(name not in known for name in names):
        raise argparse.ArgumentTypeError(f"'{text}': expected one or more of {','.join(known)}")
    return names


def mutate(args):
    tool("mutate", "mutate").mutate(args)


def truth(args):
    of = tool("bench", "bench.truth")
    if args.only != ["model"]:
        raise strata.UsageError("--truth FOLDER is of one benchmark: strata bench model --truth FOLDER")
    result = of.bench_truth(args.truth)
    print(of.table(result) if args.table else json.dumps(result, indent=2))


def bench(args):
    of = tool("bench", "bench")
    if args.truth:
        return truth(args)
    if args.write_docs and not args.table:
        raise strata.UsageError("--write-docs goes with --table: strata bench --table model --write-docs")
    if args.table:
        args.only = [n for n in args.only if n in of.TABLES] or ["lowering"]
    if args.write_docs:
        of.write_docs(args.only)
    shapes = {"count": args.cases, "seed": args.seed, "beam": args.beam}
    programs = {"card": args.card, "only": args.only_rows}
    result = of.run_benchmarks(args.only, quick=args.quick, archs=args.arch, shapes=shapes, programs=programs)
    if args.write_docs:
        of.write_docs(args.only, result)
    print("\n\n".join(of.TABLES[n](result[n]) for n in args.only) if args.table else json.dumps(result, indent=2))
