"""Equal expressions are one graph, and yet each device has a value of its own: in both orders, and after a launch that
failed.
"""

import numpy as np
import pytest
import strata
from strata import Tensor

pytestmark = pytest.mark.emulated
A, B = "emu:gfx1100", "emu:gfx942"
ORDERS = pytest.mark.parametrize("first, second", [(A, B), (B, A)], ids=["default first", "default last"])
COUNT = np.arange(12, dtype=np.float32)

BUMP = strata.hip_kernel(
    'extern "C" __global__ void bump(float* x) { x[threadIdx.x] += 100; }', name="bump", grid=1, block=12
)
ADD = strata.hip_kernel(
    'extern "C" __global__ void add(float* x, const float* y) { x[threadIdx.x] += y[threadIdx.x]; }',
    name="add",
    grid=1,
    block=12,
)
WILD = strata.hip_kernel(
    'extern "C" __global__ void wild(float* x) { x[1ll << 52] = 1; }', name="wild", grid=1, block=12
)
UNKNOWN = strata.hip_kernel(
    (
        'extern "C" __global__ void unknown(float* x) { x[0] += 1; asm volatile(".long 0xf07c0104, 0xf07c0104, '
        '0xf07c0104"); }'
    ),
    name="unknown",
    grid=1,
    block=12,
)

# Tensors of 12 floats that name no device, with their values.
UNPLACED = {
    "zeros": (lambda: Tensor.zeros(12), COUNT * 0),
    "ones": (lambda: Tensor.ones(12), COUNT * 0 + 1),
    "full": (lambda: Tensor.full((12,), 2.5), COUNT * 0 + 2.5),
    "arange": (lambda: Tensor.arange(12, dtype="float32"), COUNT),
    "linspace": (lambda: Tensor.linspace(0.0, 11.0, 12), COUNT),
    "eye": (lambda: Tensor.eye(3, 4).flatten(), np.eye(3, 4).reshape(-1)),
    "contiguous": (lambda: Tensor.zeros(12).contiguous(), COUNT * 0),
    "twice contiguous": (lambda: (Tensor.arange(12, dtype="float32").contiguous() + 1).contiguous(), COUNT + 1),
    "arithmetic": (lambda: Tensor.arange(12, dtype="float32") * 3 + 1, COUNT * 3 + 1),
    "view": (
        lambda: Tensor.arange(24, dtype="float32").reshape(4, 6).T[1:4].flatten(),
        np.arange(24).reshape(4, 6).T[1:4].reshape(-1),
    ),
    "expanded": (
        lambda: Tensor.arange(4, dtype="float32").contiguous().reshape(4, 1).expand(4, 3).flatten(),
        np.repeat(np.arange(4), 3),
    ),
    "reduction": (
        lambda: Tensor.arange(36, dtype="float32").reshape(12, 3).sum(axis=1),
        np.arange(36).reshape(12, 3).sum(axis=1),
    ),
    "scan": (lambda: Tensor.ones(12).cumsum(0), COUNT + 1),
    "joined": (lambda: strata.cat([Tensor.zeros(5), Tensor.ones(7)]), COUNT >= 5),
    "chosen": (lambda: strata.where(Tensor.arange(12) < 5, 1.0, 2.0), np.where(COUNT < 5, 1, 2)),
    "triangle": (lambda: Tensor.ones(3, 4).tril().flatten(), np.tri(3, 4).reshape(-1)),
    "taken": (lambda: Tensor.arange(12, dtype="float32")[Tensor.arange(11, -1, -1)], COUNT[::-1]),
    "cast": (lambda: Tensor.arange(12).cast("float32"), COUNT),
    "lazy kernel": (lambda: Tensor.zeros(12).custom_kernel(kernel=BUMP)[0], COUNT * 0 + 100),
    "after a lazy kernel": (
        lambda: Tensor.arange(12, dtype="float32").custom_kernel(kernel=BUMP)[0] * 2,
        COUNT * 2 + 200,
    ),
}
# The same of a device: from the host.
PLACED = {
    "from the host": (lambda device: Tensor(COUNT, device=device), COUNT),
    "x + 1": (lambda device: Tensor(COUNT, device=device) + 1, COUNT + 1),
    "like another": (lambda device: Tensor(COUNT, device=device).full_like(3), COUNT * 0 + 3),
    "zeros there": (lambda device: Tensor.zeros(12, device=device), COUNT * 0),
    "ones there": (lambda device: Tensor.ones(12, device=device), COUNT * 0 + 1),
    "arange there": (lambda device: Tensor.arange(12, dtype="float32", device=device), COUNT),
}
WAYS = {
    **PLACED,
    **{name: (lambda device, make=make: make().to(device), want) for name, (make, want) in UNPLACED.items()},
}
EQUAL = pytest.mark.parametrize("make, want", WAYS.values(), ids=WAYS)
ALONE = pytest.mark.parametrize("make, want", UNPLACED.values(), ids=UNPLACED)


def check(t, device, want):
    """The values are right, for the host and for kernels of the device."""
    assert t.device == device
    assert t.realize().device == device
    np.testing.assert_array_equal(t.numpy(), want)
    np.testing.assert_array_equal((t + 1).numpy(), want + np.float32(1))
    (bumped,) = BUMP(t)
    assert bumped.device == device
    np.testing.assert_array_equal(bumped.numpy(), want + np.float32(100))


@ORDERS
@EQUAL
def test_equal_tensors_have_a_value_on_each_device(make, want, first, second):
    one, other, again, more = make(first), make(second), make(first), make(second) + 1
    one.realize()
    check(other, second, want)
    one, later = make(first), make(second)
    strata.realize([later, one])
    check(one, first, want)
    check(later, second, want)
    check(again, first, want)
    np.testing.assert_array_equal(more.numpy(), want + np.float32(1))


@ORDERS
@ALONE
def test_one_graph_is_computed_on_the_device_of_each_who_uses_it(make, want, first, second):
    x = make()
    users = {device: x + Tensor(COUNT, device=device) for device in (first, second)}
    moved = {device: x.to(device) for device in (second, first)}
    with strata.config(device=first):
        (x + 0).realize()
        x.realize()
    assert x.device == first
    for device in (second, first):
        np.testing.assert_array_equal(users[device].numpy(), want + COUNT)
        check(moved[device], device, want)


FAILURES = [(A, B, WILD, strata.MemoryFault), (B, A, WILD, strata.MemoryFault), (A, B, UNKNOWN, strata.Unsupported)]


@pytest.mark.parametrize(
    "first, second, failing, error",
    FAILURES,
    ids=["a fault on the default", "a fault on the other", "an unknown instruction"],
)
@EQUAL
def test_a_launch_that_failed_leaves_the_other_device_its_own_value(make, want, first, second, failing, error):
    one, other = make(first), make(second)
    with pytest.raises(error):
        failing(one)
    check(other, second, want)
    check(make(first), first, want)
    check(make(second), second, want)


@pytest.mark.parametrize("device", [A, B])
@ALONE
def test_a_kernel_has_tensors_that_name_no_device_where_the_others_are(make, want, device):
    x, y = Tensor(COUNT, device=device), make()
    np.testing.assert_array_equal(x.custom_kernel(y, kernel=ADD)[0].numpy(), want + COUNT)
    (sum_,) = ADD(x, y)
    assert sum_.device == y.device == device
    np.testing.assert_array_equal(sum_.numpy(), want + COUNT)
    y, x = make(), Tensor(COUNT, device=device)
    (sum_,) = ADD(y, x)
    assert sum_.device == device
    np.testing.assert_array_equal(sum_.numpy(), want + COUNT)


def on_b(*shape):
    return Tensor(np.zeros(shape, np.float32), device=B)


METHODS = {
    "sum": lambda n: on_b(n).sum(),
    "mean": lambda n: on_b(n).mean(),
    "all": lambda n: on_b(n).all(),
    "var": lambda n: on_b(n).var(),
    "cumsum": lambda n: on_b(n).cumsum(0),
    "matmul": lambda n: on_b(2, n) @ on_b(n, 2),
    "matmul with what names none": lambda n: Tensor.zeros(2, n) @ on_b(n, 2),
    "pad": lambda n: on_b(n).pad([(1, 1)], 2.0),
    "cat": lambda n: strata.cat([Tensor.zeros(n), on_b(n)]),
    "stack": lambda n: strata.stack([Tensor.zeros(n), on_b(n)]),
    "index": lambda n: on_b(n, 2)[:, 1],
    "indices": lambda n: Tensor.zeros(5)[on_b(n).cast("int32")],
    "gather": lambda n: Tensor.zeros(n).gather(0, on_b(n).cast("int32")),
    "one_hot": lambda n: on_b(n).cast("int32").one_hot(3),
    "where": lambda n: strata.where(on_b(n) > 0, 1.0, 2.0),
    "isnan of integers": lambda n: on_b(n).cast("int32").isnan(),
    "full_like": lambda n: on_b(n).full_like(3),
    "tril": lambda n: on_b(2, n).tril(),
    "rand": lambda n: Tensor.rand(n, device=B),
    "randn": lambda n: Tensor.randn(n, device=B),
    "randint": lambda n: Tensor.randint(0, 4, (n,), device=B),
}


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("result", METHODS.values(), ids=METHODS)
def test_a_result_is_where_its_tensors_are(result, n):
    t = result(n)
    assert t.device == B and t.realize().device == B
    with pytest.raises(strata.DeviceError, match="gfx942"):
        t + Tensor([1.0], device=A)


# Functions of (3, 0) floats whose value has elements that none of theirs are in, or none; the gradient goes past them
# by a rule.
OF_NOTHING = {
    "sum": lambda x: x.sum(1),
    "pad": lambda x: x.pad([(1, 0), (0, 2)], 2.0),
    "cat": lambda x: strata.cat([x, strata.ones((3, 2))], 1),
    "product": lambda x: x @ strata.ones((0, 4)),
    "take": lambda x: x.take(strata.zeros((0,), dtype="int64"), 1),
    "windows": lambda x: strata.functional.windows(x.pad([(0, 0), (2, 2)]), 2),
    "conv": lambda x: strata.functional.conv(x.pad([(0, 0), (2, 2)])[:, None], strata.ones((2, 1, 3))),
}


@ORDERS
@pytest.mark.parametrize("f", OF_NOTHING.values(), ids=OF_NOTHING)
def test_gradients_of_tensors_of_nothing_are_on_the_device_of_each(f, first, second):
    kept = []
    for device in (first, second, first):
        with strata.config(device=device):
            value, slope = strata.value_and_grad(lambda x: (f(x) * 2 + x.sum()).sum())(
                Tensor(np.zeros((3, 0), np.float32))
            )
            assert (value.device, slope.device, slope.shape) == (device, device, (3, 0))
            assert np.isfinite(value.item())
            kept.append((value, slope))
