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


def quarters(bytes_):
    """(n, 32 k) -> (n, k, 4, 32): of each 32 bytes the lowest two bits, then the next ones."""
    return (bytes_.reshape(bytes_.shape[0], -1, 1, 32) >> (Tensor.arange(4, dtype="uint8") * 2).reshape(1, 1, 4, 1)) & 3


def q2_k(b):
    scales = b[:, :16].unsqueeze(2)
    q = quarters(b[:, 16:80]).reshape(-1, 16, 16).cast("float32")
    return (
        (scales & 15).cast("float32") * number(b, 80).unsqueeze(2) * q
        - (scales >> 4).cast("float32") * number(b, 82).unsqueeze(2)
    ).reshape(-1, 256)


def q3_k(b):
    third = (b[:, :32].unsqueeze(1) >> Tensor.arange(8, dtype="uint8").reshape(1, 8, 1)) & 1
    q = (quarters(b[:, 32:96]).reshape(-1, 8, 32) | (third << 2)).cast("float32") - 4
    upper = (b[:, 104:108].unsqueeze(1) >> (Tensor.arange(4, dtype="uint8") * 2).reshape(1, 4, 1)) & 3
    scale = (nibbles(b[:, 96:104]) | (upper.reshape(-1, 16) << 4)).cast("float32") - 32
    return (q.reshape(-1, 16, 16) * (scale * number(b, 108)).unsqueeze(2)).reshape(-1, 256)


def looked_up(table, places):
    """Entries of a table of 16 numbers."""
    return Tensor(table, dtype="float32").take(places.cast("int32"))


NON_LINEAR = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]
FP4 = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]  # of e2m1, doubled


def iq4_nl(b):
    return looked_up(NON_LINEAR, nibbles(b[:, 2:])) * number(b, 0)


def iq4_xs(b):
    high = (b[:, 2:4].reshape(-1, 2, 1) >> (Tensor.arange(4, dtype="uint8") * 2).reshape(1, 1, 4)) & 3
    low = b[:, 4:8].reshape(-1, 4, 1) >> (Tensor.arange(2, dtype="uint8") * 4).reshape(1, 1, 2)
    scale = ((low.reshape(-1, 8) & 15) | (high.reshape(-1, 8) << 4)).cast("float32") - 32
    q = looked_up(NON_LINEAR, nibbles(b[:, 8:].reshape(-1, 16))).reshape(-1, 8, 32)
    return (q * (scale * number(b, 0)).unsqueeze(2)).reshape(-1, 256)


def mxfp4(b):
    """The scale is half of the power of two that a byte stands for, the smallest ones denormal."""
    power = b[:, :1].cast("uint32")
    bits_of_scale = _strata.where(power < 2, Tensor.full((), 0x00200000, "uint32") << power, (power - 1) << 23)
    return looked_up(FP4, nibbles(b[:, 1:])) * bits_of_scale.bitcast("float32")


def nvfp4(b):
    """The scale is half of an e4m3 whose sign counts for nothing; 0x7f stands for 0, and 0xff is a number."""
    scale = b[:, :4].bitcast("fp8e4m3").cast("float32").abs() * 0.5
    scale = scale.isnan().where((b[:, :4] == 0xFF).where(240.0, 0.0), scale)
    q = looked_up(FP4, nibbles(b[:, 4:].reshape(-1, 8))).reshape(-1, 4, 16)
    return (q * scale.unsqueeze(2)).reshape(-1, 64)


def trits(bytes_, count):
    """(n, k) -> (n, count * k): the first digits to base 3 of all bytes as fractions of 256, then the second ones."""
    powers = Tensor([3**i for i in range(count)], dtype="uint8").reshape(1, count, 1)
    return (((bytes_.unsqueeze(1) * powers).cast("uint16") * 3) >> 8).reshape(bytes_.shape[0], -1)


def tq1_0(b):
    q = _strata.cat([trits(b[:, :32], 5), trits(b[:, 32:48], 5), trits(b[:, 48:52], 4)], 1)
    return (q.cast("float32") - 1) * number(b, 52)


def tq2_0(b):
    return (quarters(b[:, :64]).reshape(-1, 256).cast("float32") - 1) * number(b, 64)


#: name -> (elements of a block, its bytes, their values)
QUANTISED = {
    "Q4_0": (32, 18, q4_0), "Q4_1": (32, 20, q4_1), "Q5_0": (32, 22, q5_0), "Q5_1": (32, 24, q5_1),
    "Q8_0": (32, 34, q8_0),
    "Q2_K": (256, 84, q2_k), "Q3_K": (256, 110, q3_k), "Q4_K": (256, 144, q4_k), "Q5_K": (256, 176, q5_k),
    "Q6_K": (256, 210, q6_k),
    "IQ4_NL": (32, 18, iq4_nl), "IQ4_XS": (256, 136, iq4_xs), "MXFP4": (32, 17, mxfp4), "NVFP4": (64, 36, nvfp4),
    "TQ1_0": (256, 54, tq1_0), "TQ2_0": (256, 66, tq2_0),
}  # fmt: skip
