"""Prints what Pillow reads in a PNG or JPEG file, as JSON: shape with the columns first, a channel axis as the
fourth, and SHA-256 of the pixels as little-endian float32, first axis fastest. Alpha is dropped, palettes are
looked up."""

import hashlib
import json
import sys

import numpy
from PIL import Image

with Image.open(sys.argv[1]) as image:
    if image.mode in ("P", "PA", "RGBA"):
        image = image.convert("RGB")
    elif image.mode in ("LA", "1"):
        image = image.convert("L")
    pixels = numpy.asarray(image)
pixels = numpy.swapaxes(pixels, 0, 1)  # columns first
if pixels.ndim == 3:
    pixels = pixels[:, :, numpy.newaxis, :]
voxels = pixels.astype("<f4")
print(json.dumps({
    "shape": list(voxels.shape),
    "dtype": "uint16" if pixels.dtype.itemsize > 1 else "uint8",
    "min": float(voxels.min()),
    "max": float(voxels.max()),
    "mean": float(pixels.astype(numpy.float64).mean()),
    "sha256": hashlib.sha256(voxels.tobytes(order="F")).hexdigest(),
}))
