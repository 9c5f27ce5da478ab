"""GGUF, through the package gguf. Quantised tensors are expressions over their bytes; the layouts are those of llama.cpp's
ggml-common.h, whose names are used."""

from .. import _strata
from .._strata import Tensor, Unsupported
from . import malformed

PLAIN = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64"}


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


QUANTISED = {"Q4_0": q4_0, "Q4_1": q4_1, "Q5_0": q5_0, "Q5_1": q5_1, "Q8_0": q8_0, "Q4_K": q4_k, "Q5_K": q5_k, "Q6_K": q6_k}


def load(path, device):
    try:
        import gguf
    except ImportError:
        raise Unsupported("[load] files of GGUF are read through the package gguf: pip install gguf") from None
    try:
        reader = gguf.GGUFReader(path)
    except Exception as e:  # it checks little, and fails in many ways
        raise malformed(path, f"no GGUF: {type(e).__name__}: {e}") from None

    def row(t):
        name, shape = t.tensor_type.name, tuple(int(n) for n in reversed(t.shape))

        def read():
            content = t.data.tobytes()
            if name in PLAIN:
                return _strata._restored(content, shape, _strata.dtypes.__dict__[PLAIN[name]], device)
            if name not in QUANTISED:
                raise Unsupported(f"[load] {path}: '{t.name}' is quantised as {name}; {', '.join(QUANTISED)} are read")
            elements, size = gguf.GGML_QUANT_SIZES[t.tensor_type]
            blocks = _strata._restored(content, (len(content) // size, size), _strata.dtypes.uint8, device)
            return QUANTISED[name](blocks).reshape(shape)

        return shape, read

    values = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    return {t.name: row(t) for t in reader.tensors}, values
