"""Kernels by name: one's own from HIP source or assembly, and those of language models.

docs/library.md has the formula, shapes and errors of each.
"""

import sys as _sys

from .. import _names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .activations import gelu_and_mul, gelu_tanh_and_mul, silu_and_mul
    from .attention import flash_attention, flash_attention_varlen, merge_states
    from .caches import reshape_and_cache
    from .collectives import all_reduce
    from .custom import asm_kernel, compile, hip_kernel
    from .decoding import mla_decode, paged_attention
    from .experts import fused_moe, moe_align_block_size, moe_sum, topk_softmax
    from .norms import add_layer_norm, add_rms_norm
    from .packing import mx_dequantize, mx_quantize, shuffle_weight, unpack_int4, unshuffle_weight
    from .positions import rotary_cos_sin, rotary_embedding
    from .quantisation import (
        normalize_e4m3fn_to_e4m3fnuz,
        quantize_per_block,
        quantize_per_group,
        quantize_per_tensor,
        quantize_per_token,
    )
    from .sampling import sample

# A family is imported when one of its names is first used.
_FAMILIES = {
    "activations": ("gelu_and_mul", "gelu_tanh_and_mul", "silu_and_mul"),
    "attention": ("flash_attention", "flash_attention_varlen", "merge_states"),
    "caches": ("reshape_and_cache",),
    "collectives": ("all_reduce",),
    "custom": ("asm_kernel", "compile", "hip_kernel"),
    "decoding": ("mla_decode", "paged_attention"),
    "experts": ("fused_moe", "moe_align_block_size", "moe_sum", "topk_softmax"),
    "norms": ("add_layer_norm", "add_rms_norm"),
    "packing": ("mx_dequantize", "mx_quantize", "shuffle_weight", "unpack_int4", "unshuffle_weight"),
    "positions": ("rotary_cos_sin", "rotary_embedding"),
    "quantisation": (
        "normalize_e4m3fn_to_e4m3fnuz",
        "quantize_per_block",
        "quantize_per_group",
        "quantize_per_tensor",
        "quantize_per_token",
    ),
    "sampling": ("sample",),
}
_HOMES = {name: family for family, names in _FAMILIES.items() for name in names}
__all__ = [
    "add_layer_norm",
    "add_rms_norm",
    "all_reduce",
    "asm_kernel",
    "compile",
    "flash_attention",
    "flash_attention_varlen",
    "fused_moe",
    "gelu_and_mul",
    "gelu_tanh_and_mul",
    "hip_kernel",
    "merge_states",
    "mla_decode",
    "moe_align_block_size",
    "moe_sum",
    "mx_dequantize",
    "mx_quantize",
    "normalize_e4m3fn_to_e4m3fnuz",
    "paged_attention",
    "quantize_per_block",
    "quantize_per_group",
    "quantize_per_tensor",
    "quantize_per_token",
    "reshape_and_cache",
    "rotary_cos_sin",
    "rotary_embedding",
    "sample",
    "shuffle_weight",
    "silu_and_mul",
    "topk_softmax",
    "unpack_int4",
    "unshuffle_weight",
]
_missing = _names("strata.kernels", _sys.modules[__name__], "KERNELS")


def __getattr__(name):
    from importlib import import_module

    if name in _HOMES:
        globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        return globals()[name]
    return _missing(name)


def __dir__():
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
