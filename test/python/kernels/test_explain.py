"""strata.explain: which kernels compute tensors, and why each ends where it does."""

import subprocess
import sys

import pytest
import strata
from strata import Tensor


def reasons(*tensors):
    return [line.split("stored: ")[1] for line in strata.explain(*tensors).splitlines() if "stored: " in line]


def test_a_row_is_one_kernel_that_moves_no_more_than_it_must():
    text = strata.explain(Tensor.empty(2048, 4096).softmax(-1))
    assert text.startswith("1. r_2048_4096 -> float32 (2048, 4096)\n")
    assert "reduce add" in text and "reduce max" in text and "exp" in text
    assert "reads 32 MiB, writes 32 MiB; stored: it is a result that was asked for" in text
    assert text.endswith("1 kernel, 64 MiB; at least 64 MiB have to move (1.00 times that)\n")
    assert repr(text) == str(text)


def shared():
    total = Tensor.empty(6, 5).sum(1)
    return total + 1, total.flip() * 2


def less_its_greatest(x):
    """Along axes that are no row, with another axis after them, so that the maxima are stored."""
    return x - x.max((0, 2), keepdims=True)


@pytest.mark.parametrize(
    "make, why",
    [
        (lambda: [less_its_greatest(Tensor.empty(6, 5, 4, 3))], "it is costly, and an expand"),
        (lambda: [Tensor.empty(6, 5, 4).sum(2).max(0)], "a reduction over other axes reads it"),
        (lambda: [Tensor.empty(6, 5).softmax(1).T.contiguous()], "its rows are moved"),
        (
            lambda: [(Tensor.empty(6, 5).sum(1) + Tensor.empty(6, 7).sum(1))],
            "it is combined with a reduction over other axes",
        ),
        (shared, "several kernels read it"),
        (lambda: [sum((Tensor.empty(8) for _ in range(40)), Tensor.empty(8))], "too many buffers"),
        (lambda: [Tensor.empty(1 << 20).sum()], "it needs memory of its own"),
        (lambda: [(Tensor.empty(6, 5) * 2).contiguous() + 1], "it needs memory of its own"),
    ],
)
def test_a_kernel_ends_for_a_reason(make, why):
    found = reasons(*make())
    assert found[-1].endswith("it is a result that was asked for")
    assert any(why in reason for reason in found), found


def test_what_is_stored_on_the_way_counts_against_the_fewest_bytes():
    text = strata.explain(less_its_greatest(Tensor.empty(256, 16, 16, 4)))
    assert "(1.5" in text, text
    assert strata.explain(Tensor.ones(4).realize()) == "nothing is left to compute: it is in memory\n"


def test_bad_input_says_what_to_do():
    for bad in ((), (3,), (["x"],)):
        with pytest.raises(TypeError, match="explain\\(\\) takes Tensors"):
            strata.explain(*bad)


def test_the_command_explains_an_expression():
    command = [sys.executable, "-m", "strata", "explain"]
    done = subprocess.run([*command, "Tensor.empty(4, 8).softmax(-1)"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("1. r_4_8"), done
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and "what is to be explained?" in done.stderr, done


def test_memory_is_told_where_it_is_most():
    x = Tensor.ones(256, 256).contiguous().realize()
    y = (x @ x).contiguous()
    text = strata.explain((y.T.contiguous() @ y).sum(0), memory=True)
    first, _, table = text.partition("\n\n")
    assert "256 KiB that are in memory already" in first and first.startswith("the peak is step ")
    header, *rows = table.partition("\n\n")[0].splitlines()
    assert header.split()[0] == "bytes" and "read last by" in header
    assert rows == sorted(rows, key=lambda row: row.startswith("256 KiB"), reverse=True)
    assert "float32 (256, 256)" in rows[0] and "1. r_" in rows[0] and "it needs memory of its own" in rows[0]
    assert "#" in text and text.endswith(" steps\n")


def test_the_peak_that_is_told_is_the_one_that_is_measured():
    strata._strata._add_null_devices()
    with strata.config(device="null:gfx1100"):
        x = Tensor.ones(512, 512).contiguous().realize()
        y = ((x @ x).tanh().contiguous() @ x).softmax(-1)
        result = (y.T.contiguous() @ y).exp()
        kept = max(strata._strata._memory_outline([result])[2])
        before = strata.stats().live_bytes
        strata.reset_stats()
        result.realize()
        assert strata.stats().peak_bytes - before == kept
