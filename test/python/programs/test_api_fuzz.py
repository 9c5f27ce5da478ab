"""Every public function takes any arguments: a result that is NumPy's or an error in Strata's words; no signal, no
hang.

STRATA_FUZZ_SECONDS runs it for longer, with the seed STRATA_FUZZ_SEED; the figures are printed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path


def test_fuzz_of_every_public_function(tmp_path):
    seconds, seed, last = (
        os.environ.get("STRATA_FUZZ_SECONDS", "0"),
        os.environ.get("STRATA_FUZZ_SEED", "0"),
        tmp_path / "call",
    )
    child = Path(__file__).parents[1] / "api_calls.py"
    budgets = {
        "STRATA_PROGRAMS_MB": "4",
        "STRATA_GARBAGE_MB": "8",
        "STRATA_EMU_POOL_MB": "16",
    }  # what is kept is full early
    done = subprocess.run(
        [sys.executable, str(child), str(last), seconds, seed],
        env={**os.environ, **budgets},
        capture_output=True,
        text=True,
        timeout=float(seconds) + 600,
    )
    assert done.returncode == 0, (
        f"{done.returncode} in {last.read_text()}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    )
    figures = json.loads(done.stdout.splitlines()[-1])
    print(figures)
    assert figures["functions"] > 250 and figures["calls"] > 2000
    assert (
        figures["results"] > figures["calls"] / 5
        and figures["errors"] > figures["calls"] / 5
        and figures["compared"] > 40
    )
    assert figures["end_mib"] < figures["early_mib"] + 48, figures
