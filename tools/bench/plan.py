"""strata bench plan: host time of a plan's run, bound and through Python, and of select, cold and again."""

import statistics
import subprocess
import sys
import time

ASM = {"target": "asm"}
# Cold selection of every row needs operands that fit it: these have one shape.
SHAPE = (64, 64)


def microseconds(call, repeat):
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - start) / repeat * 1e6


def selected(strata, row):
    """Milliseconds of the first selection; None: the row wants other operands than some of SHAPE."""
    operands = {name: strata.Spec(SHAPE) for name in row.inputs if not name.endswith("?")}
    start = time.perf_counter()
    try:
        strata.plan.select(row.name, prefer=ASM, device="null", **operands)
    except strata.Error:
        return None
    return (time.perf_counter() - start) * 1e3


def cold():
    """(name, ms) of each row that takes float32 of one shape, in a process without a cache; prints them."""
    import strata

    strata._strata._add_null_device()
    with strata.config(no_cache=True):
        strata.plan.select("neg", x=strata.Spec((2,)), prefer=ASM, device="null")
        for row in strata.plan.operations():
            if row.served and "float32" in row.dtypes and (ms := selected(strata, row)) is not None:
                print(row.name, ms)


def bench_plan(quick):
    import strata

    strata._strata._add_null_device()
    repeat = 2000 if quick else 50000
    spec = strata.Spec(SHAPE)
    p = strata.plan.select("mul", a=spec, b=spec, prefer=ASM, device="null")
    run_us, bound_us = (min(times) for times in zip(*(strata._strata._time_plan(p._core, repeat) for _ in range(5))))
    a, b, y = (strata.Tensor.empty(*SHAPE, device="null") for _ in range(3))
    python_us = min(microseconds(lambda: p.run(a=a, b=b, y=y), repeat // 10) for _ in range(5))
    again_us = min(
        microseconds(lambda: strata.plan.select("mul", a=spec, b=spec, prefer=ASM, device="null"), repeat // 10)
        for _ in range(5)
    )
    code = "from strata_tools.bench.plan import cold; cold()"
    printed = subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True).stdout
    rows = {name: float(ms) for name, ms in (line.split() for line in printed.splitlines())}
    worst = max(rows, key=rows.get)
    return {
        "run_us": round(run_us, 3),
        "bound_run_us": round(bound_us, 3),
        "python_run_us": round(python_us, 2),
        "select_again_python_us": round(again_us, 2),
        "select_cold_median_ms": round(statistics.median(rows.values()), 2),
        "select_cold_worst_ms": round(rows[worst], 2),
        "rows": len(rows),
    }
