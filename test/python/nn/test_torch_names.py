"""strata.nn.functional has the values and derivatives of torch.nn.functional."""

import contextlib
import inspect

import numpy as np
import pytest
import strata
import strata.nn.functional as F
import torch_reference
import torch_reference_images
from rows_of_torch import ROWS
from strata import Tensor, nn
from test_torch_signatures import NOT, SIGNATURES
from tested import QUICK_TARGET

try:
    import torch
except ImportError:
    torch = None


@pytest.fixture(autouse=True)
def quickly():
    with strata.config(target=QUICK_TARGET):
        yield


def reference(name):
    name = name.removesuffix("_")
    return getattr(torch_reference, name, None) or getattr(torch_reference_images, name)


def made(make, value):
    return make(value) if isinstance(value, np.ndarray) else value


def called(function, make, given, named):
    found = function(*(made(make, x) for x in given), **{n: made(make, x) for n, x in named.items()})
    return found if isinstance(found, tuple) else (found,)


def of_type(dtype):
    return lambda x: Tensor(x).cast(dtype) if x.dtype == np.float64 else Tensor(x)


def close(got, want, dtype, label=""):
    for one, right in zip(got, want, strict=True):
        assert one.shape == np.shape(right), label
        if one.dtype.is_float:
            assert one.dtype == dtype, label
            # Once rounded: half a unit in the last place, and what float32 leaves on the way.
            ulp = {"float32": 2e-5, "float16": 2.0**-11 * 1.02, "bfloat16": 2.0**-8 * 1.02}[dtype]
            np.testing.assert_allclose(one.cast("float64").numpy(), right, rtol=ulp, atol=2e-5, err_msg=label)
        else:
            np.testing.assert_array_equal(one.numpy(), right, err_msg=label)


BY_NAME = {}
for _name, _given, _named in ROWS:
    BY_NAME.setdefault(_name, []).append((_given, _named))


def shown(name, given, named):
    """The call, with shapes for arrays."""
    say = lambda x: f"{x.dtype}{x.shape}" if isinstance(x, np.ndarray) else repr(x)  # noqa: E731
    return f"{name}({', '.join([*map(say, given), *(f'{n}={say(x)}' for n, x in named.items())])})"


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_values_are_numpys(name, dtype):
    for i, (given, named) in enumerate(BY_NAME[name]):
        if dtype == "float32" or not name.startswith("conv") or i < 1:
            want = called(reference(name), lambda x: x, given, named)
            close(called(getattr(F, name), of_type(dtype), given, named), want, dtype, shown(name, given, named))


def smooth_arguments(given, named):
    """Those that a derivative is taken by: the first tensor of floats, in its place among all."""
    return next((i for i, x in enumerate(given) if isinstance(x, np.ndarray) and x.dtype.kind == "f"), None)


@pytest.mark.parametrize(
    "name", [n for n in BY_NAME if n not in ("one_hot", "grid_sample", "rrelu_") and not n.endswith("_")]
)
def test_derivatives_are_those_of_numpys_values(name):
    """Along one direction, by central differences of the reference."""
    for given, named in BY_NAME[name]:
        at, label = smooth_arguments(given, named), shown(name, given, named)
        if at is None or "inplace" in named or "padding_idx" in named or (name == "threshold" and len(given) > 3):
            continue
        value = lambda x: np.asarray(called(reference(name), lambda v: v, (*given[:at], x, *given[at + 1 :]), named)[0])  # noqa: B023, E731
        right = value(given[at])
        if not np.isfinite(right).all():
            continue
        weights, along = (
            np.cos(np.arange(right.size)).reshape(right.shape),
            np.sin(np.arange(given[at].size) + 1).reshape(given[at].shape),
        )
        step = 1e-6
        want = ((value(given[at] + step * along) - value(given[at] - step * along)) / (2 * step) * weights).sum()
        x = Tensor(given[at]).cast("float32").requires_grad_()
        got = called(getattr(F, name), of_type("float32"), (*given[:at], x, *given[at + 1 :]), named)[0]
        slope = strata.gradients((got * Tensor(weights).cast("float32")).sum(), [x])[0]
        size = abs(slope.numpy() * along).sum()
        np.testing.assert_allclose(
            (slope.numpy() * along).sum(), want, rtol=1e-4, atol=1e-4 * size + 1e-6, err_msg=label
        )


def same(got, want):
    np.testing.assert_allclose(got.numpy(), want, rtol=2e-5, atol=2e-5)


ARRAY = np.array([[-1.5, 0.25, 2.0], [0.5, -0.75, 7.0]], np.float32)


@pytest.mark.parametrize("name", [n for n, line in SIGNATURES.items() if "inplace=" in line or n.endswith("_")])
def test_what_is_stored_in_place_is_inputs_value_and_has_its_gradient(name):
    if name in NOT:
        return
    more = (0.1, 7.0) if name.startswith("threshold") else ()
    plain, image = (
        name.removesuffix("_"),
        np.tile(ARRAY, (2, 3, 2, 2, 1))[tuple([0] * (2 if "dropout1d" == name else 1 if "dropout2d" == name else 0))]
        if "dropout" in name
        else ARRAY,
    )
    strata.manual_seed(3)
    want = getattr(F, plain)(Tensor(image), *more, **({"training": True} if "dropout" in name else {}))
    x = Tensor(image).requires_grad_()
    y = x * 1
    strata.manual_seed(3)
    got = getattr(F, name)(
        y,
        *more,
        **({} if name.endswith("_") else {"inplace": True}),
        **({"training": True} if "dropout" in name else {}),
    )
    assert got is y
    same(y, want.numpy())
    y.sum().backward()
    assert x.grad.shape == x.shape and not (x.grad.numpy() == 0).all()
    same(x, image)


@pytest.mark.parametrize("name", [n for n, line in SIGNATURES.items() if "size_average" in line])
def test_size_average_and_reduce_are_older_words_of_reduction(name):
    given, named = BY_NAME[name][0]
    whole = lambda **more: called(getattr(F, name), of_type("float32"), given, {**named, **more})[0].numpy()  # noqa: E731
    for words, reduction in (
        ({"size_average": False}, "sum"),
        ({"reduce": False}, "none"),
        ({"size_average": True}, "mean"),
        ({"size_average": False, "reduce": False}, "none"),
        ({"reduce": True}, "mean"),
    ):
        np.testing.assert_array_equal(whole(**words), whole(reduction=reduction))
    with pytest.raises(strata.UsageError, match="mean, sum or none"):
        whole(reduction="median")


def test_dropout_leaves_out_elements_or_whole_channels():
    ones = Tensor.ones(40, 30, 4, 2, 3)
    for name, shape, together in (
        ("dropout", (40, 30), 1),
        ("dropout1d", (40, 30, 4), 4),
        ("dropout2d", (40, 30, 4, 2), 8),
        ("dropout3d", (40, 30, 4, 2, 3), 24),
    ):
        x = Tensor.ones(*shape)
        strata.manual_seed(3)
        got = getattr(F, name)(x, 0.25).numpy()
        assert set(np.unique(got)) == {0.0, np.float32(1 / 0.75)} and abs(got.mean() - 1) < 0.06
        channels = got.reshape(-1, together)
        assert (channels == channels[:, :1]).all()
        assert getattr(F, name)(x, 0.5, training=False) is x and getattr(F, name)(x, 1.0).sum().item() == 0
        if name == "dropout2d":  # three axes are (n, channels, size) there
            continue
        single = getattr(F, name)(x[0], 0.25).numpy().reshape(-1, together)
        assert (single == single[:, :1]).all() and len(np.unique(single)) == 2
        with pytest.raises(strata.UsageError, match="between 0 and 1"):
            getattr(F, name)(x, 1.5)
    strata.manual_seed(3)
    got = F.dropout(ones[0, 0], 0.25).numpy()
    strata.manual_seed(3)
    np.testing.assert_array_equal(got, nn.Dropout(0.25)(ones[0, 0]).numpy())


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout"])
def test_alpha_dropout_keeps_mean_and_variance(name):
    x = Tensor(np.random.default_rng(0).standard_normal((60, 40, 5)).astype(np.float32))
    got = getattr(F, name)(x, 0.3, True).numpy()
    assert abs(got.mean()) < 0.06 and abs(got.std() - 1) < 0.06 and getattr(F, name)(x, 0.3) is x
    values, counts = np.unique(got, return_counts=True)
    low = got == values[counts.argmax()]
    assert 0.25 < low.mean() < 0.35 and (name == "alpha_dropout" or (low == low[:, :, :1]).all())


def test_random_slopes_and_choices():
    x = Tensor(np.full((100, 8), -1.0, np.float32))
    slopes = -F.rrelu(x, 0.25, 0.5, training=True).numpy()
    assert slopes.min() >= 0.25 and slopes.max() <= 0.5 and slopes.std() > 0.05 and abs(slopes.mean() - 0.375) < 0.02
    likely = np.array([0.2, 0.5, 0.3], np.float32)
    logits = Tensor(np.tile(np.log(likely), (2000, 1))).requires_grad_()
    hard = F.gumbel_softmax(logits, 0.7, hard=True)
    assert set(np.unique(hard.numpy().round(6))) == {0.0, 1.0} and abs(hard.numpy().mean(0) - likely).max() < 0.04
    (hard * Tensor([1.0, 2.0, 4.0])).sum().backward()
    assert abs(logits.grad.numpy()).max() > 0.1
    soft = F.gumbel_softmax(logits, 0.7, dim=0)
    same(soft.sum(0), np.ones(3))
    q = Tensor(np.eye(4, dtype=np.float32)[None])
    out = F.scaled_dot_product_attention(q, q, q, dropout_p=0.5).numpy()
    assert (out == 0).any() and F.scaled_dot_product_attention(q, q, q, dropout_p=0.0).numpy().min() > 0


def test_attention_takes_one_of_mask_and_causal():
    q = Tensor(np.ones((1, 4, 2, 3), np.float32))
    with pytest.raises(strata.UsageError, match="is_causal=True goes without attn_mask"):
        F.scaled_dot_product_attention(q, q, q, q[..., :2], is_causal=True)
    with pytest.raises(strata.ShapeError, match="axis -3"):
        F.scaled_dot_product_attention(q, q[:, :3], q[:, :3], enable_gqa=True)


def test_embedding_changes_what_its_arguments_say():
    table, ids = np.arange(12, dtype=np.float32).reshape(4, 3) + 1, Tensor([[1, 3, 1], [1, 0, 2]])
    weight = Tensor(table).requires_grad_()
    F.embedding(ids, weight, padding_idx=-2).sum().backward()
    same(weight.grad, np.array([[1] * 3, [3] * 3, [0] * 3, [1] * 3]))
    weight = Tensor(table).requires_grad_()
    F.embedding(ids, weight, scale_grad_by_freq=True).sum().backward()
    same(weight.grad, np.ones((4, 3)))
    weight = Tensor(table).requires_grad_()
    got = F.embedding(Tensor([1, 1]), weight, max_norm=2.0)
    short = table[1] * 2 / np.linalg.norm(table[1])
    same(got, np.array([short, short]))
    same(weight, np.array([table[0], short, *table[2:]]))
    with pytest.raises(strata.UsageError, match="padding_idx 4 of 4 entries"):
        F.embedding(ids, weight, 4)


@pytest.mark.parametrize("name, axes", [("batch_norm", (0, 2)), ("instance_norm", (2,))])
def test_norms_mix_what_they_saw_into_the_running_statistics(name, axes):
    x = np.random.default_rng(0).standard_normal((4, 3, 5)).astype(np.float32) * 2 + 1
    mean, var = Tensor(np.zeros(3, np.float32)), Tensor(np.ones(3, np.float32))
    getattr(F, name)(Tensor(x), mean, var, None, None, True, 0.25)
    same(mean, 0.25 * x.mean(axes).reshape(-1, 3).mean(0))
    same(var, 0.75 + 0.25 * x.var(axes, ddof=1).reshape(-1, 3).mean(0))


def test_types_and_axes_that_are_not_named():
    x = Tensor(ARRAY).cast("float16")
    assert F.softmax(x, dtype="float32").dtype == "float32" and F.log_softmax(x, 1).dtype == "float16"
    assert F.one_hot(Tensor([0, 2])).shape == (2, 3)
    same(F.max_pool2d(Tensor(ARRAY)[None, None], 2, return_indices=True)[1].cast("float32"), np.array([[[[3]]]]))


IN_ROWS = (
    "conv2d conv_transpose2d max_pool2d avg_pool2d adaptive_avg_pool2d adaptive_max_pool2d lp_pool2d interpolate "
    "grid_sample affine_grid unfold fold pad pixel_shuffle channel_shuffle batch_norm group_norm layer_norm "
    "rms_norm local_response_norm embedding embedding_bag one_hot linear bilinear cosine_similarity normalize glu "
    "softmax prelu scaled_dot_product_attention"
).split()


@pytest.mark.parametrize("name", IN_ROWS)
def test_no_rows_give_no_rows(name):
    given, named = BY_NAME[name][0]
    beside = {
        "grid_sample": 2,
        "affine_grid": 1,
        "bilinear": 2,
        "cosine_similarity": 2,
        "scaled_dot_product_attention": 3,
    }.get(name, 1)
    want = called(reference(name), lambda x: x, given, named)[0].shape[1:]
    named = {**named, "num_classes": 6} if name == "one_hot" else named
    given = [
        x[:0] if i < beside else (0, *x[1:]) if (name, i) == ("affine_grid", 1) else x for i, x in enumerate(given)
    ]
    assert called(getattr(F, name), of_type("float32"), given, named)[0].numpy().shape == (0, *want)


def test_no_steps_of_attention():
    given, named = BY_NAME["multi_head_attention_forward"][0]
    out, weights = called(F.multi_head_attention_forward, of_type("float32"), (given[0][:0], *given[1:]), named)
    assert out.numpy().shape == (0, 2, 8) and weights.numpy().shape == (2, 0, 8)


REFUSED = [
    ("conv2d", (np.ones((2, 3)), np.ones((4, 3, 3, 3))), strata.ShapeError, "conv2d"),
    ("max_pool2d", (np.ones((1, 1, 4, 4)), (2,) * 4), strata.UsageError, "max_pool2d"),
    ("conv1d", (np.ones((1, 2, 5)), np.ones((2, 2, 3)), None, 2, "same"), strata.UsageError, "stride 1 alone"),
    ("conv1d", (np.ones((1, 2, 5)), np.ones((2, 2, 3)), None, 1, "full"), strata.UsageError, "same or valid"),
    ("mse_loss", (np.ones((3, 1)), np.ones(3)), strata.ShapeError, "differ"),
    ("interpolate", (np.ones((1, 1, 4)), 3, None, "bilinear"), strata.ShapeError, "2 sizes"),
    ("interpolate", (np.ones((1, 1, 4)), 3, None, "nearest", True), strata.UsageError, "align_corners goes with"),
    ("pad", (np.ones((2, 3)), (3, 0), "reflect"), strata.UsageError, "reflection"),
    ("pad", (np.ones((2, 3)), (1, 0), "circular", 2.0), strata.UsageError, "value 2.0 goes with mode constant"),
    ("cross_entropy", (np.ones((2, 3)), np.array([0, 1]), np.ones(2)), strata.ShapeError, "3 classes"),
    ("grid_sample", (np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 3))), strata.ShapeError, "grid_sample"),
    ("fold", (np.ones((1, 4, 5)), (3, 3), 2), strata.ShapeError, r"channels \* 4, 4"),
    ("batch_norm", (np.ones((2, 3)), None, None), strata.UsageError, "running_mean"),
    ("pixel_shuffle", (np.ones((1, 3, 2, 2)), 2), strata.ShapeError, "multiple of 4"),
    ("max_unpool1d", (np.ones((1, 1, 2)), np.zeros((1, 1, 2), int), 2, None, 0, (9,)), strata.UsageError,
        "within the stride"), ("affine_grid", (np.ones((1, 2, 3)), (1, 1, 2)), strata.ShapeError, "theta"),
    ("embedding_bag", (np.array([0, 1]), np.ones((2, 2))), strata.ShapeError, "offsets"),
    ("normalize", (np.ones((2, 2)), 2.0, 1, 1e-12, 0), strata.UsageError, "use the result"),
]  # fmt: skip


@pytest.mark.parametrize("name, given, kind, said", REFUSED, ids=[f"{row[0]}-{i}" for i, row in enumerate(REFUSED)])
def test_what_does_not_fit_is_said(name, given, kind, said):
    with pytest.raises(kind, match=said):
        called(getattr(F, name), of_type("float32"), given, {})


def test_names_that_tensors_do_not_have_lead_there():
    for name in ("conv2d", "conv_transpose1d", "max_pool2d", "dropout", "grid_sample"):
        with pytest.raises(AttributeError, match=rf"strata\.nn\.functional\.{name}\("):
            getattr(Tensor([1.0]), name)


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize("name", BY_NAME if torch else ())
def test_values_are_torchs(name):
    tensor = lambda x: torch.tensor(x.astype(np.float32) if x.dtype == np.float64 else x)  # noqa: E731
    for given, named in BY_NAME[name]:
        given = given[:1] if name == "gelu" else given
        want = [x.numpy() for x in called(getattr(torch.nn.functional, name), tensor, given, named)]
        close(called(getattr(F, name), of_type("float32"), given, named), want, "float32", shown(name, given, named))


@pytest.mark.emulated
@pytest.mark.parametrize("name", BY_NAME)
def test_results_are_where_the_arguments_are(name):
    """On a device that is not the one where tensors are made by default."""
    given, named = BY_NAME[name][-1]
    other = lambda x: of_type("float32")(x).to("emu:gfx1201")  # noqa: E731
    found = called(getattr(F, name), other, given, named)
    assert {str(x.device) for x in found} == {"emu:gfx1201"}
    close(found, called(reference(name), lambda x: x, given, named), "float32")


@pytest.mark.parametrize("name", BY_NAME)
def test_functions_are_captured(name):
    """strata.jit of each gives the same for other values, without what one call made being kept for the next."""
    given, named = BY_NAME[name][0]
    if name in ("one_hot", "grouped_mm", "ctc_loss") or "inplace" in named or name.endswith("_"):
        return
    is_array = lambda x: isinstance(x, np.ndarray)  # noqa: E731
    arrays = [x for x in (*given, *named.values()) if is_array(x)]
    plain, words = (
        [None if is_array(x) else (x,) for x in given],
        {n: None if is_array(x) else (x,) for n, x in named.items()},
    )
    function = getattr(F, name)

    def call(*tensors):
        rest = iter(tensors)
        found = function(
            *[next(rest) if x is None else x[0] for x in plain],
            **{n: next(rest) if x is None else x[0] for n, x in words.items()},
        )
        return found if isinstance(found, Tensor) else found[0]

    captured = strata.jit(call)
    for scale in (1.0, 0.5, 0.25):
        tensors = [of_type("float32")(x * scale if x.dtype == np.float64 and x is arrays[0] else x) for x in arrays]
        np.testing.assert_allclose(captured(*tensors).numpy(), call(*tensors).numpy(), rtol=1e-6, atol=1e-6)


SIZES = {
    "kernel_size",
    "output_size",
    "size",
    "num_classes",
    "upscale_factor",
    "downscale_factor",
    "stride",
    "padding",
    "dilation",
    "groups",
}


@pytest.mark.parametrize("huge", [2**31, 2**70], ids=hex)
def test_a_huge_size_is_refused_or_lazy(huge):
    """The host makes no list of that many places."""
    import layer_calls
    import random_values

    for name in (n for n in SIGNATURES if hasattr(F, n)):
        f = getattr(F, name)
        parameters = inspect.signature(f).parameters
        axes = next((int(c) for c in name if c in "123"), 2)
        x = Tensor.ones(1, 2, *[4] * axes)
        for place in SIZES & set(parameters):
            r = random_values.seeded(name, place)
            given = {
                p: layer_calls.strategy_of(p).draw(r)
                for p, what in parameters.items()
                if what.default is what.empty and what.kind is what.POSITIONAL_OR_KEYWORD
            }
            given |= {p: 2 for p in ("kernel_size", "stride") if p in given} | {"input": x, place: huge}
            with contextlib.suppress(strata.Error):
                f(**given)
