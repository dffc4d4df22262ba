"""Prints what nibabel itself reads in a file, as JSON: affine, header fields and SHA-256 of the voxels as
little-endian float32, first axis fastest."""

import hashlib
import json
import sys

import nibabel
import numpy

image = nibabel.load(sys.argv[1])
header = image.header
voxels = numpy.asarray(image.dataobj, dtype=numpy.float64).astype("<f4")
print(json.dumps({
    "affine": image.affine.tolist(),
    "shape": list(image.shape),
    "dtype": str(header.get_data_dtype()),
    "sform_code": int(header["sform_code"]),
    "qform_code": int(header["qform_code"]),
    "spacing": [float(value) for value in header.get_zooms()[:3]],
    "units": list(header.get_xyzt_units()),
    "descrip": header["descrip"].tobytes().rstrip(b"\0").decode("latin-1"),
    "sha256": hashlib.sha256(voxels.tobytes(order="F")).hexdigest(),
}))
