"""printf and device_assert: what threads say, once the launch is done."""

import numpy as np
import pytest
import strata
from strata import Tensor, lang
from tested import TARGETS

ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]


@pytest.fixture(params=[(arch, target) for arch in ARCHS for target in TARGETS], ids=lambda p: "-".join(p))
def machine(request):
    arch, target = request.param
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        yield arch


def test_threads_that_come_there_print(machine, capsys):
    @strata.kernel(grid=2, block=64)
    def kernel(out, x):
        i = lang.block_idx.x * 64 + lang.thread_idx.x
        if i % 50 == 0:
            lang.printf("{}: {:.1f} {} {} of {}", i, x[i], x[i] > 1, i.cast("int64") << 33, "all")
        out[i] = x[i]

    x = np.arange(128, dtype="float32") / 100
    for _ in range(2):
        done = kernel(Tensor.zeros(128), Tensor(x))
        assert len(done) == 1 and np.array_equal(done[0].numpy(), x)
        said = sorted(capsys.readouterr().out.splitlines(), key=lambda line: int(line.split(":")[0]))
        assert said == [f"{i}: {x[i]:.1f} {x[i] > 1} {i << 33} of all" for i in (0, 50, 100)]


def test_values_of_every_type_are_said(capsys):
    types = ["int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64", "bool"]

    @strata.kernel(grid=1, block=1)
    def kernel(out):
        out[0] = 1
        lang.printf(" ".join(["{}"] * len(types)), *((-out[0]).cast(t) for t in types))

    kernel(Tensor.zeros(1, dtype="int32"))
    want = "-1 255 -1 4294967295 -1 18446744073709551615 -1.0 -1.0 -1.0 -1.0 True"
    assert capsys.readouterr().out.strip() == want


def test_an_assertion_names_block_and_thread(machine):
    @strata.kernel(grid=3, block=32)
    def kernel(out, limit):
        i = lang.block_idx.x * 32 + lang.thread_idx.x
        lang.device_assert(i != limit, "i is {}", i)
        out[i] = i

    out = Tensor.zeros(96, dtype="int32")
    with strata.config(check="off"):  # clang's code has a store for no lane, which strict mode points out
        assert kernel(out, 96)[0].numpy().tolist() == list(range(96))
    with pytest.raises(AssertionError, match=r"kernel: thread 6 of block \(2, 0, 0\): i is 70"):
        kernel(out, 70)
    with pytest.raises(AssertionError, match="i is 70"):
        kernel.interpret(out, 70)


def test_an_assertion_that_surely_holds_costs_nothing():
    @strata.kernel(grid=1, block=4)
    def kernel(out):
        lang.device_assert(out.shape[0] == 4)
        out[lang.thread_idx.x] = 1

    assert (
        len(strata.compile(kernel.compiled(Tensor.zeros(4)), arch="gfx1100").kernels[0].name) and not kernel._messages
    )
    kernel(Tensor.zeros(4))


def test_more_than_there_is_room_for_is_told(capsys):
    @strata.kernel(grid=100, block=256)
    def kernel(out):
        for i in range(10):
            lang.printf("{}", i)
        out[lang.block_idx.x] = 1

    kernel(Tensor.zeros(100))
    lines = capsys.readouterr().out.splitlines()
    assert "words of messages were lost" in lines[-1] and len(lines) == 65536 // 6 + 1


def test_wrong_uses_say_what_to_write():
    def wrong(function, text, error=strata.UsageError):
        with pytest.raises(error, match=text):
            strata.kernel(function, grid=1, block=1).graph(lang.TensorSpec(4))

    wrong(lambda x: lang.printf(x[0]), "the text is a string of Python's")
    wrong(lambda x: lang.printf("{} {}", x[0]), "does not fit 1 values")
    wrong(lambda x: lang.printf("{}", x), "is no single value: give its elements")

    @strata.kernel(grid=1, block=1)
    def kernel(out):
        lang.printf("{}", out[0])
        out[0] = 1

    with pytest.raises(strata.Unsupported, match="call the kernel itself"):
        Tensor.zeros(1).custom_kernel(kernel=kernel)
    with pytest.raises(strata.UsageError, match="for kernels"):
        lang.printf("")
