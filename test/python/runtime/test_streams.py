"""strata.Stream and strata.Event: what is given to streams, in which order it is done, and what events say of time."""

import random
import threading

import numpy as np
import pytest
import strata
from strata import Tensor


@pytest.fixture
def values(rng):
    return rng.standard_normal((64, 96), dtype=np.float32)


def test_what_is_computed_on_a_stream_is_right(values):
    stream = strata.Stream()
    with stream:
        x = Tensor(values)
        y = (x @ x.T).realize()
        np.testing.assert_allclose(y.numpy(), values @ values.T, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose((y + 1).numpy(), values @ values.T + 1, rtol=1e-4, atol=1e-4)
    assert stream.query() in (True, False)
    stream.synchronize()
    assert stream.query() is True


def test_a_stream_reads_what_another_one_wrote(values):
    streams = [strata.Stream() for _ in range(3)]
    x, want = Tensor(values), values.astype(np.float64)
    for i in range(30):
        with streams[i % 3]:
            x = (x * 0.5 + i).realize()
        want = want * 0.5 + i
    np.testing.assert_allclose(x.numpy(), want, rtol=1e-5)


def test_memory_goes_to_the_next_tensor_behind_its_last_reader(values):
    first, second = strata.Stream(), strata.Stream()
    big, sums = np.ones((1 << 20,), np.float32), []
    for i in range(8):
        with first:
            x = (Tensor(big) + i).realize()
            sums.append(x.sum().realize())
        del x
        with second:
            y = (Tensor(big) * -1000).realize()
        del y
    assert [s.item() for s in sums] == [(1 << 20) * (1 + i) for i in range(8)]


def test_streams_are_of_threads():
    stream, seen = strata.Stream(), []
    with stream:
        thread = threading.Thread(target=lambda: seen.append(strata.current_stream().ptr))
        thread.start()
        thread.join()
        inside = strata.current_stream().ptr
    assert inside == stream.ptr != seen[0] == strata.current_stream().ptr


def test_streams_nest_and_end_with_an_exception():
    outer, inner = strata.Stream(), strata.Stream()
    with outer:
        with pytest.raises(ZeroDivisionError), inner:
            assert strata.current_stream().ptr == inner.ptr
            1 / 0
        assert strata.current_stream().ptr == outer.ptr
        with outer:
            pass
        assert strata.current_stream().ptr == outer.ptr


def test_a_stream_of_somebody_else_is_used_by_its_handle(values):
    theirs = strata.Stream()
    ours = strata.Stream(ptr=theirs.ptr)
    assert ours.ptr == theirs.ptr and ours.device == theirs.device
    with ours:
        x = (Tensor(values) + 1).realize()
    del ours
    with theirs:
        np.testing.assert_array_equal((x * 2).numpy(), (values + 1) * 2)


def test_events_measure_what_stands_between_them():
    x = Tensor(np.ones((1 << 20,), np.float32)).realize()
    start, middle, end = strata.Event(), strata.Event(), strata.Event()
    with strata.Stream() as stream:
        (x + 1).realize()  # after what the device's own stream was given
        start.record()
        (x + 1).realize()
        middle.record()
        for i in range(10):
            (x + i).realize()
        stream.record_event(end)
    few, many = start.elapsed_time(middle), middle.elapsed_time(end)
    assert end.query() and 0 < few < many
    assert start.elapsed_time(end) == pytest.approx(few + many, rel=1e-3)


def test_a_stream_that_waits_for_an_event_comes_behind_it():
    first, second = strata.Stream(), strata.Stream()
    x = Tensor(np.ones((1 << 22,), np.float32)).realize()
    y = Tensor(np.ones((16,), np.float32)).realize()
    (x * 2).sum().item()
    with first:
        start = strata.Event().record()
        for _ in range(4):
            (x * 2).sum().realize()
        done = first.record_event()
    second.wait_event(done)
    with second:
        (y + 1).realize()
        end = strata.Event().record()
    assert start.elapsed_time(end) >= start.elapsed_time(done) > 0
    third = strata.Stream()
    third.wait_stream(second)
    after = third.record_event()
    assert start.elapsed_time(after) >= start.elapsed_time(end)
    done.wait()
    assert strata.current_stream().record_event().query() in (True, False)


def test_captured_functions_run_on_the_stream_of_their_call(values):
    @strata.jit
    def step(x, y):
        return ((x + y).contiguous() * 2).contiguous() - y

    a, b = Tensor(values), Tensor(values[::-1].copy())
    want = (values + values[::-1]) * 2 - values[::-1]
    for _ in range(4):
        with strata.Stream():
            got = step(a, b)
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)
        a, b = b, a
        want = (values + values[::-1]) * 2 - b.numpy()


def test_a_stream_inside_of_a_captured_function_is_refused(values):
    stream = strata.Stream()

    @strata.jit
    def step(x):
        with stream:
            return x + 1

    with pytest.raises(strata.UsageError, match="a stream is chosen"):
        for _ in range(3):
            step(Tensor(values))


def test_mistakes_are_told():
    event = strata.Event()
    for use in (event.synchronize, event.query, event.wait, lambda: event.elapsed_time(event)):
        with pytest.raises(strata.UsageError, match="was not recorded"):
            use()
    assert repr(event) == "<Event, not recorded>"
    assert strata.default_device() in repr(strata.Stream()) and strata.default_device() in repr(strata.Event().record())
    with pytest.raises(strata.DeviceError, match="unknown device|no device"):
        strata.Stream("nowhere:0")


def test_blocks_end_in_any_order_and_leave_the_others_in_force():
    """The current stream is that of the last block that was entered and not left, whatever was left before."""
    drawn, streams, blocks, own = random.Random(3), [strata.Stream() for _ in range(4)], [], strata.current_stream().ptr
    for _ in range(400):
        if blocks and drawn.random() < 0.55:
            stream = drawn.choice(blocks)
            stream.__exit__(None, None, None)
            blocks.reverse()
            blocks.remove(stream)  # the innermost of its blocks
            blocks.reverse()
        else:
            blocks.append(drawn.choice(streams))
            blocks[-1].__enter__()
        assert strata.current_stream().ptr == (blocks[-1].ptr if blocks else own)
    for stream in blocks:
        stream.__exit__(None, None, None)
    assert strata.current_stream().ptr == own


def test_a_stream_is_left_by_whom_it_was_entered():
    stream, failed = strata.Stream(), []
    for entered in (False, True):
        if entered:
            with stream:
                pass
        with pytest.raises(strata.UsageError, match="was not entered on this thread"):
            stream.__exit__(None, None, None)
    with stream:

        def leave():
            try:
                stream.__exit__(None, None, None)
            except strata.UsageError as e:
                failed.append(str(e))

        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
        assert "on this thread" in failed[0] and strata.current_stream().ptr == stream.ptr


def test_a_thread_ends_inside_of_a_block():
    def enter():
        strata.Stream().__enter__()
        (Tensor([1.0]) + 1).realize()

    for _ in range(3):
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
