"""Tensors are values: a kernel that writes changes the tensor that it is called with, and nothing that shares its
memory.
"""

import copy
import pickle

import numpy as np
import pytest
import strata
from strata import Tensor, uop

N = 24
START = np.arange(N, dtype=np.float32)

HIP = (
    'extern "C" __global__ void bump(float* x, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += '
    "100; }"
)
ASM = """
    s_load_b64 s[4:5], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_b32 v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_add_f32 v2, 0x42c80000, v2
    global_store_b32 v1, v2, s[4:5]
    s_endpgm
"""


@pytest.fixture(scope="module")
def hip():
    return strata.hip_kernel(HIP, name="bump", grid=1, block=32)


@pytest.fixture(scope="module")
def assembly():
    return strata.asm_kernel(ASM, arch="gfx1100", name="bump", args=["x"], grid=1, block=N)


def bump(x):
    i = uop.range(N, 0, "global")
    return uop.sink(x[i].store(x[i].load() + 100.0).end(i), name="bump")


def together(*tensors):
    strata.realize(tensors)
    return tensors


def equal_graphs():
    x = Tensor(START - 1)
    kept = x + 1
    return (x + 1).realize(), (x + 1).realize(), kept


def of(share):
    """A realized tensor, and what `share` makes of it."""

    def make():
        a = Tensor(START).realize()
        return a, share(a)

    return make


def result_of_a_kernel():
    first = strata.hip_kernel(HIP, name="bump", grid=1, block=32)
    (a,) = Tensor(START - 100).custom_kernel(N, kernel=first)
    b = copy.copy(a)
    return a.realize(), b


# name -> a function that gives tensors and arrays of which some share memory, the one to be written first
SHARINGS = {
    "realized equal graphs": equal_graphs,
    "equal graphs realized together": lambda: (lambda x: together(x + 1, x + 1, x + 1))(Tensor(START - 1)),
    "a copy": of(copy.copy), "a deep copy": of(copy.deepcopy),
    "a pickled copy": of(lambda a: pickle.loads(pickle.dumps(a))),
    "+a": of(lambda a: +a), "Tensor(a)": of(Tensor), "a of its own type": of(lambda a: a.cast(a.dtype)),
    "a on its own device": of(lambda a: a.to(a.device)),
    "contiguous": of(lambda a: a.contiguous()), "contiguous in memory": of(lambda a: a.contiguous().realize()),
    "a reshape": of(lambda a: a.reshape(4, 6)), "a reshape in memory": of(lambda a: a.reshape(4, 6).realize()),
    "all of it": of(lambda a: a[:]),
    "a part": of(lambda a: a[2:]), "a part in memory": of(lambda a: a[2:].realize()),
    "a row": of(lambda a: a.reshape(4, 6)[1]),
    "transposed": of(lambda a: a.reshape(4, 6).T), "flipped": of(lambda a: a.flip(0)),
    "repeated": of(lambda a: a.unsqueeze(0).expand(3, N)),
    "a value to be computed": of(lambda a: a * 2 + 1), "a sum to be computed": of(lambda a: a.sum()),
    "a value of a view of it": of(lambda a: a[3:9] * 2),
    "an array": of(np.asarray), "an array by DLPack": of(lambda a: np.from_dlpack(a, device="cpu")),
    "an array that is a part": of(lambda a: np.asarray(a)[5:]),
    "the result of a kernel and its copy": result_of_a_kernel,
    "zeros": lambda: together(Tensor.zeros(N), Tensor.zeros(N)),
    "ones": lambda: together(Tensor.ones(N), Tensor.ones(4, 6), Tensor.ones(N)),
    "full": lambda: together(Tensor.full((N,), 2.5), Tensor.full((N,), 2.5)),
    "arange": lambda: together(Tensor.arange(0, N, dtype="float32"), Tensor.arange(0, N, dtype="float32")),
    "zeros to be made": lambda: (Tensor.zeros(N), Tensor.zeros(N)),
    "rand": lambda: (lambda r: (r, copy.copy(r), +r))(Tensor.rand(N).realize()),
    "rand to be made": lambda: (lambda r: (r, copy.copy(r)))(Tensor.rand(N)),
}  # fmt: skip


def values(shared):
    return [np.array(v.numpy() if isinstance(v, Tensor) else v) for v in shared]


def expect(shared, before, written):
    """Those of `written` have 100 more; all else is what it was."""
    for i, (got, was) in enumerate(zip(values(shared), before)):
        np.testing.assert_allclose(got, was + 100 * (i in written), rtol=1e-6, err_msg=f"number {i}")


@pytest.fixture(params=SHARINGS.values(), ids=SHARINGS.keys())
def shared(request):
    """A tensor that shares memory, and the values of an equal one: to look at them would realize them."""
    strata.manual_seed(7)
    before = values(request.param())
    strata.manual_seed(7)
    return request.param(), before


def test_a_call_changes_the_tensor_that_it_was_given_alone(shared, hip):
    tensors, before = shared
    for times in (1, 2):
        (out,) = hip(tensors[0], N)
        assert out is tensors[0]
        before[0] = before[0] + 100 * (times == 2)
        expect(tensors, before, {0})


@pytest.mark.amd
def test_a_call_of_assembly_changes_the_tensor_that_it_was_given_alone(shared, assembly):
    tensors, before = shared
    assembly(tensors[0])
    expect(tensors, before, {0})


def test_what_shares_it_may_be_written_too(shared, hip):
    tensors, before = shared
    whole = [i for i, t in enumerate(tensors) if isinstance(t, Tensor) and t.size == N and t.dtype == "float32"]
    for i in reversed(whole):
        hip(tensors[i], N)
    expect(tensors, before, set(whole))


@pytest.mark.parametrize("way", ["hip", pytest.param("assembly", marks=pytest.mark.amd), "function"])
def test_a_lazy_launch_leaves_its_arguments_as_they_are(shared, hip, assembly, way):
    tensors, before = shared
    arguments, kernel = {"hip": ((N,), hip), "assembly": ((), assembly), "function": ((), bump)}[way]
    first, second = (tensors[0].custom_kernel(*arguments, kernel=kernel)[0] for _ in range(2))
    third = first.custom_kernel(*arguments, kernel=kernel)[0]
    strata.realize([second, third])
    expect(tensors, before, set())
    np.testing.assert_allclose(third.numpy().ravel(), before[0].ravel() + 200, rtol=1e-6)
    for once in (first, second):
        np.testing.assert_allclose(once.numpy().ravel(), before[0].ravel() + 100, rtol=1e-6)
    expect(tensors, before, set())


def test_an_operator_that_assigns_makes_a_new_value(shared):
    tensors, before = shared
    changed = tensors[0]
    changed += 100
    np.testing.assert_allclose(changed.numpy(), before[0] + 100, rtol=1e-6)
    expect(tensors, before, set())


def test_an_element_that_is_given_a_value_changes_no_other_tensor(shared):
    tensors, before = shared
    changed = copy.copy(tensors[0])
    changed[..., 0] = 5
    assert (changed.numpy()[..., 0] == 5).all()
    expect(tensors, before, set())


def test_two_arguments_that_share_memory_do_not_see_each_other_unless_they_are_one_tensor():
    add = strata.hip_kernel(
        'extern "C" __global__ void add(float* out, const float* x) { out[threadIdx.x] += x[(threadIdx.x + 1) % 24]; }',
        name="add",
        grid=1,
        block=N,
    )
    a = Tensor(START).realize()
    b = copy.copy(a)
    add(a, b)
    np.testing.assert_array_equal(a.numpy(), START + np.roll(START, -1))
    np.testing.assert_array_equal(b.numpy(), START)
    both = strata.hip_kernel(
        'extern "C" __global__ void both(float* x, float* y) { if (threadIdx.x == 0) { x[0] += 1; y[0] += 1; } }',
        name="both",
        grid=1,
        block=N,
    )
    x, y = both(b, b)
    assert x is b and y is b and b.numpy()[0] == 2


def test_equal_lazy_launches_of_one_graph_each_have_memory_of_their_own(hip):
    x = Tensor(START)
    a, b = (x + 1).custom_kernel(N, kernel=hip)[0], (x + 1).custom_kernel(N, kernel=hip)[0]
    value = x + 1
    np.testing.assert_array_equal((a + b + value).numpy(), 3 * (START + 1) + 200)
    np.testing.assert_array_equal(value.numpy(), START + 1)


def test_a_tensor_that_nobody_shares_is_written_where_it_is(hip):
    def address():
        return np.asarray(a).ctypes.data

    a = (Tensor(START) + 0).realize()
    before = address()
    (a * 2).numpy()
    dropped = a[2:] + 1
    del dropped
    for _ in range(3):
        hip(a, N)
    assert address() == before
    np.testing.assert_array_equal(a.numpy(), START + 300)
    out = copy.deepcopy(a)
    for _ in range(3):
        (out,) = out.custom_kernel(N, kernel=hip)
        out.realize()
    np.testing.assert_array_equal(out.numpy(), START + 600)


@pytest.mark.parametrize("n", [16, 17])
def test_places_that_a_group_of_threads_reads_are_not_overwritten_by_one_of_them(n, rng):
    """A row's threads sum up together, each of them gathers, and one stores: it may not store over the indices."""
    x, y = rng.standard_normal((2, n, n)).astype(np.float32)
    a, b = Tensor(x), Tensor(y)
    weights = np.exp((s := x.astype(float) @ x.T * 0.25) - s.max(-1, keepdims=True))
    with strata.config(target="asm", verify=True):
        got = (a @ a.mT * 0.25).softmax(-1) @ a + b.sort(1)
        np.testing.assert_allclose(
            got.numpy(), weights / weights.sum(-1, keepdims=True) @ x + np.sort(y, 1), rtol=1e-4, atol=1e-5
        )


def test_a_rows_sum_is_not_stored_over_its_elements_where_they_are_read_again(rng):
    x = rng.standard_normal((1, 2, 2)).astype(np.float32)

    def loss(t):
        rows = t.softmax(2)
        return (rows / rows.sum(1, True)).var((0, 1, 2), 0)

    found = []
    for schedule in ("heuristic", "none"):
        with strata.config(target="asm", schedule=schedule, verify=True):
            value, slope = strata.value_and_grad(loss)(Tensor(x))
            strata.realize([value, slope])
            found.append(np.append(slope.numpy(), value.item()))
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)
