"""Reads a checkpoint and writes it back, as it is and with a weight changed. Run once, here:

    test_checkpoint "python: write*" && pip install safetensors numpy && python write_back.py

The files were made by safetensors 0.8.0 with numpy 2.4.6.
"""
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

tensors = load_file("napkin.safetensors")
with safe_open("napkin.safetensors", "np") as file:
    metadata = file.metadata()
assert sorted(tensors) == sorted(
    f"{prefix}{name}"
    for prefix in ("", "optimizer.first_moment.", "optimizer.second_moment.")
    for name in ("up", "down", "bias")
)
assert tensors["up"].shape == (3, 4) and tensors["bias"].shape == ()
assert tensors["up"].flat[0] == -2.875 and tensors["up"].flat[11] == -1.5
assert metadata["run.data"] == "caf\u00e9 \"au lait\"\n" and int(metadata["step"]) == 123

save_file(tensors, "written_back.safetensors", metadata=metadata)
tensors["up"][1, 2] += 1
save_file(tensors, "weights_changed.safetensors", metadata=metadata)
