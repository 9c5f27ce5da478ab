"""Threads of Python beside those that compute: they run on, end, and may be small."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import strata
from strata import Tensor, asm, emulator
from strata.asm import Assembler, rdna3 as r

ENDLESS = asm.assemble_instructions("again:\ns_add_u32 s4, s4, 1\ns_branch again")


def slow_kernel():
    """Some tenths of a second long."""
    a = Assembler("gfx1100", name="slow", block=64, grid=1)
    a.argument("out")
    again = a.label()
    a.place(again)
    a.emit(r.s_add_u32(r.s[4], r.s[4], 1), r.s_cmp_lt_u32(r.s[4], 15_000_000), r.s_cbranch_scc1(again), r.s_endpgm())
    return strata.asm_kernel(a)


@pytest.fixture(scope="module")
def slow():
    kernel = slow_kernel()
    return lambda *shape: Tensor.empty(*shape).custom_kernel(kernel=kernel)[0]


TEXT = "f:\n" + "v_add_f32 v0, v1, v2\n" * 40_000 + "s_endpgm\n"
CODE = asm.assemble_instructions(TEXT[3:])
COMPUTING = {
    "realize": lambda slow: slow(64).realize(),
    "strata.realize": lambda slow: strata.realize([slow(64)]),
    "numpy": lambda slow: slow(64).numpy(),
    "asarray": lambda slow: np.asarray(slow(64), copy=False),
    "tolist": lambda slow: slow(64).tolist(),
    "list of one": lambda slow: slow(1).reshape(()).tolist(),
    "item": lambda slow: slow(1).item(),
    "float": lambda slow: float(slow(1)),
    "int": lambda slow: int(Tensor.empty(1, dtype="int32").custom_kernel(kernel=slow_kernel())[0]),
    "index": lambda slow: [0][0 : Tensor.empty(1, dtype="int32").custom_kernel(kernel=slow_kernel())[0].__index__()],
    "bool": lambda slow: bool(slow(1)),
    "dlpack": lambda slow: slow(64).__dlpack__(),
    "from_dlpack": lambda slow: np.from_dlpack(slow(64)),
    "compile": lambda slow: compile_anew(),
    "run_wave": lambda slow: pytest.raises(
        strata.Error, emulator.run_wave, "gfx1100", ENDLESS, max_instructions=50_000_000
    ),
    "assemble": lambda slow: asm.assemble(TEXT),
    "assemble_instructions": lambda slow: asm.assemble_instructions(TEXT[3:]),
    "disassemble_instructions": lambda slow: strata._strata._disassemble_instructions(CODE, "gfx1100", 0),
    "another thread's launch": lambda slow: wait_for_another(slow),
}


def compile_anew():
    with strata.config(no_cache=True):
        strata.compile((Tensor.rand(64, 64) @ Tensor.rand(64, 64)).softmax())


def wait_for_another(slow):
    thread = threading.Thread(target=lambda: slow(64).realize())
    thread.start()
    time.sleep(0.05)
    Tensor(np.zeros(10))
    thread.join()


@pytest.mark.amd
@pytest.mark.parametrize("name", COMPUTING)
def test_other_threads_run_meanwhile(slow, name):
    """One that sleeps a millisecond at a time wakes up while the call runs, and not only at its ends."""
    gaps, done = [], threading.Event()

    def tick():
        while not done.is_set():
            gaps.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    time.sleep(0.01)
    start = time.perf_counter()
    COMPUTING[name](slow)
    end = time.perf_counter()
    done.set()
    thread.join()
    meanwhile = [t for t in gaps if start < t < end]
    assert end - start > 0.01, "too quick to say anything"
    assert len(meanwhile) >= 4 and (end - start) / len(meanwhile) < 0.05


def run(code):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    "work",
    [
        "x.numpy()",
        "(x * len(steps)).realize()",
        "Tensor.rand(100).tolist()",
        "emulator.run_wave('gfx1100', code, max_instructions=10**6)",
    ],
)
def test_daemon_threads_that_compute_do_not_disturb_the_end(work):
    """The end of the interpreter: twenty threads of four processes are somewhere in a call."""
    code = f"""
        import threading, time
        from strata import Tensor, asm, emulator
        x, steps = Tensor.rand(100000).realize(), []
        code = asm.assemble_instructions("s_nop 0\\n" * 1000)
        def work():
            while True:
                {work}
                steps.append(1)
        for _ in range(5):
            threading.Thread(target=work, daemon=True).start()
        while not steps:
            time.sleep(0.001)
        print("end", flush=True)
    """
    children = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for child in children:
        out, err = child.communicate(timeout=120)
        assert (child.returncode, out, err) == (0, "end\n", "")


def test_a_compiler_that_is_at_work_when_the_process_ends_is_waited_for(tmp_path):
    code = """
        import threading, time
        from strata import Tensor
        x, steps = Tensor.rand(100000).realize(), []
        def work():
            while True:
                (x * len(steps)).realize()
                steps.append(1)
        for _ in range(5):
            threading.Thread(target=work, daemon=True).start()
        while not steps:
            time.sleep(0.001)
    """
    for _ in range(6):  # each finds more in the cache: its first compilation begins when the process ends
        command = [sys.executable, "-c", textwrap.dedent(code)]
        children = [
            subprocess.Popen(
                command, env={**os.environ, "STRATA_CACHE_DIR": str(tmp_path)}, stderr=subprocess.PIPE, text=True
            )
            for _ in range(4)
        ]
        assert [(child.communicate(timeout=120)[1], child.returncode) for child in children] == [("", 0)] * 4


def test_an_endless_launch_of_a_daemon_thread_does_not_hold_up_the_end():
    done = run("""
        import threading, time
        from strata import asm, emulator
        code = asm.assemble_instructions("again:\\ns_branch again")
        threading.Thread(target=emulator.run_wave, args=("gfx1100", code), kwargs={"max_instructions": 2**62}, daemon=True).start()
        time.sleep(0.1)
        print("end")
    """)  # noqa: E501
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.parametrize("size", [65536, 131072, 1 << 20])
def test_a_thread_with_a_small_stack_computes(size):
    done = run(f"""
        import threading, strata
        from strata import Tensor
        threading.stack_size({size})
        def work():
            with strata.config(no_cache=True):
                x = Tensor.rand(16, 16)
                print((Tensor([1.0, 2.0]) + 1).tolist(), (x @ x).softmax().sum().item() > 0, strata.compile(x.exp()).code_object[:4])
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    """)  # noqa: E501
    assert (done.returncode, done.stdout) == (0, "[2.0, 3.0] True b'\\x7fELF'\n"), done.stderr


def test_a_lazy_kernel_runs_once_whichever_threads_want_its_results():
    """Each kernel is compiled first, so that all threads are at it by then."""
    for turn in range(1, 4):
        kernel = strata.hip_kernel(
            f'extern "C" __global__ void count(float* x) {{ x[threadIdx.x] += {turn}; }}', name="count", grid=1, block=4
        )
        (y,) = Tensor(np.zeros(4, np.float32)).custom_kernel(kernel=kernel)
        start, found = threading.Barrier(6), []

        def work(i, y=y, start=start, found=found):
            start.wait()
            found.append((y + i).tolist()[0] - i if i % 2 else y.tolist()[0])

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert found == [turn] * 6
