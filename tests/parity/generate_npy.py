"""Writes data/npy.safetensors: .npy files as numpy writes them, each as a tensor of its bytes.

Run by hand, once; tests/unit/train/npy.cpp reads them. Element i of each, in C order, is i - 3 (of a bool: i is
odd; of an unsigned one: i; of a complex one: (i - 3) + 0.5j), so that the test knows what it must find.
"""
import io
import pathlib

import numpy as np
from safetensors.numpy import save_file


def values(dtype, shape):
    i = np.arange(int(np.prod(shape)))
    kind = np.dtype(dtype).kind
    x = i % 2 if kind == "b" else i if kind == "u" else i - 3 + 0.5j if kind == "c" else i - 3
    return x.astype(dtype).reshape(shape)


def file_of(array, version=None):
    out = io.BytesIO()
    if version is None:
        np.save(out, array, allow_pickle=False)
    else:
        np.lib.format.write_array(out, array, version=version)
    return np.frombuffer(out.getvalue(), dtype=np.uint8)


files = {}
for name in "f8 f4 f2 c16 c8 i8 i4 i2 i1 u4 u2 u1 b1".split():
    files[f"c.{name}"] = file_of(values(name, (2, 3, 4)))
    files[f"fortran.{name}"] = file_of(np.asfortranarray(values(name, (2, 3, 4))))
    files[f"big.{name}"] = file_of(values(np.dtype(name).newbyteorder(">"), (2, 3, 4)))
files["vector"] = file_of(values("f4", (7,)))
files["scalar"] = file_of(values("f4", ()))
files["empty"] = file_of(values("f4", (0, 5)))
files["version2"] = file_of(values("f4", (2, 3, 4)), (2, 0))
files["version3"] = file_of(values("f4", (2, 3, 4)), (3, 0))
files["u8"] = file_of(values("u8", (2, 3, 4)))
files["record"] = file_of(np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))
save_file(files, pathlib.Path(__file__).parent / "data" / "npy.safetensors")
