"""Memory of other libraries by DLPack. It is used in place, kept for as long as a tensor sees it, and never written; it
is copied where it cannot be used.
"""

import ctypes
import gc
import weakref

import numpy as np
import pytest
import strata
from strata import Tensor


class Producer:
    """A NumPy array whose capsules are counted, of version 1 or of the one before."""

    def __init__(self, array, versioned=True, device=(1, 0)):
        self.array, self.versioned, self.device, self.asked = array, versioned, device, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, max_version=None, dl_device=None, **named):
        self.asked.append((max_version, dl_device))
        if not self.versioned and max_version is not None:
            raise TypeError("max_version")
        return self.array.__dlpack__(max_version=max_version)


def shares(t, x):
    return np.shares_memory(np.asarray(t), x)


@pytest.mark.emulated
@pytest.mark.parametrize(
    "name", ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64"]
)
@pytest.mark.parametrize("shape", [(3, 5), (1,), (), (257,), (2, 0)])
def test_memory_of_the_host_is_used_where_it_is(name, shape, rng):
    x = np.asarray((rng.standard_normal(shape) * 9).astype(name))
    t = strata.from_dlpack(x)
    assert t.shape == x.shape and t.dtype == name and t.is_realized and (x.size == 0 or shares(t, x))
    np.testing.assert_array_equal(t.numpy(), x)
    np.testing.assert_array_equal((t.flatten() == Tensor(x).flatten()).numpy(), np.ones(x.size, bool))


def test_kernels_read_it_and_write_elsewhere(rng):
    x = rng.standard_normal((40, 30)).astype(np.float32)
    before, t = x.copy(), strata.from_dlpack(x)
    np.testing.assert_allclose((t @ t.T).numpy(), x @ x.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(t.sum(0).numpy(), x.sum(0), rtol=1e-4, atol=1e-5)
    t[3:5] = 0
    t += 1
    t.realize()
    assert t.tolist()[3][0] == 1
    np.testing.assert_array_equal(x, before)


def test_a_kernel_that_writes_its_argument_writes_a_copy():
    def double(out):
        i = strata.uop.range(4, 0)
        return strata.uop.sink(strata.uop.end(strata.uop.store(out.index(i), strata.uop.load(out.index(i)) * 2.0), i))

    x = np.arange(4, dtype=np.float32)
    out = strata.from_dlpack(x).custom_kernel(kernel=double)[0]
    assert out.tolist() == [0, 2, 4, 6] and x.tolist() == [0, 1, 2, 3]


@pytest.mark.emulated
def test_what_the_owner_writes_later_shows():
    x = np.zeros(8, np.int32)
    t = strata.from_dlpack(x)
    x[2] = 5
    assert t.tolist() == [0, 0, 5, 0, 0, 0, 0, 0] and t.max().item() == 5


@pytest.mark.emulated
def test_memory_is_kept_as_long_as_a_tensor_sees_it():
    class Array(np.ndarray):
        pass

    x = np.arange(64.0, dtype=np.float32).view(Array)
    gone = weakref.ref(x)
    t = strata.from_dlpack(x)
    part = t[10:20]
    del x, t
    gc.collect()
    assert gone() is not None and part.tolist() == [*range(10, 20)]
    del part
    for i in range(60):  # graphs that nothing reaches are swept when memory is wanted
        if gone() is None:
            break
        (Tensor(np.zeros(1 << 20, np.float32)) + i).realize()
    assert gone() is None


@pytest.mark.emulated
def test_one_array_may_be_taken_many_times_in_parts_too():
    x = np.arange(32, dtype=np.int64)
    all_, again, part = strata.from_dlpack(x), strata.from_dlpack(x), strata.from_dlpack(x[8:16])
    assert shares(all_, x) and shares(again, x) and shares(part, x)
    del all_, again
    gc.collect()
    assert part.tolist() == [*range(8, 16)] and (part * 2).tolist() == [*range(16, 32, 2)]
    other = np.arange(32, dtype=np.int64)
    first = strata.from_dlpack(other[:8])
    whole = strata.from_dlpack(other)  # of which a part is in use as something smaller
    assert not shares(whole, other) and whole.tolist() == [*range(32)] and first.tolist() == [*range(8)]
    with pytest.raises(BufferError, match="a part of its memory"):
        strata.from_dlpack(other, copy=False)


@pytest.mark.emulated
def test_what_cannot_be_used_where_it_is_is_copied_or_refused():
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    for array, why in [
        (x.T, "row-major"),
        (x[:, ::2], "row-major"),
        (x[::-1], "row-major"),
        (x.reshape(-1)[1:], "aligned"),
        (x.astype(np.complex64), "complex"),
    ]:
        t = strata.from_dlpack(array)
        assert not shares(t, x)
        np.testing.assert_array_equal(t.numpy(), array)
        with pytest.raises(BufferError, match=why):
            strata.from_dlpack(array, copy=False)
    assert not shares(strata.from_dlpack(x, copy=True), x)
    assert shares(strata.from_dlpack(x, copy=False), x)


@pytest.mark.emulated
def test_producers_of_both_versions_are_asked_as_they_can_be():
    x = np.arange(6, dtype=np.float32)
    new, old = Producer(x), Producer(x, versioned=False)
    for producer in (new, old):
        assert shares(strata.from_dlpack(producer), x)
    assert new.asked == [((1, 0), None)] and old.asked == [((1, 0), None), (None, None)]
    far = Producer(x, device=(2, 0))
    assert strata.from_dlpack(far).tolist() == x.tolist() and far.asked == [((1, 0), (1, 0))]


@pytest.mark.emulated
def test_arrays_that_may_not_be_written_are_read():
    x = np.arange(8, dtype=np.float32)
    x.flags.writeable = False
    assert shares(strata.from_dlpack(x), x)
    source = Tensor([1.0, 2.0, 3.0, 4.0]) + 0
    again = strata.from_dlpack(np.from_dlpack(source))
    assert again.tolist() == [1, 2, 3, 4]


def test_a_capsule_is_taken_once():
    capsule = np.arange(4, dtype=np.float32).__dlpack__(max_version=(1, 0))

    class Once:
        __dlpack_device__ = lambda self: (1, 0)  # noqa: E731
        __dlpack__ = lambda self, **named: capsule  # noqa: E731

    assert strata.from_dlpack(Once()).tolist() == [0, 1, 2, 3]
    with pytest.raises(BufferError, match="used_dltensor_versioned"):
        strata.from_dlpack(Once())


def changed(at, kind, value, array=None, within=False):
    """A producer whose capsule says something else at this byte, or in the list that the pointer there leads to.
    Offsets in DLManagedTensorVersioned: version at 0, manager_ctx 8, deleter 16, flags 24, then the tensor. Its fields
    are data 32, device 40, ndim 48, code 52, bits 53, lanes 54, shape 56, strides 64, byte_offset 72.
    """

    class Changed:
        __dlpack_device__ = lambda self: (1, 0)  # noqa: E731

        def __dlpack__(self, **named):
            self.capsule = (np.arange(4, dtype=np.float32) if array is None else array).__dlpack__(max_version=(1, 0))
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            place = pointer(self.capsule, b"dltensor_versioned") + at
            kind.from_address(ctypes.c_uint64.from_address(place).value if within else place).value = value
            return self.capsule

    return Changed()


def test_tensors_that_lie_are_refused():
    x = np.arange(8, dtype=np.float32)
    for array in (x, x[::2]):
        with pytest.raises(BufferError, match="no memory"):
            strata.from_dlpack(changed(32, ctypes.c_uint64, 0, array))
    for axes in (-1, 65, 1 << 30):
        with pytest.raises(BufferError, match=f"{axes} axes"):
            strata.from_dlpack(changed(48, ctypes.c_int32, axes))
    with pytest.raises(BufferError, match="without their sizes"):
        strata.from_dlpack(changed(56, ctypes.c_uint64, 0))
    with pytest.raises(strata.ShapeError, match="negative size"):
        strata.from_dlpack(changed(56, ctypes.c_int64, -1, within=True))
    with pytest.raises(BufferError, match="more than 64 bits"):
        strata.from_dlpack(changed(56, ctypes.c_int64, 1 << 62, within=True))
    assert strata.from_dlpack(changed(64, ctypes.c_uint64, 0)).tolist() == [0, 1, 2, 3]  # strides may be left out
    assert strata.from_dlpack(changed(72, ctypes.c_uint64, 4, x[:4])).tolist() == [1, 2, 3, 4]
    assert strata.from_dlpack(changed(4, ctypes.c_uint32, 99)).tolist() == [0, 1, 2, 3]  # of a later minor version
    assert strata.from_dlpack(changed(16, ctypes.c_uint64, 0)).tolist() == [
        0,
        1,
        2,
        3,
    ]  # no destructor: the end is not reported


@pytest.mark.parametrize(
    "kind",
    [
        "bool",
        "uint8",
        "int16",
        "int64",
        "float16",
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ],
)
def test_tensors_of_pytorch_go_both_ways(kind):
    torch = pytest.importorskip("torch")
    x = (torch.arange(12).reshape(3, 4) % 3).to(getattr(torch, kind))
    for view in (x, x.T, x[:, ::2], x.reshape(-1)[1:], x[:1].expand(3, 4), x[:0], x[1, 2]):
        t = strata.from_dlpack(view)
        again = torch.from_dlpack(t)
        assert t.shape == tuple(view.shape) and again.dtype == view.dtype and torch.equal(again.cpu(), view)


def test_versions_and_types_that_are_not_known_are_refused():
    with pytest.raises(BufferError, match="version 2.0"):
        strata.from_dlpack(changed(0, ctypes.c_uint32, 2))
    with pytest.raises(BufferError, match="2 lanes"):
        strata.from_dlpack(changed(54, ctypes.c_uint16, 2))
    with pytest.raises(BufferError, match="code 2, 24 bits"):
        strata.from_dlpack(changed(53, ctypes.c_uint8, 24))
    with pytest.raises(strata.UsageError):
        strata.from_dlpack(object())


def written(t, value):
    """A write by a consumer that does not heed DLPack's flag, to the first element; its array, which keeps the
    memory.
    """
    array = np.from_dlpack(t)
    ctypes.memmove(array.ctypes.data, np.array(value, array.dtype).tobytes(), array.itemsize)
    return array


@pytest.mark.emulated
def test_what_others_write_shows_in_what_has_that_memory_and_in_nothing_else():
    source = np.arange(4, dtype=np.float32)
    x, other = Tensor(source).realize(), Tensor(source).realize()
    before, again, twice = x + 1, x * 2, x * 2
    strata.realize([before, again, twice])
    later = x * 3
    array = written(x, 7)
    assert not array.flags.writeable and shares(x, array)
    assert x.tolist() == x.reshape(2, 2).flatten().tolist() == (x + 0).tolist() == [7, 1, 2, 3]
    assert (
        later.tolist() == [21, 3, 6, 9]
        and before.tolist() == [1, 2, 3, 4]
        and again.tolist() == twice.tolist() == [0, 2, 4, 6]
    )
    assert other.tolist() == source.tolist() == [0, 1, 2, 3]
    written(again, 9)
    assert twice.tolist() == [9, 2, 4, 6] and x.tolist() == [7, 1, 2, 3]
    own = np.from_dlpack(x, copy=True)
    own[:] = 5
    assert x.tolist() == [7, 1, 2, 3]


@pytest.mark.emulated
@pytest.mark.parametrize(
    "make",
    [lambda: strata.ones(4).contiguous(), lambda: strata.arange(1, 5), lambda: strata.ones(4).cumsum(0) + 1],
    ids=["ones", "arange", "computed"],
)
def test_constants_are_copied_for_others(make):
    first, second, expected = make().realize(), make(), make().tolist()
    array = written(first, 77)
    assert array[0] == 77 and array.flags.writeable
    assert first.tolist() == second.tolist() == make().tolist() == first.reshape(2, 2).flatten().tolist() == expected
    for t in (first, make()):
        with pytest.raises(BufferError, match="constant"):
            t.__dlpack__(copy=False)


@pytest.mark.emulated
def test_what_others_write_to_results_of_a_captured_function_is_not_in_those_of_later_calls():
    @strata.jit
    def f(x):
        c = Tensor(np.arange(4, dtype=np.float32))
        return x + c, c, strata.ones(4).contiguous()

    x = Tensor(np.ones(4, np.float32)).realize()
    for _ in range(6):
        results = f(x)
        assert [t.tolist() for t in results] == [[1, 2, 3, 4], [0, 1, 2, 3], [1, 1, 1, 1]]
        arrays = [written(t, 77) for t in results]
        assert all(a[0] == 77 for a in arrays)
    assert f.captures == 1 and x.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("said", [5, "x", None, (1,), ("a", 0), [1.5, 0]], ids=str)
def test_producers_that_say_nonsense_are_named(said):
    class Producer:
        def __dlpack__(self, **named):
            return said

        def __dlpack_device__(self):
            return said

    with pytest.raises(strata.UsageError, match=r"__dlpack_device__\(\) gives .*, not a pair"):
        strata.from_dlpack(Producer())
    Producer.__dlpack_device__ = lambda self: (1, 0)
    with pytest.raises((strata.Error, TypeError, BufferError)) as caught:
        strata.from_dlpack(Producer())
    assert "arg0" not in str(caught.value)
    for wrong in (object(), 5, None, "x", [1.0], Producer):
        with pytest.raises(strata.UsageError, match="takes what has __dlpack__"):
            strata.from_dlpack(wrong if wrong is not Producer else said)


CASTS = (
    'extern "C" __global__ void casts(float* out, const float* x) { ((float*)x)[threadIdx.x] = 9; '
    "out[threadIdx.x] = 1; }"
)


@pytest.fixture(scope="module")
def casts():
    return strata.hip_kernel(CASTS, name="casts", grid=1, block=4)


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.emulated
@pytest.mark.parametrize(
    "kind", ["an array that is read-only", "a file mapped to be read", "an array", "a tensor", "a view of it"]
)
def test_a_kernel_that_casts_const_away_writes_no_memory_of_others(kind, casts, tmp_path):
    """Whoever shares the memory, a tensor or an array, has it as it was: the write is a fault, and the next launch is
    well.
    """
    np.arange(4, dtype=np.float32).tofile(tmp_path / "x")
    own = Tensor(np.arange(4, dtype=np.float32)).realize()
    x = {
        "an array that is read-only": lambda: read_only(np.arange(4, dtype=np.float32)),
        "a file mapped to be read": lambda: np.memmap(tmp_path / "x", np.float32, mode="r"),
        "an array": lambda: np.arange(4, dtype=np.float32),
        "a tensor": lambda: own,
        "a view of it": lambda: own.numpy(),
    }[kind]()
    t = x if kind == "a tensor" else strata.from_dlpack(x)
    with pytest.raises(
        strata.MemoryFault,
        match="read-only.*every parameter of this launch that points there is const: take const away"
        if "read" not in kind
        else "which is read-only",
    ):
        casts(Tensor.empty(4), t)
    assert np.asarray(x).tolist() == t.tolist() == own.tolist() == [0, 1, 2, 3]
    assert (t + 1).tolist() == [1, 2, 3, 4]
    both = Tensor(np.arange(4, dtype=np.float32)).realize()
    casts(both, both)  # it is given to be written, too
    assert both.tolist() == [1, 1, 1, 1]


@pytest.mark.emulated
def test_memory_that_is_read_only_is_no_result_of_anything():
    x = read_only(np.arange(8, dtype=np.float32))
    t = strata.from_dlpack(x)
    step = strata.jit(lambda t: t.exp().log() + t)
    for _ in range(4):
        step(t)
    t += 1
    t[0] = 5
    assert t.tolist() == [5, 2, 3, 4, 5, 6, 7, 8] and x.tolist() == list(range(8))


@pytest.mark.emulated
def test_memory_may_be_written_as_long_as_somebody_lent_it_so():
    x = np.arange(8, dtype=np.float32)
    bump = strata.hip_kernel(
        'extern "C" __global__ void bump(float* x) { x[threadIdx.x] += 1; }', name="bump", grid=1, block=8
    )
    shown = x.view()
    shown.flags.writeable = False
    first = strata.from_dlpack(shown)
    second = strata.from_dlpack(x)
    bump(second)
    assert first.tolist()[0] in (0, 1) and (x[0] == 1) == (first.tolist()[0] == 1)
    del second
    gc.collect()
    assert first.tolist() == shown.tolist()
