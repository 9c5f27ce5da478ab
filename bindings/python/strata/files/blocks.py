"""Quantised tensors of GGUF as expressions over their bytes, which come in blocks. The layouts are those of llama.cpp's
ggml-common.h, whose names are used."""

from .. import _strata
from .._strata import Tensor


def number(blocks, at):
    """The float16 at these bytes of each block, as float32."""
    low, high = blocks[:, at].cast("uint16"), blocks[:, at + 1].cast("uint16")
    return (low | (high << 8)).bitcast("float16").cast("float32").unsqueeze(1)


def nibbles(bytes_):
    """(n, k) -> (n, 2 k): the low halves of all bytes, then the high ones."""
    return _strata.cat([bytes_ & 15, bytes_ >> 4], 1)


def bits(bytes_, count):
    """(n, k) -> (n, count): bit i of the bytes, the lowest first."""
    i = Tensor.arange(count, dtype="int32")
    return (bytes_.take(i // 8, 1) >> (i % 8).cast("uint8")) & 1


def q4_0(b):
    return (nibbles(b[:, 2:]).cast("float32") - 8) * number(b, 0)


def q4_1(b):
    return nibbles(b[:, 4:]).cast("float32") * number(b, 0) + number(b, 2)


def q5_0(b):
    return ((nibbles(b[:, 6:]) | (bits(b[:, 2:6], 32) << 4)).cast("float32") - 16) * number(b, 0)


def q5_1(b):
    return (nibbles(b[:, 8:]) | (bits(b[:, 4:8], 32) << 4)).cast("float32") * number(b, 0) + number(b, 2)


def q8_0(b):
    return b[:, 2:].bitcast("int8").cast("float32") * number(b, 0)


def scales_and_minima(b):
    """Eight numbers of six bits each, in twelve bytes: (n, 8, 1) and (n, 8, 1)."""
    low, middle, high = b[:, :4], b[:, 4:8], b[:, 8:12]
    scale = _strata.cat([low & 63, (high & 15) | ((low >> 6) << 4)], 1)
    least = _strata.cat([middle & 63, (high >> 4) | ((middle >> 6) << 4)], 1)
    return scale.cast("float32").unsqueeze(2), least.cast("float32").unsqueeze(2)


def of_eight(b, q):
    """(n, 256) from values (n, 8, 32) of four or five bits."""
    scale, least = scales_and_minima(b[:, 4:16])
    return (number(b, 0).unsqueeze(2) * scale * q.cast("float32") - number(b, 2).unsqueeze(2) * least).reshape(-1, 256)


def halves(bytes_):
    """(n, 128) -> (n, 8, 32): of each 32 bytes the low halves, then the high ones."""
    parts = bytes_.reshape(-1, 4, 1, 32)
    return _strata.cat([parts & 15, parts >> 4], 2).reshape(-1, 8, 32)


def q4_k(b):
    return of_eight(b, halves(b[:, 16:]))


def q5_k(b):
    fifth = (b[:, 16:48].unsqueeze(1) >> Tensor.arange(8, dtype="uint8").reshape(1, 8, 1)) & 1
    return of_eight(b, halves(b[:, 48:]) | (fifth << 4))


def q6_k(b):
    low, high = b[:, :128].reshape(-1, 2, 1, 64), b[:, 128:192].reshape(-1, 2, 1, 32)
    low = _strata.cat([low & 15, low >> 4], 2).reshape(-1, 8, 32)
    high = (high >> (Tensor.arange(4, dtype="uint8") * 2).reshape(1, 1, 4, 1)) & 3
    q = (low | (high.reshape(-1, 8, 32) << 4)).cast("float32") - 32
    scale = b[:, 192:208].bitcast("int8").cast("float32") * number(b, 208)
    return (q.reshape(-1, 16, 16) * scale.unsqueeze(2)).reshape(-1, 256)


#: name -> (elements of a block, its bytes, their values)
QUANTISED = {
    "Q4_0": (32, 18, q4_0), "Q4_1": (32, 20, q4_1), "Q5_0": (32, 22, q5_0), "Q5_1": (32, 24, q5_1), "Q8_0": (32, 34, q8_0),
    "Q4_K": (256, 144, q4_k), "Q5_K": (256, 176, q5_k), "Q6_K": (256, 210, q6_k),
}  # fmt: skip
