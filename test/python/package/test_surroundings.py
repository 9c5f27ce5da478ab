"""Messages and results where the process's surroundings are unusual: no temporary folder, ^C at the start, suspended
blocks.
"""

import os
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import strata
from strata import Tensor

ROOT = Path(__file__).parents[3]
COMPUTES = "import strata\nwith strata.config(target='hip'): print((strata.Tensor([1.0, 2.0]) * 3.5).tolist())"


def run(command, **environment):
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120)


def test_no_folder_for_temporary_files_names_the_variable_and_the_way_without(tmp_path):
    done = run(
        [sys.executable, "-c", COMPUTES], TMPDIR=str(tmp_path / "none"), STRATA_CACHE_DIR=str(tmp_path / "cache")
    )
    last = done.stderr.strip().splitlines()[-1]
    assert (
        done.returncode == 1
        and "DeviceError" in last
        and "TMPDIR" in last
        and str(tmp_path / "none") in last
        and 'target="asm"' in last
    )
    right = run([sys.executable, "-c", COMPUTES], TMPDIR=str(tmp_path), STRATA_CACHE_DIR=str(tmp_path / "cache"))
    assert right.stdout == "[3.5, 7.0]\n", right.stderr


@pytest.mark.parametrize("checkout", [False, True], ids=["wheel", "checkout"])
def test_an_interrupt_while_the_command_line_imports_ends_it_without_a_traceback(checkout, tmp_path):
    """A module that the package imports is interrupted, in a wheel's command and in that of a checkout."""
    module, function = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["strata"].split(":")
    command = [sys.executable, "-c", f"from {module} import {function}; {function}()"]
    if checkout:
        (tmp_path / "python").symlink_to(sys.executable)
        command = [shutil.copy(ROOT / "scripts/strata", tmp_path)]
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    (tmp_path / "argparse.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    )
    done = subprocess.run(
        [*command, "--version"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.returncode == -signal.SIGINT and not done.stdout and not done.stderr


def test_a_block_without_gradients_holds_while_a_generator_is_suspended_in_it():
    def inside():
        with strata.no_grad():
            yield

    @strata.no_grad
    def by_steps():
        yield

    w = Tensor([1.0, 2.0]).requires_grad_()
    suspended = inside()
    next(suspended)
    with pytest.raises(strata.UsageError, match="depends on no tensor that requires a gradient"):
        (w * 2).sum().backward()
    suspended.close()
    steps = by_steps()
    next(steps)
    (w * 2).sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]
