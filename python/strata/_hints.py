"""Hints for names and arguments that Strata does not have: those of NumPy, PyTorch and tinygrad, and misspelt
ones.

Imported at the first mistake, never before.
"""

import difflib
import functools
import re
import reprlib

import strata

from .lang._foreign import LANG as LANG

_NEVER_CHANGES = "operations do not change tensors: "
_CAST = "x.cast(dtypes.{})"

# Functions of layers elsewhere -> those of strata.nn.functional, which has them by torch's arguments.
_LAYERS = {
    **{f"conv{kind}{n}d": f"strata.nn.functional.conv{kind}{n}d(x, weight)" for kind in ("", "_transpose") for n in (1,
        2, 3)},
    **{f"{kind}_pool{n}d": f"strata.nn.functional.{kind}_pool{n}d(x, {(2,) * n})" for kind in ("max",
        "avg") for n in (1, 2, 3)}, "dropout": "strata.nn.functional.dropout(x, p)",
}  # fmt: skip

# Names of members of a Tensor elsewhere -> what to write.
TENSOR = {
    "reshape_as": "x.view_as(y)", "resize": "x.reshape(...)",
    "cuda": 'x.to("emu:gfx1100"); strata.devices() lists them', "get_device": "x.device",
    "copy": "x.clone()",
    "zero_grad": "x.grad = None", "retain_grad": "strata.gradients(y, [x])", "is_leaf": "x.requires_grad",
    "grad_fn": "the graph itself: strata.explain(x)",
    "char": _CAST.format("int8"), "byte": _CAST.format("uint8"),
    "type": "x.cast(dtype)",
    "itemsize": "x.dtype.itemsize", "element_size": "x.dtype.itemsize", "nelement": "x.size",
    "stride": "x.shape; memory is row-major", "strides": "x.shape; memory is row-major",
    "data": "x.numpy()", "data_ptr": "np.asarray(x).ctypes.data", "tobytes": "x.numpy().tobytes()",
    "buffer": "np.asarray(x)", "lazydata": "x.uop",
    "t": "x.T", "rearrange": "x.reshape(...).permute(...)",
    "concat": "strata.cat([x, y])", "concatenate": "strata.cat([x, y])", "cat": "strata.cat([x, y])",
    "stack": "strata.stack([x, y])", "masked_select": "x[mask]",
    "fill": "x.full_like(value)", "fill_": "x[...] = value", "zero_": "x.zeros_like()", "copy_": "x[...] = y",
    "add_": "x = x + y", "sub_": "x = x - y", "mul_": "x = x * y", "div_": "x = x / y",
    "index_select": "x.take(indices, axis)", "take_along_dim": "x.gather(axis, indices)",
    "take_along_axis": "x.gather(axis, indices)", "onehot": "x.one_hot(n)",
    "mm": "x @ y", "bmm": "x @ y", "mv": "x @ y", "ptp": "x.max() - x.min()",
    "floor_div": "x // y", "fmod": "x - (x / y).trunc() * y", "mod": "x % y", "invert": "~x", "bitwise_not": "~x",
    "rint": "x.round()",
    "relu_": "x = x.relu()", "logsoftmax": "x.log_softmax()", "cross_entropy": "strata.nn.cross_entropy(x, target)",
    "sparse_categorical_crossentropy": "strata.nn.cross_entropy(x, target)", "layernorm": "strata.nn.layernorm(x)",
    "linear": "strata.nn.linear(x, weight)",
    "masked_scatter": "x[mask] = values", "index_fill": "x[indices] = value",
    "narrow": "x[..., start : start + length]", "select": "x[..., i]", "unbind": "strata.unstack(x)",
    "index_copy": "x[indices] = y", "index_put_": "x[indices] = y", "scatter_": "x = x.scatter(axis, indices, values)",
    "scatter_reduce": "x.scatter_add(axis, indices, values)",
    "diag": "x.unsqueeze(-1) * Tensor.eye(n); strata.diagonal(x) of a matrix",
    "diag_embed": "x.unsqueeze(-1) * Tensor.eye(n)", "mH": "x.mT.conj()", "H": "x.mT.conj()",
    "argwhere": "strata.stack(x.nonzero(), 1)",
    "lerp": "x + (y - x) * weight", "frac": "x - x.trunc()", "addmm": "x + a @ b",
    "isclose": "(x - y).abs() <= atol + rtol * y.abs()", "allclose": "((x - y).abs() <= atol + rtol * y.abs()).all()",
    "nan_to_num": "strata.where(x.isnan(), 0, x)", "isin": "(x.unsqueeze(-1) == y.flatten()).any(-1)",
    "is_floating_point": "x.dtype.is_float", "is_complex": "x.dtype.is_complex",
    "new_zeros": "Tensor.zeros(shape, dtype=x.dtype, device=x.device)",
    "new_ones": "Tensor.ones(shape, dtype=x.dtype, device=x.device)", "var_mean": "x.var(axis), x.mean(axis)",
    "std_mean": "x.std(axis), x.mean(axis)",
    **_LAYERS, "mse_loss": "strata.nn.losses.mse(x, target)", "layer_norm": "strata.nn.layernorm(x)",
    "uniform": "Tensor.rand(...)", "uniform_": "x.assign(Tensor.rand(x.shape))",
    "normal_": "x.assign(Tensor.randn(x.shape))", "kaiming_uniform": "strata.nn.init.kaiming_uniform(shape)",
    "kaiming_normal": "strata.nn.init.kaiming_normal(shape)",
    "glorot_uniform": "strata.nn.init.xavier_uniform(shape)",
    "scaled_uniform": "strata.nn.init.uniform(shape, low, high)", "schedule": "strata.explain(x)",
    "sequential": "strata.nn.Sequential(*layers)(x)", "train": "module.train()", "training": "module.training",
    "is_contiguous": "x.contiguous()", "is_cuda": "x.device", "save": "strata.save(file, {name: x})",
}  # fmt: skip

# Names of functions of a package elsewhere -> what to write.
_OF_TENSOR = ("rand", "randn", "randint")
PACKAGE = {
    **{name: f"strata.Tensor.{name}(...)" for name in _OF_TENSOR}, "tensor": "strata.asarray(data)",
    "array": "strata.asarray(data)", "from_numpy": "strata.Tensor(array)",
    "as_tensor": "strata.Tensor(data)", "concatenate": "strata.cat(tensors)", "vstack": "strata.cat(tensors)",
    "hstack": "strata.cat(tensors, axis=1)", "autograd": "strata.grad(f), or x.backward()",
    "mm": "x @ y", "unique": "strata.unique_values(x)", "device": "strata.devices(), or device= of what makes a tensor",
    "cuda": "strata.devices()", "set_default_device": "strata.config(device=...)", "jit": "strata.compile(tensor)",
    "dot": "x @ y", "inner": "x @ y.mT", "permute": "strata.permute_dims(x, axes)", "ravel": "x.flatten()",
    "swapaxes": "x.transpose(i, j)", "split": "x.split(sizes, axis)", "array_split": "x.chunk(n, axis)",
    "dstack": "strata.cat(tensors, axis=2)",
    "bitwise_not": "strata.bitwise_invert(x)", "amax": "strata.max(x)", "amin": "strata.min(x)",
    "clamp": "strata.clip(x, min, max)", "nanquantile": "strata.nanmedian(x); strata.quantile(x, q)",
    "randperm": "Tensor.rand(n).argsort()", "fliplr": "strata.flip(x, axis=1)", "flipud": "strata.flip(x, axis=0)",
    **_LAYERS,
    **{name: TENSOR[name] for name in ("addmm", "allclose", "argwhere", "diag", "diag_embed", "fmod", "index_select",
                                       "isclose", "isin", "lerp", "masked_select", "nan_to_num", "std_mean",
                                       "take_along_dim", "var_mean")},
    "is_tensor": "isinstance(x, strata.Tensor)", "get_default_dtype": "float32, where dtype= says nothing else",
    "set_default_dtype": "dtype= of what makes a tensor", "inference_mode": "strata.no_grad()",
    "autocast": 'module.to("bfloat16"), or strata.optim.LossScaler for float16',
    "utils": "batches: x[i : i + n] for i in range(0, len(x), n)", "bmm": "x @ y",
    "set_grad_enabled": "strata.no_grad()", "enable_grad": "gradients are on outside of strata.no_grad()",
    "random": "strata.Tensor.rand(...)", "bfloat16": "strata.dtypes.bfloat16",
}  # fmt: skip

# Names of strata.nn and of its modules elsewhere -> what to write.
NN = {
    **{f"{kind}Pool{n}d": f"strata.nn.{kind}Pool({(2,) * n})" for kind in ("Max", "Avg") for n in (1, 2, 3)},
    **{f"Adaptive{kind}Pool{n}d": f"strata.nn.functional.adaptive_{kind.lower()}_pool{n}d(x, size)" for kind in ("Max",
        "Avg") for n in (1, 2, 3)},
    **{f"Dropout{n}d": "strata.nn.Dropout(p)" for n in (1, 2, 3)},
    "Upsample": "strata.nn.functional.interpolate(x, scale_factor=2)",
    "ModuleList": "a list: self.blocks = [...]; a Module finds its parts in lists",
    "ModuleDict": "a dict: self.parts = {...}; a Module finds its parts in dicts", "ParameterList": "a list of tensors",
    "Parameter": "tensor.requires_grad_(), as an attribute of a Module",
    "Buffer": "a tensor that requires no gradient, as an attribute of a Module",
    "CrossEntropyLoss": "strata.nn.cross_entropy(logits, target)",
    "NLLLoss": "strata.nn.losses.nll(log_probabilities, target)", "MSELoss": "strata.nn.losses.mse(x, target)",
    "L1Loss": "strata.nn.losses.l1(x, target)",
    "BCELoss": "strata.nn.losses.binary_cross_entropy(x, target)",
    "BCEWithLogitsLoss": "strata.nn.losses.binary_cross_entropy_with_logits(x, target)",
    "SmoothL1Loss": "strata.nn.losses.smooth_l1(x, target)",
    "HuberLoss": "strata.nn.losses.huber(x, target)", "KLDivLoss": "strata.nn.losses.kl_div(log_probabilities, target)",
    "CTCLoss": "strata.nn.losses.ctc(...)",
    "TripletMarginLoss": "strata.nn.losses.triplet_margin(anchor, positive, negative)",
    "utils": "strata.optim.clip_grad_norm(parameters, max_norm)", "RNN": "strata.nn.GRU or strata.nn.LSTM",
    "DataParallel": "one device at a time: device= of what makes a tensor",
    **{f"Transformer{part}": "strata.nn.MultiheadAttention, LayerNorm and Linear; "
                             "examples/13_characters.py has a block of them" for part in ("", "Encoder", "Decoder",
                                 "EncoderLayer", "DecoderLayer")},
}  # fmt: skip
# Names of vLLM, AITER, FlashInfer and flash-attention.
KERNELS = {
    "rms_norm": "strata.nn.functional.rms_norm(x, shape, weight)",
    "layer_norm": "strata.nn.functional.layer_norm(x, shape, weight, bias)",
    "fused_add_rms_norm": "strata.kernels.add_rms_norm(x, residual, weight)",
    "scaled_int8_quant": "strata.kernels.quantize_per_token(x)",
    "scaled_fp8_quant": 'strata.kernels.quantize_per_tensor(x, "fp8e4m3")',
    "per_token_group_quant_fp8": 'strata.kernels.quantize_per_group(x, "fp8e4m3")',
    "rotary_cos_sin_cache": "strata.kernels.rotary_cos_sin(max_positions, rotary_dim)",
    "flash_attn_func": "strata.kernels.flash_attention(q, k, v)",
    "flash_attn_varlen_func": "strata.kernels.flash_attention_varlen(...)",
    "merge_attn_states": "strata.kernels.merge_states(out_a, lse_a, out_b, lse_b)",
    "paged_attention_v1": "strata.kernels.paged_attention(...)",
    "fused_experts": "strata.kernels.fused_moe(...)",
    "grouped_topk": "strata.kernels.topk_softmax(logits, k, groups=g, topk_groups=n)",
    "scaled_mm": "strata.nn.functional.scaled_mm(a, b, scale_a, scale_b)",
    "grouped_mm": "strata.nn.functional.grouped_mm(a, b, offs)",
    "linear_cross_entropy": "strata.nn.functional.linear_cross_entropy(x, weight, target)",
}
INIT = {**{f"{name}_": f"tensor.assign(strata.nn.init.{name}(tensor.shape))" for name in ("uniform", "normal", "zeros",
    "ones", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal")},
        "constant_": "tensor.assign(tensor.full_like(value))",
        "trunc_normal_": "tensor.assign(strata.nn.init.normal(tensor.shape))",
        "orthogonal_": "strata.linalg.qr(x)"}  # fmt: skip
OPTIM = {
    "lr_scheduler": "lr=strata.optim.cosine(3e-4, steps=1000), step_decay, linear, exponential",
    "GradScaler": "strata.optim.LossScaler()",
    "RMSprop": "strata.optim.Adam",
    "Adagrad": "strata.optim.Adam",
    "LBFGS": "strata.optim.SGD",
}
MODULE = {
    "cuda": 'module.to(device="hip")', "cpu": 'module.to(device="emu:gfx1100")',
    "add_module": "an attribute: module.name = part", "register_module": "an attribute: module.name = part",
    "register_parameter": "an attribute: module.name = tensor.requires_grad_()",
    "register_buffer": "an attribute: module.name = tensor",
    "buffers": "[t for t in module.state_dict().values() if not t.requires_grad]",
    "named_buffers": "module.state_dict()", "register_forward_hook": "a forward() of your own that calls module",
    "compile": "strata.jit(module)", "type": "module.to(dtype)",
}  # fmt: skip

UOP = {
    "for_range": 'uop.range(size, id, "loop")', "loop": 'uop.range(size, id, "loop")',
    "if_": "uop.where(condition, x, y), or a predicate: buffer.index(i, predicate)",
    "select": "uop.where(condition, x, y)",
    "global_id": 'uop.range(size, id, "global")',
    "thread_idx": 'uop.special("lidx0", size)', "block_idx": 'uop.special("gidx0", size)',
    "shared": 'uop.placeholder(size, dtype, "local")', "syncthreads": "uop.barrier(effects)", "max": "x.maximum(y)",
    "min": "x.minimum(y)", "item": "a UOp has no value before the kernel runs",
    "numpy": "a UOp has no value before the kernel runs", "astype": "x.cast(dtype)",
    "sum": 'uop.reduce(value, "add", *ranges)', "constant": "uop.const(value, dtype)",
    "shfl_xor": "uop.shuffle_xor(value, mask)", "shuffle": "uop.shuffle_xor(value, mask)",
    "mma": "uop.wmma(name, a, b, c)", "mfma": "uop.wmma(name, a, b, c)", "tensor_core": "uop.wmma(name, a, b, c)",
}  # fmt: skip

DTYPES = {
    "float": "dtypes.float32", "double": "dtypes.float64", "half": "dtypes.float16", "int": "dtypes.int32",
    "long": "dtypes.int64", "short": "dtypes.int16", "uint": "dtypes.uint32", "char": "dtypes.int8",
    "uchar": "dtypes.uint8", "bool_": "dtypes.bool",
    "complex": "dtypes.complex64", "cfloat": "dtypes.complex64", "cdouble": "dtypes.complex128",
    "fp8": "dtypes.fp8e4m3 or dtypes.fp8e5m2", "float8_e4m3fn": "dtypes.fp8e4m3", "float8_e5m2": "dtypes.fp8e5m2",
}  # fmt: skip

# Arguments elsewhere -> Strata's of the same meaning; those that may be given with their neutral value.
ARGUMENTS = {
    "dim": "axis",
    "dims": "axis",
    "axes": "axis",
    "keepdim": "keepdims",
    "ddof": "correction",
    "a_min": "min",
    "a_max": "max",
    "dim0": "axis0",
    "dim1": "axis1",
    "indices_or_sections": "sizes",
    "split_size": "sizes",
    "num_classes": "classes",
    "steps": "num",
    "fill": "fill_value",
}
NEUTRAL = {
    "out": (None,),
    "dtype": (None,),
    "order": ("C", "K", None),
    "copy": (None,),
    "requires_grad": (False,),
    "device": (None, ""),
    "stream": (None,),
    "memory_format": (None,),
}
ABOUT = {
    "requires_grad": "x.requires_grad_()",
    "out": _NEVER_CHANGES + "use the result",
    "dtype": "cast the result: .cast(dtype)",
    "unbiased": "correction=1 divides by n - 1",
    "inplace": _NEVER_CHANGES + "use the result",
}

# Arguments by the names that they had in the last version -> those of now, of which a function has one.
RENAMED = {
    "rate": ("lr",), "decay": ("weight_decay",), "most": ("max_norm", "max_value"), "features_in": ("in_features",),
    "features_out": ("out_features",),
    "channels_in": ("in_channels",), "channels_out": ("out_channels",), "window": ("kernel_size",),
    "count_padding": ("count_include_pad",), "entries": ("num_embeddings",),
    "width": ("embedding_dim", "embed_dim", "hidden_size", "normalized_shape"), "width_in": ("input_size",),
    "heads": ("num_heads",), "kv_heads": ("num_kv_heads",),
    "channels": ("num_channels", "num_features"), "slope": ("negative_slope",), "low": ("min_val",),
    "high": ("max_val",), "groups": ("num_groups",), "shape": ("normalized_shape",), "affine": ("elementwise_affine",),
    "gate": ("predicate",), "start": ("offset",), "factor": ("gamma",), "every": ("step_size", "growth_interval"),
    "growth": ("growth_factor",), "backoff": ("backoff_factor",), "scale": ("init_scale",),
}  # fmt: skip


def by_own_names(where, own, named):
    """The named arguments under names in `own`: those of the last version with a warning, torch's of the same meaning
    silently. None where no name changes."""
    from ._renamed import warn

    meant = {}
    for name, value in named.items():
        new = (
            [name]
            if name in own
            else [n for n in (*RENAMED.get(name, ()), ARGUMENTS.get(name)) if n in own and n not in named]
        )
        if name not in own and new and name in RENAMED:
            warn(where, name, new[0])
        if new:
            meant[new[0]] = value
        elif name != "inplace":  # layers give a new tensor, whatever it says
            return None
    return meant if meant.keys() != named.keys() else None


class _Short(reprlib.Repr):
    def repr_Tensor(self, x, level):
        return f"<Tensor {x.shape} {x.dtype.name}>"  # a message computes nothing


_short = _Short()
_short.maxother = _short.maxstring = 80


@functools.lru_cache(256)  # programs that ask with hasattr ask again
def _close(name, names):
    return difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], 3, 0.7)


def missing(owner, names, table, name):
    """Raises the AttributeError of a name that `owner` does not have."""
    error = f"{owner} has no '{name}'"
    if name in table:
        raise AttributeError(f"{error}: {table[name]}", name=name)
    if owner == "Tensor" and callable(getattr(strata, name, None)):
        raise AttributeError(f"{error}: strata.{name}(x)", name=name)
    if owner in ("Tensor", "strata") and callable(vars(strata.nn.functional).get(name)):
        raise AttributeError(f"{error}: strata.nn.functional.{name}(x)", name=name)
    close = _close(name, tuple(names))
    raise AttributeError(f"{error}; close: {', '.join(close)}" if close else error, name=name)


def attribute_of_module(module, name):
    """The value under the name that it has now; raises the AttributeError of what is not there."""
    for new in RENAMED.get(name, ()):
        if new in vars(module):
            from ._renamed import warn

            warn(type(module).__name__, name, new)
            return vars(module)[new]
    missing(type(module).__name__, dir(module), MODULE, name)


def signature(function):
    """(name, parameters as text, their names) of a bound function."""
    first = (function.__doc__ or "").split("\n", 1)[0]
    name, _, rest = first.partition("(")
    parameters = rest.rpartition(" -> ")[0].rpartition(")")[0]
    parameters = re.sub(r"\b(?:strata\.)?_strata\.(?:\w+\.)*", "", parameters)
    parameters = re.sub(r"^self(: \w+)?(, )?(/, )?", "", parameters)
    return name, parameters, re.findall(r"(\*{0,2}\w+)(?=: )", parameters)


def _owner(function, given):
    """'Tensor.' for a method of Tensor that was called on one."""
    kind = type(given[0]).__name__ if given else ""
    return f"{kind}." if given and (function.__doc__ or "").partition("(")[2].startswith("self") else ""


def call(function, given, named):
    """Makes the call that was meant, or raises ArgumentError: what the function takes and what it was given."""
    name, parameters, known = signature(function)
    meant = dict(named)
    for argument, value in named.items():
        target = ARGUMENTS.get(argument)
        if argument in known:
            continue
        if new := next((n for n in RENAMED.get(argument, ()) if n in known and n not in named), None):
            from ._renamed import warn

            warn(name.strip("_"), argument, new)
            meant[new] = meant.pop(argument)
        elif target in known and target not in named:
            meant[target] = meant.pop(argument)
        elif argument in NEUTRAL and any(
            value is neutral or value == neutral for neutral in NEUTRAL[argument] if type(value) is type(neutral)
        ):
            del meant[argument]
    own = _owner(function, given)
    is_init = name == "__init__"
    with_gradient = meant.get("requires_grad") is True and "requires_grad" not in known and (is_init or not own)
    if with_gradient:
        del meant["requires_grad"]
    if meant.keys() != named.keys():
        made = function(*given, **meant)
        if with_gradient:
            (given[0] if is_init else made).requires_grad_()
        return made
    shown = [_short.repr(v) for v in (given[1:] if own else given)] + [
        f"{k}={_short.repr(v)}" for k, v in named.items()
    ]
    text = f"[{name.strip('_')}] takes ({parameters}), got ({', '.join(shown)})"
    for argument in named:
        if argument not in known and not any(k.startswith("**") for k in known):
            close = difflib.get_close_matches(argument, known, 1, 0.6)
            text += f"; there is no argument '{argument}'" + (
                f": {ABOUT[argument]}" if argument in ABOUT else f" ({close[0]}?)" if close else ""
            )
    if any(isinstance(v, int) and not -(2**63) <= v < 2**64 for v in [*given, *named.values()]):
        text += "; an int is one of at most 64 bits"
    raise strata.ArgumentError(text) from None
