#!/usr/bin/env python3
"""Kernels of other projects through the public interface, as they are: fetch.py FROM [--arch gfx942 ...] [--only WORD].

FROM is where their repositories are: an URL or a folder in which OWNER/NAME or OWNER+NAME is a git repository (a bare one too,
or its folder `repo`). Nothing of theirs is kept here: a row of drop_in.tsv names repository, commit, path, kernel and what it is
launched with (rows.py says how). Each file is checked out with its project into a folder that is removed at the end, compiled,
launched, each in a process of its own, and where the row says what it computes, compared. Prints a line for each, then for each
project and arch how many are right, ran, and neither; the exit status is the number of rows that did not run as they are.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rows import expanded, projects_of, read_table

HERE = Path(__file__).parent
ARCHS = ("gfx1100", "gfx1201", "gfx942", "gfx90a")
SECONDS = 600  # of one row


def git(place, *arguments, **more):
    return subprocess.run(["git", "-C", str(place), *map(str, arguments)], check=True, capture_output=True, **more).stdout


def repository(source, project, folder):
    """A git directory that has the project."""
    for name in (project, project.replace("/", "+")):
        for place in (Path(source) / name, Path(source) / name / "repo", Path(source) / f"{name}.git"):
            if (place / "HEAD").exists() or (place / ".git").exists():
                return place
    if "://" not in source and not Path(source).is_dir():
        raise FileNotFoundError(f"{source} is neither an URL nor a folder")
    target = folder / (project.replace("/", "+") + ".git")
    if not target.exists():
        git(folder, "clone", "--quiet", "--bare", f"{source}/{project}", target)
    return target


def check_out(source, project, commit, folder):
    """The project's files of that commit, but for those that a mirror lacks."""
    place = folder / f"{project.replace('/', '+')}@{commit[:12]}"
    if place.exists():
        return
    origin = repository(source, project, folder)
    entries = [line.split(None, 3) for line in git(origin, "ls-tree", "-r", "-z", commit).decode().split("\0") if line]
    entries = [e for e in entries if e[1] == "blob"]
    data, at = git(origin, "cat-file", "--batch", input="\n".join(e[2] for e in entries).encode()), 0
    part = place.with_name(place.name + ".part")
    for mode, _, _, path in entries:
        head, at = data[at : data.index(b"\n", at)].split(), data.index(b"\n", at) + 1
        if head[-1] == b"missing":
            continue
        text, at = data[at : at + int(head[2])], at + int(head[2]) + 1
        target = part / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if mode == "120000":
            target.symlink_to(os.fsdecode(text))
        else:
            target.write_bytes(text)
    part.rename(place)


def outcome_of(row, arch, folder):
    """What came of a row: ("right" | "ran" | "no", why not)."""
    if row.get("archs") and arch not in row["archs"].split(","):
        return "-", ""
    command = [sys.executable, HERE / "rows.py", folder, arch, json.dumps(row)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "no", f"no end after {SECONDS} s"
    if done.returncode == 0:
        return tuple(json.loads(done.stdout.splitlines()[-1]))
    return "no", f"exit status {done.returncode}: " + " ".join(done.stderr.split())[-300:]


def print_summary(rows, archs, outcomes):
    count, projects = Counter(), list(dict.fromkeys(row["project"] for row in rows))
    for (i, arch), (outcome, _) in outcomes.items():
        count[rows[i]["project"], arch, outcome] += 1
        count["all", arch, outcome] += 1
    print(f"\n{'project':28s} {'kernels':>7s}  " + "".join(f"{arch:>20s}" for arch in archs) + "   (right / ran / not)")
    for project in [*projects, "all"]:
        cells = [" / ".join(str(count[project, arch, o]) for o in ("right", "ran", "no")) for arch in archs]
        print(f"{project:28s} {sum(project in (row['project'], 'all') for row in rows):7d}  " + "".join(f"{c:>20s}" for c in cells))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("source", metavar="FROM")
    p.add_argument("--arch", action="append", default=[], help=f"{', '.join(ARCHS)}, or all (default: gfx1100)")
    p.add_argument("--only", default="", help="rows that have this word")
    p.add_argument("--table", default=HERE / "drop_in.tsv", help="instead of drop_in.tsv; options.tsv lies beside it")
    p.add_argument("--jobs", type=int, default=1, help="rows at a time")
    p.add_argument("--checkouts", help="a folder in which checkouts are kept for the next run")
    args = p.parse_args()
    archs = ARCHS if "all" in args.arch else args.arch or ["gfx1100"]
    rows = [expanded(row, args.table) for row in read_table(args.table) if args.only in "\t".join(row.values())]
    outcomes = {}
    with tempfile.TemporaryDirectory() if not args.checkouts else contextlib.nullcontext(args.checkouts) as folder:
        folder = Path(folder).absolute()
        folder.mkdir(exist_ok=True)
        for project, commit in dict.fromkeys(pair for row in rows for pair in projects_of(row)):
            try:
                check_out(args.source, project, commit, folder)
            except (subprocess.CalledProcessError, OSError) as e:
                print(f"{project}: no {commit}: {getattr(e, 'stderr', b'') or e}", file=sys.stderr)
        print(f"{'project':24s} {'path':52s} {'kernel':34s} {'arch':8s} as it is", flush=True)
        pairs = [(i, arch) for i in range(len(rows)) for arch in archs]
        with ThreadPoolExecutor(args.jobs) as pool:
            for (i, arch), outcome in zip(pairs, pool.map(lambda pair: outcome_of(rows[pair[0]], pair[1], folder), pairs)):
                outcomes[i, arch], row = outcome, rows[i]
                words = {"-": "not for this arch", "no": f"no: {outcome[1]}"}.get(outcome[0], f"yes, {outcome[0]}")
                print(f"{row['project']:24s} {row['path']:52s} {row['kernel']:34s} {arch:8s} {words}", flush=True)
    print_summary(rows, archs, outcomes)
    failed = sum(o == "no" for o, _ in outcomes.values())
    print(f"{sum(o in ('right', 'ran') for o, _ in outcomes.values())} as they are, {failed} not")
    sys.exit(min(failed, 255))


if __name__ == "__main__":
    main()
