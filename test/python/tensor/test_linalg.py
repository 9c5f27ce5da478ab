"""Linear algebra against numpy.linalg: types, stacks, empty matrices, what decompositions promise, gradients,
errors.
"""

import math

import numpy as np
import pytest
import strata
from strata import Tensor, linalg

TYPES = [np.float32, np.float64, np.complex64, np.complex128]
NEAR = {np.float32: 1e-4, np.complex64: 1e-4, np.float64: 1e-11, np.complex128: 1e-11}


def matrices(rng, shape, dtype):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.issubdtype(dtype, np.complexfloating) else x).astype(dtype)


def positive(rng, shape, dtype):
    x = matrices(rng, shape, dtype)
    return x @ np.conj(np.swapaxes(x, -1, -2)) + shape[-1] * np.eye(shape[-1], dtype=dtype)


def assert_near(got, want, dtype):
    want = np.asarray(want)
    assert got.shape == want.shape and got.dtype.name == want.dtype.name
    np.testing.assert_allclose(got.numpy(), want, rtol=NEAR[dtype], atol=NEAR[dtype])


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 5, 5), (0, 3, 3), (2, 0, 0)])
def test_of_square_matrices(shape, dtype, rng):
    x = matrices(rng, shape, dtype) + 2 * np.eye(shape[-1], dtype=dtype)
    t = Tensor(x)
    assert_near(linalg.inv(t), np.linalg.inv(x), dtype)
    assert_near(linalg.det(t), np.linalg.det(x), dtype)
    for got, want in zip(linalg.slogdet(t), np.linalg.slogdet(x)):
        assert_near(got, want, dtype)
    b = matrices(rng, (*shape[:-1], 2), dtype)
    assert_near(linalg.solve(t, Tensor(b)), np.linalg.solve(x, b), dtype)
    vector = matrices(rng, shape[-1:], dtype)
    assert_near(linalg.solve(t, Tensor(vector)), np.linalg.solve(x, vector[:, None])[..., 0], dtype)
    for n in (0, 1, 2, 5, -1, -2):
        assert_near(linalg.matrix_power(t, n), np.linalg.matrix_power(x, n), dtype)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_cholesky(dtype, upper, rng):
    x = positive(rng, (3, 4, 4), dtype)
    factor = linalg.cholesky(Tensor(x), upper=upper).numpy()
    np.testing.assert_array_equal(factor, (np.triu if upper else np.tril)(factor))
    np.testing.assert_allclose(
        adjoint(factor) @ factor if upper else factor @ adjoint(factor), x, rtol=NEAR[dtype], atol=NEAR[dtype]
    )
    with pytest.raises(linalg.LinAlgError):
        linalg.cholesky(Tensor(-x))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 5, 5), (0, 2, 2)])
def test_eigenvalues(shape, dtype, rng):
    x = positive(rng, shape, dtype)
    values, vectors = (part.numpy() for part in linalg.eigh(Tensor(x)))
    assert linalg.eigh(Tensor(x)).eigenvalues.dtype == np.dtype(dtype(0).real.dtype).name
    assert_near(linalg.eigvalsh(Tensor(x)), np.linalg.eigvalsh(x), dtype)
    np.testing.assert_allclose(
        vectors * values[..., None, :] @ adjoint(vectors), x, rtol=NEAR[dtype], atol=NEAR[dtype] * 10
    )
    np.testing.assert_allclose(adjoint(vectors) @ vectors, np.broadcast_to(np.eye(shape[-1]), shape), atol=NEAR[dtype])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 6, 2), (0, 3, 2)])
def test_orthogonal_decompositions(shape, dtype, rng):
    x, k = matrices(rng, shape, dtype), min(shape[-2:])
    for mode, size in (("reduced", k), ("complete", shape[-2])):
        q, r = linalg.qr(Tensor(x), mode=mode)
        assert q.shape == (*shape[:-1], size) and r.shape == (*shape[:-2], size, shape[-1])
        np.testing.assert_array_equal(r.numpy(), np.triu(r.numpy()))
        assert_near(q @ r, x, dtype)
        np.testing.assert_allclose(
            adjoint(q.numpy()) @ q.numpy(), np.broadcast_to(np.eye(size), (*shape[:-2], size, size)), atol=NEAR[dtype]
        )
    for full in (False, True):
        u, s, vh = linalg.svd(Tensor(x), full_matrices=full)
        assert u.shape == (*shape[:-1], shape[-2] if full else k) and vh.shape == (
            *shape[:-2],
            shape[-1] if full else k,
            shape[-1],
        )
        assert_near(u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :], x, dtype)
    assert_near(linalg.svdvals(Tensor(x)), np.linalg.svd(x, compute_uv=False), dtype)
    assert_near(linalg.pinv(Tensor(x)), np.linalg.pinv(x), dtype)


def test_ranks_and_singular_matrices(rng):
    x = matrices(rng, (2, 5, 3), np.float64)
    x[1, :, 2] = x[1, :, 0] + x[1, :, 1]
    assert linalg.matrix_rank(Tensor(x)).tolist() == [3, 2] and linalg.matrix_rank(Tensor(x)).dtype == "int64"
    assert linalg.matrix_rank(Tensor(x), rtol=10.0).tolist() == [0, 0] and linalg.matrix_rank(
        Tensor(x), rtol=Tensor([10.0, 0.0])
    ).tolist() == [0, 3]
    np.testing.assert_allclose(linalg.pinv(Tensor(x), rtol=1e-8).numpy(), np.linalg.pinv(x, rcond=1e-8), atol=1e-12)
    singular = Tensor([[1.0, 2.0], [2.0, 4.0]])
    assert linalg.slogdet(singular).sign.item() == 0 and linalg.slogdet(singular).logabsdet.item() == -math.inf
    with pytest.raises(linalg.LinAlgError):
        linalg.inv(singular)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_norms_of_matrices(order, dtype, rng):
    x = matrices(rng, (2, 4, 3), dtype)
    for keep in (False, True):
        assert_near(
            linalg.matrix_norm(Tensor(x), ord=order, keepdims=keep),
            np.linalg.matrix_norm(x, ord=order, keepdims=keep),
            dtype,
        )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", [0, 1, 2, 3, -1, 0.5, math.inf, -math.inf])
def test_norms_of_vectors(order, dtype, rng):
    x = matrices(rng, (2, 4, 3), dtype)
    for axis in (None, 0, -1, (0, 2), (1, 0)):
        for keep in (False, True):
            assert_near(
                linalg.vector_norm(Tensor(x), axis=axis, ord=order, keepdims=keep),
                np.linalg.vector_norm(x, axis=axis, ord=order, keepdims=keep).astype(dtype(0).real.dtype),
                dtype,
            )


@pytest.mark.parametrize("dtype", [*TYPES, np.int32])
def test_products(dtype, rng):
    x, y = (
        (10 * matrices(rng, (3, 4), np.float64)).astype(dtype),
        (10 * matrices(rng, (3, 4), np.float64)).astype(dtype),
    )
    near = dict(rtol=NEAR.get(dtype, 0), atol=NEAR.get(dtype, 0) * 100)
    t, u = Tensor(x), Tensor(y)
    for got, want in (
        (linalg.outer(t[0], u[1]), np.outer(x[0], y[1])), (linalg.vecdot(t, u), np.linalg.vecdot(x, y)),
        (linalg.vecdot(t, u, axis=-2), np.linalg.vecdot(x, y, axis=-2)),
        (linalg.vecdot(t, u[1]), np.linalg.vecdot(x, y[1])), (linalg.tensordot(t, u, axes=2), np.tensordot(x, y, 2)),
        (linalg.tensordot(t, u, axes=0), np.tensordot(x, y, 0)),
        (linalg.tensordot(t, u, axes=((0,), (0,))), np.tensordot(x, y, ((0,), (0,)))),
        (linalg.tensordot(t, u.T, axes=1), np.tensordot(x, y.T, 1)), (linalg.matmul(t, u.T), x @ y.T),
        (linalg.matrix_transpose(t), x.T), (linalg.cross(t[:, :3], u[:, :3]), np.cross(x[:, :3], y[:, :3])),
        (linalg.cross(t, u[:, :1], axis=0), np.cross(x, np.broadcast_to(y[:, :1], x.shape), axis=0)),
    ):  # fmt: skip
        assert got.dtype.name == want.dtype.name and got.shape == want.shape
        np.testing.assert_allclose(got.numpy(), want, **near)


@pytest.mark.parametrize("offset", [0, 1, -1, 2, -3, 5, -5])
def test_diagonals(offset, rng):
    for shape in ((4, 4), (2, 3, 5), (2, 5, 3), (0, 3, 3)):
        x = rng.integers(-9, 9, shape)
        np.testing.assert_array_equal(
            linalg.diagonal(Tensor(x), offset=offset).numpy(), np.linalg.diagonal(x, offset=offset)
        )
        np.testing.assert_array_equal(linalg.trace(Tensor(x), offset=offset).numpy(), np.linalg.trace(x, offset=offset))
    assert (
        linalg.trace(Tensor(np.ones((2, 2), np.int8))).dtype == "int64"
        and linalg.trace(Tensor.eye(2), dtype="float64").dtype == "float64"
    )


def test_gradients_of_products_and_norms(rng):
    x = matrices(rng, (4, 3), np.float64)
    size = np.sqrt(np.sum(x * x))
    np.testing.assert_allclose(strata.grad(lambda t: linalg.matrix_norm(t))(Tensor(x)).numpy(), x / size, rtol=1e-12)
    np.testing.assert_allclose(
        strata.grad(lambda t: linalg.vector_norm(t, ord=3))(Tensor(x)).numpy(),
        np.sign(x) * x**2 / np.sum(np.abs(x) ** 3) ** (2 / 3),
        rtol=1e-9,
    )
    np.testing.assert_allclose(strata.grad(lambda t: linalg.trace(t @ t.mT))(Tensor(x)).numpy(), 2 * x, rtol=1e-12)
    np.testing.assert_allclose(
        strata.grad(lambda t: linalg.diagonal(t, offset=1).sum())(Tensor(x)).numpy(), np.eye(4, 3, 1)
    )


WRONG = [
    (lambda x: linalg.inv(x[0]), strata.ShapeError, "has no matrices"),
    (lambda x: linalg.det(x), strata.ShapeError, "square"),
    (lambda x: linalg.qr(x, mode="raw"), strata.UsageError, "raw"),
    (lambda x: linalg.solve(x[:, :2], x.T), strata.ShapeError, "rows"),
    (lambda x: linalg.svd(x.cast("float16")), strata.DTypeError, "float16"),
    (lambda x: linalg.eigh(x.cast("int64")[:, :2]), strata.DTypeError, "int64"),
    (lambda x: linalg.outer(x, x), strata.ShapeError, "one axis"),
    (lambda x: linalg.cross(x, x[:, :2]), strata.ShapeError, "(?i)3 elements|broadcast"),
    (lambda x: linalg.vecdot(x, x[0], axis=0), strata.ShapeError, "along axis"),
    (lambda x: linalg.vecdot(x, x[:, :2]), strata.ShapeError, "of one size"),
    (lambda x: linalg.tensordot(x, x, axes=1), strata.ShapeError, "differ"),
    (lambda x: linalg.matrix_norm(x, ord=3), strata.UsageError, "ord 3"),
    (lambda x: linalg.vector_norm(x.cast("int32")), strata.DTypeError, "int32"),
    (lambda x: linalg.tensordot(x, x, axes=3), strata.UsageError, "3 axes"),
    (lambda x: linalg.diagonal(x[0]), strata.ShapeError, "has no matrices"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "kind", "said"), WRONG)
def test_errors(wrong, kind, said):
    with pytest.raises(kind, match=said):
        wrong(Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


@pytest.mark.parametrize(
    "order, axis, keepdims",
    [
        (None, None, False),
        (None, 1, True),
        (3, 0, False),
        (np.inf, -1, True),
        ("fro", (0, 1), False),
        ("nuc", (2, 0), True),
        (1, (1, 2), False),
        (-2, (2, 1), True),
        (None, (0, 2), False),
    ],
)
def test_norm_is_numpys(order, axis, keepdims, rng):
    x = rng.normal(size=(3, 4, 5))
    assert_near(strata.norm(Tensor(x), order, axis, keepdims), np.linalg.norm(x, order, axis, keepdims), np.float64)
    for small in (x[0], x[0, 0]):
        assert_near(strata.norm(Tensor(small), 2), np.linalg.norm(small, 2), np.float64)
    with pytest.raises(strata.UsageError, match="name one axis"):
        strata.norm(Tensor(x), 2)


def test_the_main_namespace_has_what_people_look_for_there(rng):
    a, b, m = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(4, 5))
    assert_near(strata.outer(Tensor(a), Tensor(b)), np.outer(a, b), np.float64)
    assert_near(strata.cross(Tensor(a), Tensor(b)), np.cross(a, b), np.float64)
    assert_near(strata.trace(Tensor(m), offset=1), np.trace(m, 1), np.float64)
    assert_near(strata.diagonal(Tensor(m), offset=-1), np.diagonal(m, -1), np.float64)


def both_ways(x, towards, f, step=1e-6):
    """The change of f, a function of an array, along a direction, by central differences."""
    return (f(x + step * towards) - f(x - step * towards)) / (2 * step)


RULES = {
    "inv": (lambda x, b: linalg.inv(x), lambda x, b: np.linalg.inv(x)),
    "det": (lambda x, b: linalg.det(x), lambda x, b: np.linalg.det(x)),
    "logabsdet": (lambda x, b: linalg.slogdet(x).logabsdet, lambda x, b: np.linalg.slogdet(x)[1]),
    "solve": (linalg.solve, np.linalg.solve),
    "cholesky": (lambda x, b: linalg.cholesky(x), lambda x, b: np.linalg.cholesky(x)),
    "upper": (lambda x, b: linalg.cholesky(x, upper=True), lambda x, b: np.linalg.cholesky(x, upper=True)),
    "power": (lambda x, b: linalg.matrix_power(x, -2), lambda x, b: np.linalg.matrix_power(x, -2)),
}  # fmt: skip


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3)])
@pytest.mark.parametrize("name", RULES)
def test_gradients_of_decompositions_are_central_differences(name, shape, rng):
    ours, theirs = RULES[name]
    x, b = positive(rng, shape, np.float64), rng.normal(size=(*shape[:-1], 2))
    w = rng.normal(size=theirs(x, b).shape)
    t, tb, tw = Tensor(x).requires_grad_(), Tensor(b).requires_grad_(), Tensor(w)
    y = ours(t, tb)
    np.testing.assert_allclose(y.numpy(), theirs(x, b), rtol=1e-10)
    (y * tw).sum().backward()
    for _ in range(3):
        towards = rng.normal(size=shape)
        towards = towards + np.swapaxes(towards, -1, -2) if name in ("cholesky", "upper") else towards
        np.testing.assert_allclose(
            (t.grad.numpy() * towards).sum(),
            both_ways(x, towards, lambda x: (w * theirs(x, b)).sum()),
            rtol=1e-5,
            atol=1e-7,
        )
    if name == "solve":
        towards = rng.normal(size=b.shape)
        np.testing.assert_allclose(
            (tb.grad.numpy() * towards).sum(),
            both_ways(b, towards, lambda b: (w * theirs(x, b)).sum()),
            rtol=1e-5,
            atol=1e-7,
        )
    towards = positive(rng, shape, np.float64)

    def slope(x):
        (g,) = strata.gradients((ours(x, Tensor(b)) * tw).sum(), [x])
        return (g * Tensor(towards)).sum()

    x2 = Tensor(x).requires_grad_()
    (second,) = strata.gradients(slope(x2), [x2])
    wanted = both_ways(x, towards, lambda x: slope(Tensor(x).requires_grad_()).item(), 1e-5)
    np.testing.assert_allclose(0 if second is None else (second.numpy() * towards).sum(), wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        strata.grad(lambda x: (ours(x, Tensor(b)) * tw).sum())(Tensor(x)).numpy(), t.grad.numpy(), rtol=1e-10
    )
    with pytest.raises(strata.Unsupported, match="inside two"):
        strata.grad(lambda x: strata.grad(lambda x: (ours(x, Tensor(b)) * tw).sum())(x).sum())(Tensor(x))


def test_gradients_of_solve_of_a_vector_and_of_repeated_matrices(rng):
    for a_shape, b_shape in [((3, 3), (3,)), ((2, 3, 3), (3, 1)), ((3, 3), (4, 3, 2)), ((2, 1, 3, 3), (5, 3, 2))]:
        a, b = positive(rng, a_shape, np.float64), rng.normal(size=b_shape)
        ta, tb = Tensor(a).requires_grad_(), Tensor(b).requires_grad_()
        y = linalg.solve(ta, tb)
        w = rng.normal(size=y.shape)
        (y * Tensor(w)).sum().backward()
        assert ta.grad.shape == a_shape and tb.grad.shape == b_shape
        along_a, along_b = rng.normal(size=a_shape), rng.normal(size=b_shape)
        np.testing.assert_allclose(
            (ta.grad.numpy() * along_a).sum(),
            both_ways(a, along_a, lambda a: (w * np.linalg.solve(a, b)).sum()),
            rtol=1e-5,
            atol=1e-7,
        )
        np.testing.assert_allclose(
            (tb.grad.numpy() * along_b).sum(),
            both_ways(b, along_b, lambda b: (w * np.linalg.solve(a, b)).sum()),
            rtol=1e-5,
            atol=1e-7,
        )


def test_gradients_that_are_not_there_say_so(rng):
    x = Tensor(positive(rng, (3, 3), np.float64)).requires_grad_()
    with pytest.raises(strata.Unsupported, match="detach"):
        linalg.qr(x)
    assert linalg.qr(x.detach()).R.shape == (3, 3)
    with pytest.raises(strata.Unsupported, match="complex"):
        linalg.inv(strata.complex(x, x))
    singular = Tensor(np.zeros((2, 2))).requires_grad_()
    with pytest.raises(linalg.LinAlgError):
        linalg.slogdet(singular)[1].backward()


@pytest.mark.parametrize(
    "values", [[1, 2, 3, 5], [2, 2, 3, 5], [2, 2, 2, 2], [-1, -1, 4, 4], [0, 0, 1, 1], [0, 0, 0, 0]]
)
def test_equal_values_have_gradients_of_what_no_choice_of_vectors_changes(rng, values):
    """By finite differences of symmetric changes; what depends on the choice has a finite gradient."""
    q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    x = (q * np.array(values, float)) @ q.T
    x, weights = (x + x.T) / 2, Tensor(rng.standard_normal((4, 4)))

    def between(t):
        vectors, top = linalg.eigh(t).eigenvectors, [i for i, v in enumerate(sorted(values)) if v == max(values)]
        part = vectors[:, top[0] :]
        return (part @ part.mT * weights).sum()

    functions = {
        "sum": lambda t: linalg.eigh(t).eigenvalues.sum(), "squares": lambda t: linalg.eigvalsh(t).square().sum(),
        "projector": between,
        "svdvals": lambda t: linalg.svdvals(t).square().sum(),
        "trace": lambda t: linalg.eigvalsh(t).sum() * linalg.eigvalsh(t).square().sum(),
    }  # fmt: skip
    for name, f in functions.items():
        got = strata.grad(f)(Tensor(x)).numpy()
        for _ in range(3):
            change = rng.standard_normal((4, 4))
            change = change + change.T
            step = 1e-5
            slope = (f(Tensor(x + step * change)).item() - f(Tensor(x - step * change)).item()) / (2 * step)
            np.testing.assert_allclose((got * change).sum(), slope, rtol=1e-5, atol=1e-5, err_msg=name)
    for f in (
        lambda t: linalg.eigh(t).eigenvectors,
        lambda t: linalg.svd(t)[0],
        lambda t: linalg.svd(t)[2],
        lambda t: linalg.svd(t[:, :3], full_matrices=False)[0],
        lambda t: linalg.svd(t[:2], full_matrices=False)[2],
    ):
        assert np.isfinite(strata.grad(lambda t: (f(t)[..., :2, :2] * weights[:2, :2]).sum())(Tensor(x)).numpy()).all()


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_a_determinant_has_the_gradient_of_its_cofactors_whatever_the_rank(rank, rng):
    x = np.stack([rng.standard_normal((3, rank)) @ rng.standard_normal((rank, 3)), np.diag([2.0, 0, 0][:3])])
    want = np.array(
        [
            [[np.linalg.det(np.delete(np.delete(m, i, 0), j, 1)) * (-1) ** (i + j) for j in range(3)] for i in range(3)]
            for m in x
        ]
    )
    np.testing.assert_allclose(
        strata.grad(lambda t: linalg.det(t).sum())(Tensor(x)).numpy(), want, rtol=1e-10, atol=1e-12
    )
