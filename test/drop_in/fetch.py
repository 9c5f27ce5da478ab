#!/usr/bin/env python3
"""Kernels of other projects through the public interface, as they are: fetch.py FROM [--arch gfx942 ...] [--only WORD].

FROM is where their repositories are: an URL or a folder in which OWNER/NAME or OWNER+NAME is a git repository (a bare one too,
or its folder `repo`). Nothing of theirs is kept here: a row of drop_in.tsv names repository, commit, path, kernel and what it is
launched with. Each file is checked out beside its neighbours into a temporary folder, compiled, launched, and where the row
says what it computes, compared. Prints a table; the exit status is the number of rows that did not run as they are.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import strata
from strata.run import argument

TABLE = Path(__file__).with_name("drop_in.tsv")


def git(*arguments, **more):
    return subprocess.run(["git", *map(str, arguments)], check=True, capture_output=True, **more).stdout


def repository(source, project, folder):
    """A git directory that has the project."""
    for name in (project, project.replace("/", "+")):
        for place in (Path(source) / name, Path(source) / name / "repo", Path(source) / f"{name}.git"):
            if (place / "HEAD").exists() or (place / ".git").exists():
                return place
    if "://" not in source and not Path(source).is_dir():
        raise FileNotFoundError(f"{source} is neither an URL nor a folder")
    target = folder / project.replace("/", "+")
    if not target.exists():
        git("clone", "--quiet", "--bare", f"{source}/{project}", target)
    return target


def checked_out(row, source, folder, done):
    """The folder with the project's files of that commit."""
    key = (row["project"], row["commit"])
    if key not in done:
        place = folder / f"{row['project'].replace('/', '+')}@{row['commit'][:12]}"
        place.mkdir()
        archive = git("-C", repository(source, row["project"], folder), "archive", row["commit"])
        subprocess.run(["tar", "-x", "-C", place], input=archive, check=True)
        done[key] = place
    return done[key]


def run(row, root):
    """Launches the row's kernel; what its tensors hold is compared with `expect`, an expression over a0, a1, ... as given."""
    sizes = lambda text: tuple(int(n) for n in text.split(","))  # noqa: E731
    options = [word.replace("ROOT", str(root)) for word in row["options"].split()]
    kernel = strata.hip_kernel(root / row["path"], name=row["kernel"], options=options, grid=sizes(row["grid"]), block=sizes(row["block"]), lds=int(row["lds"] or 0))
    values = [argument(spec) for spec in row["arguments"].split()]
    given = {f"a{i}": v.numpy().copy() if isinstance(v, strata.Tensor) else v for i, v in enumerate(values)}
    kernel(*values)
    if not row["expect"]:
        return "ran"
    which, _, expression = row["expect"].partition("=")
    expected = eval(expression, {"np": np}, given)
    got = values[int(which.strip()[1:])].numpy().ravel()
    np.testing.assert_allclose(got[: np.size(expected)], np.ravel(expected), rtol=2e-5, atol=1e-5)
    return "right"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("source", metavar="FROM")
    p.add_argument("--arch", action="append", default=[], help="gfx1100, gfx1201, gfx942, gfx90a (default: gfx1100)")
    p.add_argument("--only", default="", help="rows that have this word")
    p.add_argument("--table", default=TABLE, help="instead of drop_in.tsv")
    args = p.parse_args()
    with open(args.table, newline="") as file:
        rows = [r for r in csv.DictReader(file, delimiter="\t") if args.only in "\t".join(r.values())]
    failed, done = 0, {}
    print(f"{'project':24s} {'path':52s} {'kernel':34s} {'arch':8s} as it is")
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            for arch in args.arch or ["gfx1100"]:
                try:
                    with strata.config(device=f"emu:{arch}"):
                        outcome = "yes, " + run(row, checked_out(row, args.source, Path(folder), done))
                except (strata.Error, AssertionError, subprocess.CalledProcessError, OSError) as e:
                    outcome, failed = "no: " + " ".join(str(e).split())[:300], failed + 1
                print(f"{row['project']:24s} {row['path']:52s} {row['kernel']:34s} {arch:8s} {outcome}", flush=True)
    print(f"{len(rows) * len(args.arch or ['gfx1100']) - failed} as they are, {failed} not")
    sys.exit(min(failed, 255))


if __name__ == "__main__":
    main()
