"""Types of tensors in files: those that are known keep their bits, others refuse their tensor alone."""

import collections
import struct

import numpy as np
import pytest
import strata
from strata.files import gguf as gguf_format, safetensors as safetensors_format, torch as torch_format
from strata.files.blocks import QUANTISED
from test_files import ONE, Call, Named, Storage, checkpoint, header, tensor, written

# Types that are not known


def file_of_safetensors(path, kind):
    path.write_bytes(
        header(
            {"known": ONE, "other": {"dtype": kind, "shape": [2, 3], "data_offsets": [8, 14]}},
            np.array([1, 2], np.float32).tobytes() + bytes(6),
        )
    )


def file_of_numpy(path, kind):
    np.savez(path, known=np.array([1, 2], np.float32), other=np.zeros((2, 3), kind))


def file_of_gguf(path, kind):
    gguf = pytest.importorskip("gguf")
    known = np.array([1, 2], np.float32)
    written(gguf, path, {"known": (known, None), "other": (np.zeros((2, 3), np.float32), None)})
    content = path.read_bytes()
    at = content.index(b"other") + 5 + 4 + 16  # after its name, the number of its axes and their sizes
    path.write_bytes(content[:at] + struct.pack("<I", kind) + content[at + 4 :])


def file_of_torch(path, kind):
    if kind.endswith("Storage"):
        other = tensor(kind, "1", 6, 0, (2, 3), (3, 1))
    elif kind.startswith("_rebuild"):
        other = Call(Named("torch._utils", kind), tensor("FloatStorage", "0", 2, 0, (2,), (1,)), 0, (2, 3), (3, 1))
    else:
        other = Call(
            Named("torch._utils", "_rebuild_tensor_v3"),
            Storage("UntypedStorage", "1", 6, "torch.storage"),
            0,
            (2, 3),
            (3, 1),
            False,
            collections.OrderedDict(),
            Named("torch", kind),
        )
    checkpoint(
        path,
        {"known": tensor("FloatStorage", "0", 2, 0, (2,), (1,)), "other": other},
        {"0": np.array([1, 2], np.float32), "1": np.zeros(6, np.uint8)},
    )


UNKNOWN = {
    ".safetensors": (file_of_safetensors, ["F4", "F6_E2M3", "F6_E3M2", "F8_E8M0", "Q7"]),
    ".npz": (file_of_numpy, ["O", "U5", "S3", "M8[s]", "m8[s]", "V2", [("a", "f4"), ("ü", "i4")]]),
    ".gguf": (file_of_gguf,
        [number for number in range(60) if gguf_format.KINDS.get(number) not in (*QUANTISED, *gguf_format.PLAIN)]),
    ".pt": (file_of_torch, ["QInt8Storage", "QUInt4x2Storage", "float8_e8m0fnu", "float4_e2m1fn_x2", "int4", "bits8",
            "complex32", "_rebuild_qtensor", "_rebuild_nested_tensor", "_rebuild_of_another_year"]),
}  # fmt: skip


@pytest.mark.parametrize("suffix", UNKNOWN)
def test_a_type_that_is_not_known_refuses_its_tensor_alone_when_it_is_asked_for(suffix, tmp_path):
    write, kinds = UNKNOWN[suffix]
    for i, kind in enumerate(kinds):
        path = tmp_path / f"{i}{suffix}"
        write(path, kind)
        got = strata.load(path)
        assert got["known"].tolist() == [1, 2] and set(got) == {"known", "other"}
        assert got.shapes["other"] in ((2, 3), None) and (got.shapes["other"] or suffix == ".pt")
        with pytest.raises(strata.Unsupported, match=rf"{i}{suffix}: 'other(.npy)?' is (no array|of type)"):
            got["other"]


@pytest.mark.parametrize("kind, name", safetensors_format.TYPES.items())
def test_every_type_of_safetensors_that_is_known_keeps_its_bits(kind, name, tmp_path):
    size = getattr(strata.dtypes, name).itemsize
    content = (
        bytes([1, 0] * (3 * size))[: 6 * size] if name == "boolean" else np.arange(6 * size, dtype=np.uint8).tobytes()
    )
    (tmp_path / "x.safetensors").write_bytes(
        header({"a": {"dtype": kind, "shape": [2, 3], "data_offsets": [0, 6 * size]}}, content)
    )
    got = strata.load(tmp_path / "x.safetensors")
    assert got["a"].dtype.name == name and got["a"].shape == (2, 3)
    strata.save(tmp_path / "y.safetensors", got)
    assert (tmp_path / "y.safetensors").read_bytes().endswith(content)


@pytest.mark.parametrize("kind, name", torch_format.TYPES.items())
def test_every_type_of_checkpoints_that_is_known_keeps_its_bits(kind, name, tmp_path):
    size = getattr(strata.dtypes, name).itemsize
    content = np.array([1, 0] * 3, np.uint8) if name == "boolean" else np.arange(6 * size, dtype=np.uint8)
    other = Call(
        Named("torch._utils", "_rebuild_tensor_v3"),
        Storage("UntypedStorage", "0", len(content), "torch.storage"),
        0,
        (2, 3),
        (3, 1),
        False,
        collections.OrderedDict(),
        Named("torch", kind),
    )
    checkpoint(tmp_path / "x.pt", {"a": other}, {"0": content})
    got = strata.load(tmp_path / "x.pt")["a"]
    assert got.dtype.name == name and got.shape == (2, 3)
    path = tmp_path / ("y.npz" if name == "complex128" else "y.safetensors")  # which has no complex128
    strata.save(path, {"a": got})
    assert content.tobytes() in path.read_bytes()
