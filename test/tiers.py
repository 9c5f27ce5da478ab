#!/usr/bin/env python3
"""How many tests need what: test/run --tiers.

A test counts once, in the first tier whose words are in its parameters, its function or the head of its module. C++
tests count by the headers that their file includes, a parameterised one as one.
"""

import contextlib
import inspect
import io
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# (tier, what it needs, words of Python tests, words of C++ tests), from the most on.
TIERS = [
    ("torch", "PyTorch", r"\btorch is None|importorskip\(\"torch|^import torch", None),
    (
        "hip",
        "clang-19, ROCm's device libraries, HIP's headers",
        r"HAS_COMPILER|libamdhip64-dev",
        r"hip/.*api|hip_runtime",
    ),
    ("nvrtc", "NVRTC, of NVIDIA's toolkit", r"NVRTC|nvrtc", r"nvrtc"),
    (
        "clang",
        "clang-19, for HIP source",
        r"\bhip_kernel\(|target=\"hip\"|\bCLANG\b|clang|\bHIP\b",
        r"toolchain/|clang",
    ),
    ("llvm", "LLVM's assembler, for text of assembly", r"\bADD_ONE\b|asm_kernel\(|assemble\(|\.s\"", r"asm/llvm/"),
    ("checkout", "git, clang-format and ruff", r"test/guards/|test/recipes/", None),
    (
        "emulator",
        "the emulated GPU",
        r"\bTensor\b|emu:|\bstrata\.(compile|config|kernel)\b|uop\.",
        r"asm/emu|runtime/|ops/",
    ),
    ("numpy", "nothing but Python and NumPy; of C++ tests nothing", r"", r""),
]


def collected():
    """The Python tests with their parameters, as pytest finds them, and modules of which it finds none."""
    import pytest

    found, failed = [], []

    class Finds:
        def pytest_collection_finish(self, session):
            found.extend(session.items)

        def pytest_collectreport(self, report):
            if report.failed:
                failed.append(report.nodeid)

    os.chdir(ROOT)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        options = ["--collect-only", "-q", "--continue-on-collection-errors", "--ignore=test/triton", "test"]
        pytest.main(options, plugins=[Finds()])
    if not found:
        sys.exit("tiers: pytest collects no test: .venv/bin/python -m pytest --collect-only says why")
    return found, failed


def head(module):
    """The text of a module before its first test, without its docstring."""
    text = inspect.getsource(module)
    first = re.search(r"^(@|def |class )", text, re.M)
    return text[: first.start() if first else None].replace(module.__doc__ or "", "")


def needs(item):
    """The words by which a test is placed."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    if given.get("target") == "hip":
        return 'target="hip"'
    function = inspect.getsource(item.function) if getattr(item, "function", None) else ""
    marks = [text for text in head(item.module).splitlines() if "pytestmark" in text or "importorskip" in text]
    return "\n".join(
        [str(item.path.relative_to(ROOT)), *marks, function, "Tensor" if "Tensor" in head(item.module) else ""]
    )


def tier_of(words, column):
    return next(tier[0] for tier in TIERS if tier[column] is not None and re.search(tier[column], words, re.M))


def count():
    """(Python tests, C++ tests) of each tier, and modules without tests."""
    counts = {tier[0]: [0, 0] for tier in TIERS}
    items, failed = collected()
    for item in items:
        counts[tier_of(needs(item), 2)][0] += 1
    for path in ROOT.glob("test/**/*_test.cpp"):
        text = path.read_text()
        counts[tier_of("\n".join(re.findall(r"#include .*", text)), 3)][1] += len(
            re.findall(r"^TEST(?:_F|_P)?\(", text, re.M)
        )
    return counts, failed


def main():
    counts, failed = count()
    print(f"{'Python':>8} {'C++':>6}  needs")
    for name, meaning, *_ in TIERS:
        print(f"{counts[name][0]:8} {counts[name][1]:6}  {name}: {meaning}")
    print(f"{sum(c[0] for c in counts.values()):8} {sum(c[1] for c in counts.values()):6}  in all; none needs a card")
    for module in failed:
        print(f"tiers: {module} cannot be imported: build everything first (scripts/setup)", file=sys.stderr)


if __name__ == "__main__":
    main()
