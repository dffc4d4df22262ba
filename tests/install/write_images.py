"""Writes eight small .npy images and images.csv, the table of them: write_images.py FOLDER"""
import pathlib
import struct
import sys

folder = pathlib.Path(sys.argv[1])
names = [f"image{number}.npy" for number in range(8)]
for number, name in enumerate(names):
    header = str({"descr": "<f4", "fortran_order": False, "shape": (12, 12, 12)}).ljust(117).encode() + b"\n"
    voxels = [float(voxel * (number + 3) % 97) for voxel in range(12**3)]
    (folder / name).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
                                struct.pack(f"<{len(voxels)}f", *voxels))
(folder / "images.csv").write_text("\n".join(["image", *names]) + "\n")
