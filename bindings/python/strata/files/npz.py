"""NumPy's npz and npy, without pickles."""

import zipfile

import numpy as np

from .._strata import DTypeError, Tensor
from . import malformed


def array_of(path, file, name):
    try:
        return np.lib.format.read_array(file, allow_pickle=False)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as e:
        raise malformed(path, f"'{name}' is no array of NumPy: {e}") from None


def shape_of(path, file, name):
    try:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
        return read(file)[0] if read else array_of_rest(path, file, name, version)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as e:
        raise malformed(path, f"'{name}' is no array of NumPy: {e}") from None


def array_of_rest(path, file, name, version):
    raise malformed(path, f"'{name}' is of version {version} of the format, which is not known here")


def load(path, device):
    if path.suffix == ".npy":
        with open(path, "rb") as file:
            shape = shape_of(path, file, path.stem)

        def read():
            with open(path, "rb") as file:
                return Tensor(array_of(path, file, path.stem), device=device)

        return {path.stem: (shape, read)}, {}
    try:
        with zipfile.ZipFile(path) as archive:
            names = [n for n in archive.namelist() if n.endswith(".npy")]
            shapes = {}
            for name in names:
                with archive.open(name) as file:
                    shapes[name] = shape_of(path, file, name)
    except (zipfile.BadZipFile, NotImplementedError) as e:
        raise malformed(path, f"no npz: {e}") from None

    def reader(name):
        def read():
            with zipfile.ZipFile(path) as archive, archive.open(name) as file:
                return Tensor(array_of(path, file, name), device=device)

        return shapes[name], read

    return {name.removesuffix(".npy"): reader(name) for name in names}, {}


def save(file, tensors, metadata):
    arrays = {}
    for name, t in tensors.items():
        try:
            arrays[name] = t.numpy()
        except DTypeError:
            raise DTypeError(f"[save] '{name}' is {t.dtype.name}, which NumPy has not: cast it, or write .safetensors") from None
    np.savez(file, **arrays)
