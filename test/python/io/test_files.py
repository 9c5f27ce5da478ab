"""Files of tensors: those that the formats' own libraries write are read, what Strata writes they read; damaged ones
are refused.
"""

import collections
import io
import json
import pickle
import struct
import zipfile

import numpy as np
import pytest
import strata
from strata import Tensor, nn
from strata.files import torch as torch_format
from strata.files.blocks import QUANTISED


def state(rng):
    return {"a.weight": rng.standard_normal((3, 4)).astype(np.float32), "ids": np.arange(5),
        "empty": np.zeros((0, 2), np.float16),
        "flag": np.array([True, False]), "number": np.float64(2.5),
        "half": rng.standard_normal(6).astype(np.float16)}  # fmt: skip


def same(tensors, arrays):
    assert set(tensors) == set(arrays)
    for name, array in arrays.items():
        t = tensors[name]
        assert t.numpy().dtype == array.dtype and tensors.shapes[name] == t.shape == array.shape
        np.testing.assert_array_equal(t.numpy(), array)


# safetensors


def test_safetensors_of_the_library_are_read(tmp_path, rng):
    library = pytest.importorskip("safetensors.numpy")
    arrays = state(rng)
    library.save_file(
        {n: np.asarray(a, order="C") for n, a in arrays.items()},
        tmp_path / "x.safetensors",
        metadata={"made": "by a test"},
    )
    got = strata.load(tmp_path / "x.safetensors")
    same(got, arrays)
    assert got.metadata == {"made": "by a test"} and "6 tensors" in repr(got)


def test_the_library_reads_what_is_written(tmp_path, rng):
    library = pytest.importorskip("safetensors")
    arrays, path = state(rng), tmp_path / "x.safetensors"
    strata.save(path, {n: Tensor(a) for n, a in arrays.items()}, metadata={"k": "v"})
    with library.safe_open(path, "numpy") as file:
        assert file.metadata() == {"k": "v"} and set(file.keys()) == set(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(file.get_tensor(name), array)
    same(strata.load(path), arrays)


@pytest.mark.parametrize("name", ["bfloat16", "fp8e4m3", "fp8e5m2"])
def test_types_that_numpy_has_not_keep_their_bits(tmp_path, name):
    t = Tensor([0.5, -2.0, 1.25]).cast(name)
    strata.save(tmp_path / "x.safetensors", {"t": t})
    got = strata.load(tmp_path / "x.safetensors")["t"]
    assert got.dtype.name == name and got.cast("float32").tolist() == [0.5, -2.0, 1.25]


def header(entries, content=b""):
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text + content


ONE = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
DAMAGED = {
    "too short": b"abc",
    "a header longer than the file": struct.pack("<Q", 1 << 40) + b"{}",
    "no JSON": header(b"{a}"),
    "a name twice": header(b'{"a":' + json.dumps(ONE).encode() + b',"a":' + json.dumps(ONE).encode() + b"}", bytes(8)),
    "no object": header([1]),
    "a type that is no text": header({"a": ONE | {"dtype": 4}}, bytes(8)),
    "no offsets": header({"a": {"dtype": "F32", "shape": [2]}}, bytes(8)),
    "beyond the end": header({"a": ONE}, bytes(7)),
    "another size": header({"a": ONE | {"shape": [3]}}, bytes(8)),
    "a negative shape": header({"a": ONE | {"shape": [-1, -2]}}, bytes(8)),
    "two in one place": header({"a": ONE, "b": ONE}, bytes(8)),
    "bytes of nobody": header({"a": ONE}, bytes(12)),
    "deep": header(b"[" * 100_000),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_safetensors_are_refused(name, tmp_path):
    (tmp_path / "x.safetensors").write_bytes(DAMAGED[name])
    with pytest.raises(strata.UsageError, match="x.safetensors"):
        strata.load(tmp_path / "x.safetensors")


SIZES = {
    r"'a' of F32 \(3,\) takes 12 bytes, its data_offsets \[0, 8\] say 8": {"shape": [3]},
    r"'a' has a shape that no tensor has: \(4294967296, 4294967296\)": {"shape": [1 << 32, 1 << 32]},
    r"'a' has shape \[-2\] and data_offsets \[0, 8\]: all are integers, none below 0": {"shape": [-2]},
    r"'a' lies outside of the file: it ends at byte 16 of 8 bytes of data": {"data_offsets": [8, 16]},
}


@pytest.mark.parametrize("said", SIZES)
def test_what_is_wrong_with_sizes_of_safetensors_is_said(said, tmp_path):
    (tmp_path / "x.safetensors").write_bytes(header({"a": ONE | SIZES[said]}, bytes(8)))
    with pytest.raises(strata.UsageError, match=said):
        strata.load(tmp_path / "x.safetensors")


def test_a_tensor_is_read_when_it_is_used(tmp_path):
    path = tmp_path / "x.safetensors"
    strata.save(path, {"a": Tensor([1.0, 2.0]), "b": Tensor([3.0])})
    got = strata.load(path)
    kept = got["a"]
    assert kept.tolist() == [1.0, 2.0] and got["b"].tolist() == [3.0]
    strata.save(path, {"a": Tensor([5.0, 6.0]), "b": Tensor([7.0])})  # of the same size
    for name in ("a", "b"):
        with pytest.raises(strata.UsageError, match="another one than was opened: load it again"):
            got[name]
    assert kept.tolist() == [1.0, 2.0]
    got, content = strata.load(path), bytearray(path.read_bytes())
    for changed in (content[:-4] + np.float32(8).tobytes(), content[:-4]):
        path.write_bytes(changed)
        with pytest.raises(strata.UsageError, match="another one than was opened"):
            got["a"]
    with pytest.raises(KeyError, match="has no tensor 'c'"):
        got["c"]
    path.unlink()
    with pytest.raises(strata.UsageError, match="file is not there any more"):
        got["a"]


def test_a_file_is_there_whole_or_not_at_all(tmp_path):
    path = tmp_path / "x.safetensors"
    strata.save(path, {"a": Tensor([1.0])})
    with pytest.raises(strata.UsageError, match="names are texts"):
        strata.save(path, {"a": 1.0})
    with pytest.raises(strata.DTypeError, match="'b' is"):
        strata.save(tmp_path / "x.npz", {"b": Tensor([1.0]).cast("bfloat16")})
    assert strata.load(path)["a"].item() == 1 and [p.name for p in tmp_path.iterdir()] == ["x.safetensors"]


def test_models_come_back(tmp_path):
    one, other = (nn.Sequential(nn.Linear(4, 3), nn.BatchNorm(3)) for _ in range(2))
    strata.save(tmp_path / "net.safetensors", one.state_dict())
    other.load_state_dict(strata.load(tmp_path / "net.safetensors"))
    x = Tensor.rand(5, 4)
    np.testing.assert_array_equal(one.eval()(x).numpy(), other.eval()(x).numpy())


# npz


def test_npz_goes_both_ways(tmp_path, rng):
    arrays = state(rng)
    np.savez_compressed(tmp_path / "x.npz", **arrays)
    same(strata.load(tmp_path / "x.npz"), arrays)
    strata.save(tmp_path / "y.npz", {n: Tensor(a) for n, a in arrays.items()})
    with np.load(tmp_path / "y.npz") as got:
        for name, array in arrays.items():
            np.testing.assert_array_equal(got[name], array)
    np.save(tmp_path / "one.npy", np.asfortranarray(arrays["a.weight"]))
    np.testing.assert_array_equal(strata.load(tmp_path / "one.npy")["one"].numpy(), arrays["a.weight"])


def test_damaged_npz_and_pickles_in_it_are_refused(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.array([{}], dtype=object))
    with pytest.raises(strata.Unsupported, match="'a.npy' is no array"):
        strata.load(tmp_path / "x.npz")["a"]
    for name, content in {"y.npz": b"PK no zip", "z.npy": b"\x93NUMPY\x01"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(strata.UsageError, match=name):
            strata.load(tmp_path / name)


# PyTorch


class Named:
    """Pickles as a name of another module."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Writer(pickle._Pickler):
    """Writes what torch.save writes, of names and storages."""

    def persistent_id(self, value):
        return value.given if isinstance(value, Storage) else None

    def save_named(self, value):
        self.write(pickle.GLOBAL + f"{value.module}\n{value.name}\n".encode())

    dispatch = {**pickle._Pickler.dispatch, Named: save_named}


class Storage:
    def __init__(self, kind, key, count, module="torch"):
        self.given = "storage", Named(module, kind), key, "cpu", count


class Call:
    def __init__(self, f, *args):
        self.f, self.args = f, args

    def __reduce_ex__(self, protocol):
        return self.f, self.args


def save_call(self, value):
    self.save(value.f)
    self.save(value.args)
    self.write(pickle.REDUCE)


Writer.dispatch[Call] = save_call


def tensor(kind, key, count, offset, shape, stride):
    return Call(
        Named("torch._utils", "_rebuild_tensor_v2"),
        Storage(kind, key, count),
        offset,
        shape,
        stride,
        False,
        collections.OrderedDict(),
    )


def checkpoint(path, content, storages):
    out = io.BytesIO()
    Writer(out, 2).dump(content)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", out.getvalue())
        archive.writestr("archive/byteorder", "little")
        for key, array in storages.items():
            archive.writestr(f"archive/data/{key}", array.tobytes())


def test_checkpoints_are_read_without_pytorch(tmp_path):
    data, brain = np.arange(12, dtype=np.float32), np.array([0x3F80, 0xC000], np.uint16)
    content = collections.OrderedDict(
        model={
            "w": tensor("FloatStorage", "0", 12, 0, (3, 4), (4, 1)),
            "t": tensor("FloatStorage", "0", 12, 1, (2, 3), (1, 4)),
            "b": tensor("BFloat16Storage", "1", 2, 0, (2,), (1,)),
        },
        epoch=3,
        rates=[0.1, 0.2],
    )
    checkpoint(tmp_path / "x.pt", content, {"0": data, "1": brain})
    got = strata.load(tmp_path / "x.pt")
    np.testing.assert_array_equal(got["model.w"].numpy(), data.reshape(3, 4))
    np.testing.assert_array_equal(got["model.t"].numpy(), [[1, 5, 9], [2, 6, 10]])
    assert got["model.b"].dtype.name == "bfloat16" and got["model.b"].cast("float32").tolist() == [1.0, -2.0]
    assert got.metadata == {"epoch": 3, "rates": [0.1, 0.2]}


def test_checkpoints_of_pytorch_are_read(tmp_path):
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    torch.save(
        {"net": net.state_dict(), "view": torch.arange(6).reshape(2, 3).T, "half": torch.ones(2, dtype=torch.bfloat16)},
        tmp_path / "x.pt",
    )
    got = strata.load(tmp_path / "x.pt")
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(got[f"net.{name}"].numpy(), value.numpy())
    np.testing.assert_array_equal(got["view"].numpy(), [[0, 3], [1, 4], [2, 5]])


def test_pickles_that_name_something_else_call_nothing(tmp_path):
    for i, content in enumerate(
        [
            Call(Named("os", "system"), f"touch {tmp_path}/called"),
            Call(Named("builtins", "eval"), "1"),
            Named("torch", "load"),
        ]
    ):
        checkpoint(tmp_path / f"{i}.pt", {"a": content}, {})
        with pytest.raises(strata.UsageError, match="not among what tensors are made of"):
            strata.load(tmp_path / f"{i}.pt")
    assert not (tmp_path / "called").exists()
    assert all(
        module in ("torch", "torch._utils", "torch.storage", "torch.serialization", "collections")
        for module, _ in torch_format.ALLOWED
    )


def test_damaged_checkpoints_are_refused(tmp_path):
    data = np.arange(12, dtype=np.float32)
    bad = {
        "outside": tensor("FloatStorage", "0", 12, 8, (3, 4), (4, 1)),
        "negative": tensor("FloatStorage", "0", 12, -1, (1,), (1,)),
        "missing": tensor("FloatStorage", "9", 12, 0, (2,), (1,)),
        "short": tensor("FloatStorage", "0", 13, 0, (2,), (1,)),
        "axes": tensor("FloatStorage", "0", 12, 0, (2,), (1, 1)),
        "size": tensor("QInt8Storage", "0", 12, 0, (-2,), (1,)),
    }  # fmt: skip
    for name, content in bad.items():
        checkpoint(tmp_path / f"{name}.pt", {"a": content}, {"0": data})
        with pytest.raises(strata.UsageError, match=f"{name}.pt"):
            strata.load(tmp_path / f"{name}.pt")
    (tmp_path / "no.pt").write_bytes(pickle.dumps({}))
    with pytest.raises(strata.UsageError, match="no zip"):
        strata.load(tmp_path / "no.pt")
    with zipfile.ZipFile(tmp_path / "damaged.pt", "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02(((garbage")
    with pytest.raises(strata.UsageError, match="damaged"):
        strata.load(tmp_path / "damaged.pt")


# GGUF


def written(gguf, path, tensors):
    """A file of name -> (array, ggml's type or None for NumPy's)."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint32("llama.block_count", 2)
    for name, (array, kind) in tensors.items():
        writer.add_tensor(name, array, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return strata.load(path)


def test_gguf_of_the_library_is_read(tmp_path, rng):
    gguf = pytest.importorskip("gguf")
    arrays = {
        "f32": rng.standard_normal((3, 64)).astype(np.float32),
        "f16": rng.standard_normal((2, 5)).astype(np.float16),
        "i32": np.arange(6, dtype=np.int32),
    }
    got = written(gguf, tmp_path / "x.gguf", {name: (array, None) for name, array in arrays.items()})
    assert got.metadata["llama.block_count"] == 2
    for name, array in arrays.items():
        np.testing.assert_array_equal(got[name].numpy(), array)


@pytest.mark.parametrize("kind", QUANTISED)
def test_blocks_of_gguf_have_the_librarys_values(kind, tmp_path, rng):
    """Blocks of any bytes: every scale, NaN and infinity among them, and every code."""
    gguf = pytest.importorskip("gguf")
    type_ = gguf.GGMLQuantizationType[kind]
    size = gguf.GGML_QUANT_SIZES[type_][1]
    packed = rng.integers(0, 256, (8, 4 * size)).astype(np.uint8)
    packed[0, :8] = 0xFF
    with np.errstate(all="ignore"):
        wanted = gguf.quants.dequantize(packed, type_)
    got = written(gguf, tmp_path / "x.gguf", {"a": (packed, type_)})
    assert got.shapes == {"a": wanted.shape}
    np.testing.assert_array_equal(got["a"].numpy(), wanted)


def test_damaged_gguf_is_refused(tmp_path):
    pytest.importorskip("gguf")
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + bytes(20))
    with pytest.raises(strata.UsageError, match="no GGUF"):
        strata.load(tmp_path / "x.gguf")


# Messages


def test_missing_files_and_unknown_names_are_said(tmp_path):
    with pytest.raises(strata.UsageError, match="no such file"):
        strata.load(tmp_path / "y.npz")
    for call in (lambda: strata.load(tmp_path / "x.txt"), lambda: strata.save(tmp_path / "x.txt", {})):
        with pytest.raises(strata.UsageError, match="use one of .safetensors"):
            call()
