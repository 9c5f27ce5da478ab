"""The public conformance suite of the Python array API over `strata` itself, against a frozen list of what passes.

    python conformance.py CHECKOUT [--examples N] [--write] [--only TEST...]

CHECKOUT is one of github.com/data-apis/array-api-tests with its submodule array-api; its requirements.txt must be
installed. passes.txt has the tests that pass: one of them that does not is an error. --write rewrites it from this
run. exceptions.txt has those that may fail, each with its reason. The examples are the same in each run.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import strata

HERE = Path(__file__).parent
PASSES, EXCEPTIONS = HERE / "passes.txt", HERE / "exceptions.txt"


def copied(checkout, folder):
    """The suite where it can be changed. It assumes complex types, and that arguments are drawn fast, which does not
    hold on a busy machine.
    """
    if not (checkout / "array-api" / "spec").is_dir():
        sys.exit(
            f"{checkout}: no array-api/spec; a checkout with its submodule is needed (git clone --recurse-submodules)"
        )
    suite = shutil.copytree(checkout, folder / "suite", ignore=shutil.ignore_patterns(".git", "_ghpages"))
    helpers = suite / "array_api_tests" / "dtype_helpers.py"
    text = helpers.read_text()
    helpers.write_text(
        text.replace("for dt in complex_dtypes], key=", "for dt in complex_dtypes] or [(xp.float64, 0)], key=")
    )
    conftest = suite / "conftest.py"
    conftest.write_text(
        conftest.read_text().replace("deadline=deadline,", 'deadline=deadline, suppress_health_check=["too_slow"],', 1)
    )
    return suite


def environment():
    missing = [name for name in ("complex64", "complex128") if not hasattr(strata, name)]
    package = str(Path(strata.__file__).parents[1])
    return {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": "strata",
        "ARRAY_API_TESTS_SKIP_DTYPES": ",".join(missing),
        "PYTHONPATH": package,
    }


def run(suite, examples, more):
    """test -> 'passed', 'failed' or 'skipped'."""
    report = suite / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", f"--junitxml={report}",
        f"--max-examples={examples}",
        "--hypothesis-disable-deadline", "--hypothesis-derandomize", *(more or ["array_api_tests"])]  # fmt: skip
    log = suite.parent / "log.txt"
    with open(log, "w") as file:
        done = subprocess.run(command, cwd=suite, env=environment(), stdout=file, stderr=subprocess.STDOUT)
    if not report.exists():
        sys.exit(f"the suite did not run (exit status {done.returncode}):\n{log.read_text()[-4000:]}")
    outcome = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname').removeprefix('array_api_tests.')}::{case.get('name')}"
        kinds = {child.tag for child in case}
        outcome[name] = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
    return outcome, log.read_text()


def rows(file):
    return {
        line.partition("  #")[0].strip() for line in file.read_text().splitlines() if line and not line.startswith("#")
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--examples", type=int, default=30, help="examples a test, 30 by default")
    parser.add_argument("--write", action="store_true", help="freeze what passes in this run")
    parser.add_argument("--log", type=Path, help="keep what pytest said")
    parser.add_argument("--only", nargs="+", default=[], help="files and tests of the suite, all by default")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome, log = run(copied(given.checkout.resolve(), Path(folder)), given.examples, given.only)
    if given.log:
        given.log.write_text(log)
    print(", ".join(f"{n} {kind}" for kind, n in sorted(Counter(outcome.values()).items())), f"of {len(outcome)}")
    failed = {test for test, kind in outcome.items() if kind == "failed"}
    if given.write:
        PASSES.write_text("".join(f"{test}\n" for test, kind in sorted(outcome.items()) if kind == "passed"))
    lost = sorted(rows(PASSES) & failed) if PASSES.exists() else []
    new = sorted(failed - rows(EXCEPTIONS) - set(lost)) if EXCEPTIONS.exists() else sorted(failed)
    for title, tests in (("passed before, fail now", lost), ("fail, and are not among the exceptions", new)):
        if tests:
            print(f"{title}:", *tests, sep="\n  ")
    errors = Counter(re.findall(r"^E +(?:\w+\.)*(\w+(?:Error|Fault|Unsupported)\b.{0,60})", log, re.MULTILINE))
    if lost or new:
        print("errors:", *(f"{n} {text}" for text, n in errors.most_common(20)), sep="\n  ")
    sys.exit(bool(lost))


if __name__ == "__main__":
    main()
