"""Ctrl-C, and whatever else a handler of a signal raises, stops all that computes and leaves things whole."""

import json
import subprocess
import sys
import textwrap

import pytest
import strata

CHILD = """
import json, os, signal, sys, threading, time
import strata
from strata import Tensor, asm, emulator
from strata.asm import Assembler, rdna3 as r

def kernel(name, *body, grid=1):
    a = Assembler("gfx1100", name=name, block=64)
    a.argument("out")
    for part in body:
        a.emit(part)
    return strata.asm_kernel(a, grid=grid)

def endless(grid):
    a = Assembler("gfx1100", name="endless", block=64)
    a.argument("out")
    again = a.label()
    a.place(again)
    a.emit(r.s_add_u32(r.s[4], r.s[4], 1), r.s_branch(again), r.s_endpgm())
    return strata.asm_kernel(a, grid=grid)

def run(k):
    Tensor.empty(64).custom_kernel(kernel=k)[0].realize()

def unbounded(k):
    with strata.config(emu_launch_budget=1 << 62):
        run(k)

x, y = Tensor.rand(256, 256).realize(), Tensor.rand(256, 256).realize()
code = asm.assemble_instructions("again:\\ns_add_u32 s4, s4, 1\\ns_branch again")

def other():
    try:
        run(endless(1))
    except strata.LaunchError:
        pass

def search():
    with strata.config(beam=8, no_cache=True):
        while True:
            (x @ y + time.time()).realize()

def compilation():
    y = Tensor([0.5], dtype="float64")
    for i in range(150):
        y = (y * (i + time.time())).sin()
    with strata.config(no_cache=True):
        y.realize()

def wait_for_another_thread():
    with strata.config(emu_budget=1 << 31):  # not of the thread's context
        thread = threading.Thread(target=other, daemon=True)
        thread.start()
        time.sleep(0.3)
        Tensor([1.0, 2.0])

def command_line():
    from strata.cli import main
    with open(os.path.join(sys.argv[1], "endless.s"), "w") as file:
        file.write(TEXT)
    try:
        main(["run", file.name, "--grid", "4", "--block", "32", "--arg", "f32[64]=0"])
    except SystemExit as e:
        assert e.code == 130, e.code
        raise KeyboardInterrupt

TEXT = '''
.globl endless
.p2align 8
.type endless,@function
endless:
  s_branch endless
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel endless
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: endless
    .symbol: endless.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 1024
    .args:
      - .size: 8
        .offset: 0
        .value_kind: global_buffer
.end_amdgpu_metadata
'''

WORK = {
    "a wave": lambda: run(endless(1)),
    "workgroups on all threads": lambda: run(endless(64)),
    "a grid of short workgroups": lambda: unbounded(kernel("short", r.s_endpgm(), grid=(1 << 25, 64, 64))),
    "run_wave": lambda: emulator.run_wave("gfx1100", code, max_instructions=2**63),
    "a search": search,
    "a compilation": compilation,
    "strata run": command_line,
    "another thread's launch": wait_for_another_thread,  # the last: it goes on
}

class Mine(BaseException):
    pass

def mine(*_):
    global signalled
    signalled = time.perf_counter()
    raise Mine("as it was raised")

def interrupt(*_):
    global signalled
    signalled = time.perf_counter()
    signal.default_int_handler(signal.SIGINT, None)

def children():
    all = open(f"/proc/self/task/{os.getpid()}/children").read().split()
    return [child for child in all if open(f"/proc/{child}/comm").read().strip() != "strata_llvm"]  # which waits for the next text

assert (Tensor([1.0, 2.0]) + 1).tolist() == [2.0, 3.0]
signal.signal(signal.SIGALRM, mine)
signal.signal(signal.SIGINT, interrupt)
result = {}
for name, work in WORK.items():
    for number, kind in ((signal.SIGALRM, Mine), (signal.SIGINT, KeyboardInterrupt)):
        if name in ("strata run", "another thread's launch") and kind is Mine:
            continue
        def send(number=number):
            time.sleep(0.7 if name == "a search" else 0.5)
            os.kill(os.getpid(), number)
        sender = threading.Thread(target=send)
        sender.start()
        try:
            work()
            seconds = None
        except kind as e:
            seconds = time.perf_counter() - signalled
            assert kind is not Mine or e.args == ("as it was raised",)
        sender.join()
        result.setdefault(name, []).append(seconds)
        if name != "another thread's launch":
            assert (Tensor([1.0, 2.0]) * 3).tolist() == [3.0, 6.0], name
            assert threading.active_count() == 1 and not children(), name
print(json.dumps(result))
"""  # noqa: E501

NAMES = [
    "a wave",
    "workgroups on all threads",
    "a grid of short workgroups",
    "run_wave",
    "a search",
    "a compilation",
    "strata run",
    "another thread's launch",
]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path_factory.mktemp("interrupt"))],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.amd
@pytest.mark.parametrize("name", NAMES)
def test_a_signal_stops_it_soon_and_the_device_goes_on(stopped, name):
    assert stopped[name] and all(seconds is not None and seconds < 2 for seconds in stopped[name]), (
        stopped
    )  # 0.1 on an idle machine


@pytest.mark.amd
def test_a_handler_that_raises_nothing_stops_nothing():
    code = """
        import signal, strata
        from strata.asm import Assembler, rdna3 as r
        count = 0
        def handler(*_):
            global count
            count += 1
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.06, 0.06)
        a = Assembler("gfx1100", name="long", block=64, grid=1)
        a.argument("out")
        again = a.label()
        a.place(again)
        a.emit(r.s_add_u32(r.s[4], r.s[4], 1), r.s_branch(again), r.s_endpgm())
        try:
            with strata.config(emu_budget=200_000_000):
                strata.Tensor.empty(64).custom_kernel(kernel=strata.asm_kernel(a))[0].realize()
        except strata.LaunchError as e:
            assert "ran 2000" in str(e)
            signal.setitimer(signal.ITIMER_REAL, 0)
            print(count)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0  # handlers run meanwhile


@pytest.mark.amd
def test_an_error_whose_text_is_interrupted_ends_with_the_interruption():
    code = """
        import strata

        class Interrupted(RuntimeError):
            def __str__(self):
                raise KeyboardInterrupt

        def places():
            raise Interrupted
            yield

        kernel = strata.asm_kernel("s_endpgm", args=["out"], grid=1, block=32)
        try:
            kernel(strata.Tensor.zeros(32), outputs=places())
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


class Stopped:
    """Ctrl-C while Python's part of a call runs."""

    def stop(self, *arguments, **named):
        raise KeyboardInterrupt

    __repr__ = __array__ = __index__ = __len__ = __iter__ = __getitem__ = __float__ = __bool__ = stop


USES = {
    "a tensor": lambda s: strata.Tensor(s),
    "a list": lambda s: strata.Tensor([1, s]),
    "an operand": lambda s: strata.Tensor([1, 2]) + s,
    "an axis": lambda s: strata.Tensor([1, 2]).sum(s),
    "a shape": lambda s: strata.Tensor.zeros(s),
    "an index": lambda s: strata.Tensor([1, 2])[s],
    "a type": lambda s: strata.Tensor([1, 2], s),
    "a seed": lambda s: strata.manual_seed(s),
    "an argument": lambda s: strata.asm_kernel("s_endpgm", args=["x"], grid=1, block=32)(s),
    "what is stable": lambda s: strata.emulator.stable(s),
}


@pytest.mark.parametrize(
    "use", [pytest.param(use, marks=[pytest.mark.amd] if use == "an argument" else []) for use in USES]
)
def test_an_interruption_in_what_an_object_says_of_itself_is_no_error_of_the_call(use):
    with pytest.raises(KeyboardInterrupt):
        USES[use](Stopped())
