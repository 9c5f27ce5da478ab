"""Settings: environment, context manager, search."""

import asyncio
import contextvars
import itertools
import os
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import strata
from strata import Tensor
from tested import EMULATED


def test_a_block_of_settings_ends():
    assert strata.settings()["beam"] == 0 and strata.settings()["device"] == os.environ["STRATA_DEVICE"]
    with strata.config(beam=3, debug=1):
        assert strata.settings()["beam"] == 3 and strata.settings()["debug"] == 1
        with strata.config(beam=5):
            assert strata.settings()["beam"] == 5 and strata.settings()["debug"] == 1
        assert strata.settings()["beam"] == 3
    assert strata.settings()["beam"] == 0 and strata.settings()["debug"] == 0
    with pytest.raises(RuntimeError, match="inside"):
        with strata.config(beam=7):
            raise RuntimeError("inside")
    assert strata.settings()["beam"] == 0


def test_a_config_can_be_used_again():
    c = strata.config(beam=2)
    for _ in range(2):
        with c:
            assert strata.settings()["beam"] == 2
        assert strata.settings()["beam"] == 0


def test_a_config_that_is_dropped_without_being_entered_says_so():
    with pytest.warns(UserWarning, match="with strata.config"):
        strata.config(beam=2)
    assert strata.settings()["beam"] == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strata.config()
        with strata.config(beam=2):
            pass


def test_a_block_is_left_once_for_each_time_it_was_entered():
    c = strata.config(beam=2)
    with pytest.raises(strata.UsageError, match="not entered in this context"):
        c.__exit__()
    with c, strata.config(debug=0), c:
        pass
    for _ in range(2):
        with pytest.raises(strata.UsageError, match="not entered in this context"):
            c.__exit__(None, None, None)
    assert strata.settings()["beam"] == 0


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_blocks_left_in_any_order_leave_what_the_others_say(order):
    changes = [{"beam": 1, "debug": 1}, {"beam": 2, "emu_seed": 2}, {"beam": 3, "emu_threads": 3}]
    blocks = [strata.config(**change) for change in changes]
    for block in blocks:
        block.__enter__()
    inside = list(range(3))
    for i in order:
        blocks[i].__exit__()
        inside.remove(i)
        expected = {"beam": 0, "debug": 0, "emu_seed": 0, "emu_threads": 0}
        for j in inside:
            expected |= changes[j]
        assert {name: strata.settings()[name] for name in expected} == expected


def test_a_generator_that_is_dropped_takes_its_block_with_it():
    def numbers():
        with strata.config(emu_seed=1):
            yield 1

    with strata.config(beam=1):
        generator = numbers()
        next(generator)
        with strata.config(debug=1):
            generator.close()
            assert [strata.settings()[n] for n in ("beam", "debug", "emu_seed")] == [1, 1, 0]
    assert strata.settings()["beam"] == 0


def test_settings_are_of_a_context():
    seen = {}

    def look(name):
        seen[name] = strata.settings()["beam"]

    async def task(beam, enter, leave):
        with strata.config(beam=beam):
            enter.set()
            await leave.wait()
            look(f"task {beam}")
            with strata.config(no_cache=True):
                assert (Tensor([1.0]) * beam).tolist() == [beam]
            look(f"task {beam} still")
        look(f"task {beam} afterwards")

    async def tasks():
        one, two, three = (asyncio.Event() for _ in range(3))
        with strata.config(beam=9):
            first, second = asyncio.create_task(task(1, one, two)), asyncio.create_task(task(2, two, three))
            await one.wait()
            look("main")
            await first
            three.set()
            await second

    asyncio.run(tasks())
    assert seen == {
        "main": 9,
        "task 1": 1,
        "task 1 still": 1,
        "task 1 afterwards": 9,
        "task 2": 2,
        "task 2 still": 2,
        "task 2 afterwards": 9,
    }
    with strata.config(beam=4):
        thread = threading.Thread(target=look, args=("thread",))
        thread.start()
        thread.join()
        contextvars.copy_context().run(look, "copy")
    assert seen["thread"] == 0 and seen["copy"] == 4 and strata.settings()["beam"] == 0


def test_a_block_of_a_thread_ends_with_it():
    block = strata.config(beam=6)
    thread = threading.Thread(target=block.__enter__)
    thread.start()
    thread.join()
    assert strata.settings()["beam"] == 0
    with pytest.raises(strata.UsageError, match="not entered in this context"):
        block.__exit__()


def test_workers_compute_with_the_settings_of_the_context(tmp_path):
    with strata.config(cache_dir=str(tmp_path / "a")):
        strata.realize([Tensor([1.0] * n) * 1.0625 for n in (211, 223, 227)])
        with strata.config(cache_dir=str(tmp_path / "b")):
            strata.realize([Tensor([1.0] * n) * 1.0625 for n in (229, 233, 239)])

    def objects(folder):
        return [p for p in (tmp_path / folder).rglob("objects/*") if "." not in p.name]

    assert len(objects("a")) == len(objects("b")) == 3


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
    )


def test_the_context_manager_beats_the_environment():
    code = (
        "import strata\ns = strata.settings\nprint(s()['beam'], s()['emu_seed'])\nwith strata.config(beam=1): "
        "print(s()['beam'], s()['emu_seed'])\nprint(s()['beam'])"
    )
    done = run(code, STRATA_BEAM="4", STRATA_EMU_SEED="9")
    assert done.stdout.split() == ["4", "9", "1", "9", "4"], done.stderr


def test_info_says_what_each_setting_is_and_where_it_comes_from():
    text = subprocess.run(
        [sys.executable, "-m", "strata", "info"],
        env={**os.environ, "STRATA_BEAM": "4"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in strata.settings():
        assert f"\n  {name} = " in text
    assert (
        "beam = 4 (environment): width of the schedule search" in text
        and "debug = 0 (default): 1 prints launches" in text
    )
    with strata.config(emu_seed=3):
        assert (
            "emu_seed",
            3,
            "config",
            "seed of the order in which waves take turns",
        ) in strata._strata._describe_settings()


@pytest.mark.parametrize(
    "name, words",
    [
        ("STRATA_BEEM", "did you mean STRATA_BEAM?"),
        ("STRATA_BEAMS", "did you mean STRATA_BEAM?"),
        ("STRATA_CACHE_FOLDER", "did you mean STRATA_CACHE_DIR?"),
        ("STRATA_EMU_THREDS", "did you mean STRATA_EMU_THREADS?"),
        ("STRATA_", "`strata info` lists them"),
        ("STRATA_BACKEND_LIBRARY_PATH", "`strata info` lists them"),
    ],
)
def test_a_variable_that_is_no_setting_is_told_of(name, words):
    done = run("import strata; strata.settings()", **{name: "4", "STRATA_FUZZ_SEEDS": "1", "STRATA_EMU_SEED": "5"})
    assert done.returncode == 0 and done.stderr == f"strata: {name} is not a setting; {words}\n"


def test_a_cache_folder_may_have_any_name(tmp_path):
    folder = os.path.join(os.fsencode(tmp_path), b"gr\xfc\xdf \xff")
    code = (
        "import os, strata\nassert (strata.Tensor([1.0, 2.0]) * 3.125).tolist() == [3.125, 6.25]\n"
        "print(os.fsencode(strata.settings()['cache_dir']).hex())\n"
        "with strata.config(cache_dir=os.fsdecode(bytes.fromhex('{}'))): "
        "print(os.fsencode(strata.settings()['cache_dir']).hex())"
    )
    done = run(code.format((folder + b"2").hex()), STRATA_CACHE_DIR=os.fsdecode(folder))
    assert done.stdout.split() == [folder.hex(), (folder + b"2").hex()] and done.stderr == ""
    assert os.path.isdir(folder + b"/v2/objects")
    done = subprocess.run(
        [sys.executable, "-m", "strata", "info"],
        env={**os.environ, "STRATA_CACHE_DIR": os.fsdecode(folder)},
        capture_output=True,
    )
    assert done.returncode == 0 and done.stderr == b"" and rb"gr\udcfc\udcdf \udcff" in done.stdout


def test_arguments_are_checked_and_keep_their_types(tmp_path):
    with strata.config(emu_check=np.bool_(False), emu_seed=np.uint64(2**64 - 1), cache_dir=tmp_path, no_cache=1):
        s = strata.settings()
        assert (
            s["emu_check"] is False
            and s["emu_seed"] == 2**64 - 1
            and s["cache_dir"] == str(tmp_path)
            and s["no_cache"] is True
        )
    for name, value in (("beam", 2.5), ("beam", None), ("emu_seed", -1), ("emu_check", 2)):
        with pytest.raises(strata.UsageError, match="expected a whole number from 0 to"):
            strata.config(**{name: value})


def texts_of_any_kind():
    """Settings that any text is a value of, by their rows."""
    table = (Path(__file__).parents[3] / "core/support/settings.def").read_text()
    return re.findall(r"SETTING\( *(\w+), *std::string, *[^,]+, *anything,", table)


@pytest.mark.parametrize("name", texts_of_any_kind())
def test_what_is_no_text_is_no_value_of_a_text(name):
    assert len(texts_of_any_kind()) >= 5
    for value in (None, 3, True, ["x"]):
        with pytest.raises(strata.UsageError, match=rf"{name}=.*: expected text. Write {name}='.*', the default"):
            strata.config(**{name: value})
    with strata.config(**{name: strata.settings()[name]}):
        pass


def test_debug_prints_each_kernel():
    done = run("import strata; (strata.Tensor([1.0, 2.0]) + 1).realize()", STRATA_DEBUG="1")
    assert done.returncode == 0 and "e_2" in done.stderr and ("modelled" if EMULATED else "measured") in done.stderr
    done = run("import strata; (strata.Tensor([1.0, 2.0]) + 1).realize()", STRATA_DEBUG="4")
    assert "__global__" in done.stderr


def test_no_cache_writes_nothing(tmp_path):
    done = run(
        "import strata; print((strata.Tensor([1.0, 2.0]) + 1).tolist())",
        STRATA_NO_CACHE="1",
        STRATA_CACHE_DIR=str(tmp_path / "c"),
    )
    assert done.stdout == "[2.0, 3.0]\n", done.stderr
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".pch"]


def test_threads_and_seed_of_the_emulator_change_no_result(rng):
    x = rng.standard_normal(5000).astype(np.float32)
    results = set()
    for settings in ({}, {"emu_threads": 1}, {"emu_threads": 2}, {"emu_seed": 5}):
        with strata.config(**settings):
            results.add((Tensor(x) * 3).sum().item())
    assert len(results) == 1


@pytest.mark.parametrize(
    "build",
    [lambda x, y: x.sum(), lambda x, y: (x * y).sum(0), lambda x, y: x @ y.T, lambda x, y: (x.T * 2).exp2() + y.T],
    ids=["sum", "rows", "matmul", "columns"],
)
def test_a_searched_schedule_gives_the_same_result(build, rng, tmp_path):
    x, y = (rng.integers(-9, 10, (48, 64)).astype(np.float32) for _ in range(2))
    plain = build(Tensor(x), Tensor(y)).numpy()
    with strata.config(beam=2, cache_dir=str(tmp_path)):
        searched = build(Tensor(x).realize(), Tensor(y).realize()).numpy()
    np.testing.assert_allclose(searched, plain, rtol=2e-6, atol=1e-6)


def test_integers_used_as_indices_survive_a_search(rng, tmp_path):
    x, i = rng.standard_normal((40, 8)).astype(np.float32), rng.integers(0, 40, 25)
    with strata.config(beam=2, cache_dir=str(tmp_path)):
        np.testing.assert_array_equal(Tensor(x)[Tensor(i)].numpy(), x[i])


def test_a_search_is_kept_on_disk(tmp_path):
    code = (
        "import time, strata\nx = strata.Tensor.ones(1 << 16).contiguous().realize()\nstart = time.perf_counter()\n"
        "with strata.config(beam=2): print(x.sum().item())\nprint(time.perf_counter() - start)"
    )
    cold, warm = (run(code, STRATA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert cold.returncode == 0 and warm.returncode == 0, cold.stderr + warm.stderr
    (result, first), (again, second) = cold.stdout.split(), warm.stdout.split()
    assert result == again == "65536.0"
    assert float(second) < float(first) / 3


@pytest.mark.emulated
def test_devices():
    assert strata.default_device() == "emu:gfx1100" and "emu:gfx1100" in strata.devices()
    p = strata.device_properties("emu:gfx1100")
    assert (
        p["arch"] == "gfx1100"
        and p["warp_size"] == 32
        and p["max_block"] == 1024
        and p["lds_per_block"] == 65536
        and p["time_is_modelled"] is True
    )
    with strata.config(device="emu:gfx1100"):
        assert (Tensor([1]) + 1).device == "emu:gfx1100"
