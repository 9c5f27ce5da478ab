"""Files that try to do more than be read. Each is refused with a message, with little memory and in little time, or
reads as a sound one does.
"""

import collections
import io
import os
import resource
import struct
import time
import zipfile

import numpy as np
import pytest
import strata
from strata import Tensor
from test_files import Writer, checkpoint, header, tensor

SECONDS = float(os.environ.get("STRATA_FUZZ_SECONDS", 8)) / 4  # for each of four formats


def read_all(path):
    tensors = strata.load(path)
    return {name: tensors[name].realize() for name in tensors}


def refused(path, content=None, match="load"):
    if content is not None:
        path.write_bytes(content)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises((strata.UsageError, strata.Unsupported), match=match):
        read_all(path)
    assert (
        time.process_time() - start < 5 and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000
    )  # KiB


# NumPy


def npy(shape, descr="'<f4'", content=b"", order=False, more=""):
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}{more}}}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def deflated(path, name, raw, **changed):
    """A zip of one file, whose headers say what `changed` says."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, raw)
        for key, value in changed.items():
            setattr(archive.infolist()[0], key, value)


@pytest.mark.parametrize(
    "shape",
    [
        "(1 << 40,)",
        "(1099511627776,)",
        "(4294967296, 4294967296)",
        "(9223372036854775808,)",
        "(-1,)",
        "(2, -3)",
        "(True,)",
        "(0, 18446744073709551616)",
        "(1.0,)",
        "'ab'",
        "(" + "1," * 70 + ")",
    ],
)
@pytest.mark.parametrize("kind", ["npy", "npz", "packed"])
def test_shapes_of_numpy_that_lie(shape, kind, tmp_path):
    raw = npy(shape, content=bytes(16))
    if kind == "npy":
        return refused(tmp_path / "x.npy", raw)
    with zipfile.ZipFile(
        tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED if kind == "packed" else zipfile.ZIP_STORED
    ) as archive:
        archive.writestr("a.npy", raw)
    refused(tmp_path / "x.npz", match="a.npy")


@pytest.mark.parametrize(
    "descr",
    [
        "'|O'",
        "'<U4'",
        "'|S4'",
        "'<M8[s]'",
        "[('a', '<f4')]",
        "('<f4', (1000000000,))",
        "'|V2147483647'",
        "'nothing'",
        "((((((((((",
        "[" * 3000,
        "__import__('os')",
    ],
)
def test_types_of_numpy_that_are_no_numbers(descr, tmp_path):
    refused(tmp_path / "x.npy", npy("(1,)", descr, bytes(16)), "no array|cut off")


def test_sound_arrays_of_every_layout_are_numpys(tmp_path, rng):
    arrays = {"big": np.arange(6, dtype=">f8").reshape(2, 3),
        "columns": np.asfortranarray(rng.standard_normal((3, 4, 5))), "number": np.array(7, ">i2"),
        "none": np.zeros((0, 1 << 40), np.float32),
        "größe/ü 漢": np.array([True, False]), "complex": np.array([1 + 2j, 3j], ">c8"), "../up": np.float16(0.5),
        "": np.arange(3)}  # fmt: skip
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", **arrays)
        got = strata.load(tmp_path / "x.npz")
        assert {*got} == {*arrays} and got.shapes == {n: a.shape for n, a in arrays.items()}
        for name, array in arrays.items():
            assert got[name].shape == array.shape and got[name].dtype.numpy_name == array.dtype.name
            if array.size:
                np.testing.assert_array_equal(got[name].numpy(), array)


@pytest.mark.parametrize("shape", [(0,), (0, 2**62), (2**31, 0), (3, 0, 5)], ids=str)
def test_arrays_without_elements_come_in_any_shape(shape, tmp_path):
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
    assert strata.load(tmp_path / "x.npy")["x"].shape == shape


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "a" * 70000, 5, None, b"a"], ids=lambda name: repr(name)[:8])
def test_names_that_a_file_cannot_hold_are_refused(name, tmp_path):
    for ending in ("npz", "safetensors"):
        if ending == "npz" or not isinstance(name, str) or name == "\ud800":
            with pytest.raises(strata.UsageError, match=r"\[save\]"):
                strata.save(tmp_path / f"x.{ending}", {name: strata.Tensor([1.0])})
    names = {"file": 1.0, "arr_0": 2.0, "allow_pickle": 3.0, "x/y": 4.0, "a.npy": 5.0, "": 6.0, "é": 7.0}
    strata.save(tmp_path / "x.npz", {n: strata.Tensor([v]) for n, v in names.items()})
    assert {n: t.item() for n, t in strata.load(tmp_path / "x.npz").items()} == names


def test_zips_that_lie(tmp_path):
    path, raw = tmp_path / "x.npz", npy("(4,)", content=bytes(16))
    for changed in (
        {"file_size": 1 << 40},
        {"compress_size": 1 << 40},
        {"header_offset": 7},
        {"CRC": 5},
        {"flag_bits": 1},
        {"compress_type": 12},
        {"file_size": len(raw) - 1},
    ):
        deflated(path, "a.npy", raw, **changed)
        refused(path, match="x.npz")
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("a.npy", raw)
        archive.writestr("a.npy", raw)
    refused(path, match="one name")
    deflated(
        path, "a.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", 0xF0000000) + bytes(1 << 27)
    )  # a header of gigabytes of blanks
    refused(path, match="no array|cut off")


# PyTorch


def test_tensors_of_checkpoints_that_lie(tmp_path):
    big = 1 << 40
    shapes = [((big,), (1,), "outside"), ((1 << 20, 1 << 20), (1, 1), "outside"), ((3000, 3000), (1, 1), "too often"),
        ((1 << 63,), (0,), "no tensor has"), ((big, big), (0, 0), "no tensor has"), ((2,), ("a",), "outside"),
        (("a",), (1,), "no tensor has"),
        ((1,) * 80, (1,) * 80, "80 axes"), (5, 1, "damaged"), ("ab", "cd", "no tensor has"),
        ((True,), (1,), "no tensor has")]  # fmt: skip
    for i, (shape, stride, match) in enumerate(shapes):
        checkpoint(
            tmp_path / f"{i}.pt",
            {"a": tensor("FloatStorage", "0", 8192, 0, shape, stride)},
            {"0": np.zeros(8192, np.float32)},
        )
        refused(tmp_path / f"{i}.pt", match=match)
    checkpoint(
        tmp_path / "x.pt",
        {
            "a": tensor("FloatStorage", "0", 3, 1, (2, 1 << 30), (1, 0)),
            "b": tensor("FloatStorage", "0", 3, 9, (0, 4), (4, 1)),
        },
        {"0": np.arange(3, dtype=np.float32)},
    )
    got = strata.load(tmp_path / "x.pt")
    assert got["a"].shape == (2, 1 << 30) and got["a"][:, 5].tolist() == [1, 2] and got["b"].shape == (0, 4)


def written(path, content, pickled=None, packed=zipfile.ZIP_STORED):
    out = io.BytesIO()
    if pickled is None:
        Writer(out, 2).dump(content)
    with zipfile.ZipFile(path, "w", packed) as archive:
        archive.writestr("archive/data.pkl", out.getvalue() if pickled is None else pickled)


def test_pickles_that_want_time_memory_or_power(tmp_path):
    path = tmp_path / "x.pt"
    laughs = [1]
    for _ in range(60):
        laughs = [laughs, laughs]
    itself = []
    itself.append(itself)
    for content, match in [
        (laughs, "each other too often"),
        (itself, "damaged|too often"),
        ({"k" * 2000: {"x": 1}}, "too often"),
    ]:
        written(path, content)
        refused(path, match=match)
    stored = b"ctorch._utils\n_rebuild_tensor_v2\n"
    texts = {
        b"\x80\x02Nr\xff\xff\xff\x7f.": None,  # a memo of two thousand million places, which holds one
        b"\x80\x05\x96" + struct.pack("<Q", 1 << 34) + b".": "objects",  # a bytearray of 16 GiB
        b"\x80\x04\x8e" + struct.pack("<Q", 1 << 40) + b".": "damaged",
        b"\x80\x02" + stored + b"(N}X\x01\x00\x00\x00kK\x01stb.": "objects",  # setattr() of the reader's own class
        b"\x80\x02" + stored + b")\x81.": "objects",  # __new__ of it
        b"\x80\x02(" + stored + b"o.": "objects",
        b"(I1\ni__builtin__\neval\n.": "objects",
        b"\x80\x02\x82\x01.": "objects",
        b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00truetR.": "not among",
        b"\x80\x02ccollections\nOrderedDict\n(]]atR.": "damaged",
        b"\x80\x02}K\x01K\x02\x86" + b"2\x86" * 60 + b"K\x01s.": "keys",  # whose hash takes 2^60 steps
        b"\x80\x02" + b"]" * 9000 + b"a" * 8999 + b".": "too often",
        b"": "damaged", b"\x80\x02.": "damaged", b"\x80\x09N.": "damaged",
    }  # fmt: skip
    for text, match in texts.items():
        written(path, None, text)
        if match is None:
            assert strata.load(path).metadata == {"": None}
        else:
            refused(path, match=match)
    written(path, None, b"\x80\x02X" + struct.pack("<I", 200 << 20) + bytes(1 << 20) + b".", zipfile.ZIP_DEFLATED)
    refused(path, match="damaged")


def test_attributes_of_state_dicts_are_left_out(tmp_path):
    """As torch.save writes a module's state_dict(), with _metadata."""
    state = collections.OrderedDict(w=tensor("FloatStorage", "0", 2, 0, (2,), (1,)))
    state._metadata = {"": {"version": 1}}
    checkpoint(tmp_path / "x.pt", state, {"0": np.float32([1, 2])})
    got = strata.load(tmp_path / "x.pt")
    assert got["w"].tolist() == [1, 2] and len(got) == 1 and not got.metadata


def test_two_tensors_of_one_dotted_name_are_refused(tmp_path):
    one = tensor("FloatStorage", "0", 2, 0, (2,), (1,))
    checkpoint(tmp_path / "x.pt", {"a": {"b": one}, "a.b": one}, {"0": np.float32([1, 2])})
    refused(tmp_path / "x.pt", match="two tensors are called 'a.b'")


# safetensors

ONE = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
LYING = {
    "a type that is a list": {"a": ONE | {"dtype": ["F32"]}}, "a shape that is a text": {"a": ONE | {"shape": "12"}},
    "one that is a dict": {"a": ONE | {"shape": {"2": 2}}}, "true": {"a": ONE | {"shape": [True, 2]}},
    "a product of 2^64": {"a": ONE | {"shape": [1 << 32, 1 << 32], "data_offsets": [0, 0]}},
    "a size of 2^70 beside 0": {"a": ONE | {"shape": [0, 1 << 70], "data_offsets": [0, 0]}},
    "a million axes": {"a": ONE | {"shape": [1 << 60] * 1_000_000}},
    "ends before it begins": {"a": ONE | {"shape": [0], "data_offsets": [8, 8]}},
    "floats": {"a": ONE | {"data_offsets": [0.0, 8.0]}},
    "metadata of numbers": {"__metadata__": {"a": 1}, "a": ONE},
    "metadata that are a list": {"__metadata__": [1], "a": ONE}, "rows that are numbers": {"a": 5},
    "offsets of three": {"a": ONE | {"data_offsets": [0, 4, 8]}},
}  # fmt: skip


@pytest.mark.parametrize("name", LYING)
def test_headers_of_safetensors_that_lie(name, tmp_path):
    refused(tmp_path / "x.safetensors", header(LYING[name], bytes(8)), "x.safetensors")


def test_numbers_of_a_million_digits_are_refused(tmp_path):
    refused(
        tmp_path / "x.safetensors",
        header(b'{"a":{"dtype":"F32","shape":[' + b"9" * 1_000_000 + b'],"data_offsets":[0,8]}}', bytes(8)),
        "x.safetensors",
    )


def test_names_of_any_letters_and_tensors_of_no_elements_come_back(tmp_path):
    tensors = {
        "größe/ü 漢": Tensor([1.0]),
        "": Tensor([2.0]),
        "../../x": Tensor([3.0]),
        "none": Tensor.zeros(0, 5),
        "number": Tensor(4.0),
        "a\nb\0c": Tensor([5]),
    }
    strata.save(tmp_path / "x.safetensors", tensors, {"ü": "漢"})
    got = strata.load(tmp_path / "x.safetensors")
    assert got.metadata == {"ü": "漢"} and {n: (t.shape, t.tolist()) for n, t in got.items()} == {
        n: (t.shape, t.tolist()) for n, t in tensors.items()
    }
    with pytest.raises(strata.UsageError, match="rename it"):
        strata.save(tmp_path / "y.safetensors", {"__metadata__": Tensor([1.0])})
    for wrong in ({"a": 1}, {1: "a"}, [("a", "b")], "a", 5, object(), Tensor([1.0])):
        for name in ("y.safetensors", "y.npz"):
            with pytest.raises(strata.UsageError, match="texts by name"):
                strata.save(tmp_path / name, {}, wrong)
    with pytest.raises(strata.UsageError, match="holds no metadata"):
        strata.save(tmp_path / "y.npz", {}, {"a": "b"})


# GGUF


def text(s):
    return struct.pack("<Q", len(s)) + s


def gguf(values=(), tensors=(), content=bytes(64), version=3, counts=None):
    """values: (name, number of a type, bytes); tensors: (name, axes from the last on, number of a type, where)."""
    out = b"GGUF" + struct.pack("<IQQ", version, *(counts or (len(tensors), len(values))))
    out += b"".join(text(name) + struct.pack("<I", kind) + value for name, kind, value in values)
    out += b"".join(
        text(name) + struct.pack(f"<I{len(axes)}QIQ", len(axes), *axes, kind, at) for name, axes, kind, at in tensors
    )
    return out + bytes(-len(out) % 32) + content


def u32(n):
    return struct.pack("<I", n)


NUMBERS = b"n", 9, u32(4) + struct.pack("<Q", 3) + struct.pack("<3I", 5, 6, 7)
LYING_GGUF = {
    "no magic": b"GGML" + bytes(60), "big-endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "version 1": gguf(version=1),
    "2^60 tensors": gguf(counts=(1 << 60, 0)), "2^60 values": gguf(counts=(0, 1 << 60)),
    "a text of 2^60 bytes": gguf([(b"a", 8, struct.pack("<Q", 1 << 60))]),
    "an array of 2^60": gguf([(b"a", 9, u32(0) + struct.pack("<Q", 1 << 60))]),
    "texts of 2^60": gguf([(b"a", 9, u32(8) + struct.pack("<Q", 1 << 60))]),
    "an unknown value": gguf([(b"a", 77, b"")]),
    "arrays in arrays": gguf([(b"a", 9, (u32(9) + struct.pack("<Q", 1)) * 5000)]),
    "no UTF-8": gguf([(b"\xff", 4, u32(1))]), "a value twice": gguf([(b"a", 4, u32(1))] * 2),
    "an alignment of 0": gguf([(b"general.alignment", 4, u32(0))]),
    "one that is a text": gguf([(b"general.alignment", 8, text(b"32"))]),
    "a tensor twice": gguf([], [(b"a", (2,), 0, 0)] * 2),
    "2^64 elements": gguf([], [(b"a", (1 << 32, 1 << 32), 0, 0)]), "2^63 of them": gguf([], [(b"a", (1 << 63,), 0, 0)]),
    "2^32 axes": gguf([], [(b"a", (), 0, 0)])[:33] + u32(0xFFFFFFFF) + bytes(64),
    "beyond the end": gguf([], [(b"a", (17,), 0, 0)]),
    "begins beyond it": gguf([], [(b"a", (1,), 0, 1 << 63)]), "half a block": gguf([], [(b"a", (16,), 2, 0)]),
    "no axis of blocks": gguf([], [(b"a", (), 2, 0)]),
}  # fmt: skip


@pytest.mark.parametrize("name", LYING_GGUF)
def test_headers_of_gguf_that_lie(name, tmp_path):
    refused(tmp_path / "x.gguf", LYING_GGUF[name], "x.gguf")


def test_sound_gguf_is_read(tmp_path):
    content = np.arange(16, dtype=np.float32).tobytes()
    (tmp_path / "x.gguf").write_bytes(
        gguf(
            [NUMBERS, (b"t", 8, text("ü".encode())), (b"b", 7, b"\1")],
            [
                ("漢".encode(), (2, 3), 0, 8),
                (b"none", (32, 0), 2, 0),
                (b"number", (), 0, 4),
                (b"none of it", (7,), 16, 0),
            ],
            content,
        )
    )
    got = strata.load(tmp_path / "x.gguf")
    assert got.metadata == {"n": [5, 6, 7], "t": "ü", "b": True}
    assert got["漢"].tolist() == [[2, 3], [4, 5], [6, 7]] and got["none"].shape == (0, 32) and got["number"].item() == 1
    with pytest.raises(strata.Unsupported, match="of type IQ2_XXS, which is not known"):
        got["none of it"]
