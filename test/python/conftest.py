"""Every test runs on emu:gfx1100 with a cache of its own, whatever the environment says. Only TESTED_DEVICE,
TESTED_TARGET, TESTED_CHECK, TESTED_TOOLS, TESTED_SCHEDULE, TESTED_SCHEDULE_SEED and TESTED_PART change that. They run
the same tests on another arch, by direct lowering, or in strict mode. They also run them with other compilers or none,
and with no schedules or random ones. TESTED_PART runs some of them.
"""

import atexit
import os
import shutil
import sys
import tempfile
import warnings
import zlib
from pathlib import Path

import pytest
from hypothesis import settings

# Tests import each other's programs, whichever room they are in.
ROOMS = sorted({test.parent for test in Path(__file__).parent.glob("*/test_*.py")})
sys.path += [str(folder) for folder in (Path(__file__).parent, *ROOMS) if str(folder) not in sys.path]

for name in [n for n in os.environ if n.startswith("STRATA_") and n != "STRATA_CACHE_DIR" and "_FUZZ_" not in n]:
    del os.environ[name]
if "STRATA_CACHE_DIR" not in os.environ:  # workers of one run inherit it: they share the cache
    os.environ["STRATA_CACHE_DIR"] = tempfile.mkdtemp(prefix="strata-test-")
    atexit.register(shutil.rmtree, os.environ["STRATA_CACHE_DIR"], ignore_errors=True)
for name, usual in (
    ("DEVICE", "emu:gfx1100"),
    ("TARGET", "auto"),
    ("CHECK", "off"),
    ("TOOLS", ""),
    ("SCHEDULE", "heuristic"),
    ("SCHEDULE_SEED", "0"),
    ("VERIFY", "1"),
):
    os.environ[f"STRATA_{name}"] = os.environ.get(f"TESTED_{name}", usual)

settings.register_profile("strata", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("strata")


def asks_for_amd(item):
    """Whether one of a test's parameters is an instruction set or a compiler that is AMD's alone."""
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return any(
        isinstance(value, str) and (value == "asm" or value.removeprefix("emu:").startswith("gfx")) for value in given
    )


def pytest_collection_modifyitems(items):
    """Tests of the value of usual schedules hold for those alone. Tests of emulated devices do not run on cards, and
    those of AMD's instructions not on NVIDIA's. TESTED_PART=n leaves one of n tests, the same one each time.
    """
    from tested import EMULATED, of_nvidia

    nvidia = of_nvidia()
    parts = int(os.environ.get("TESTED_PART", "1"))
    without = {"usual_schedules": os.environ["STRATA_SCHEDULE"] != "heuristic", "emulated": not EMULATED, "amd": nvidia}
    items[:] = [
        item
        for item in items
        if not any(item.get_closest_marker(name) for name, out in without.items() if out)
        and not (nvidia and asks_for_amd(item))
        and zlib.crc32(item.nodeid.encode()) % parts == 0
    ]


@pytest.fixture(autouse=True)
def numpy_is_quiet():
    """Overflow and NaN are what many tests are about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


@pytest.fixture
def quick_target():
    """Direct lowering, which takes less time than clang, unless the tests run for another target."""
    import strata
    from tested import QUICK_TARGET

    with strata.config(target=QUICK_TARGET):
        yield


@pytest.fixture
def rng():
    import numpy as np

    return np.random.default_rng(1234)
