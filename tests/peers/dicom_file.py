"""Prints what pydicom reads in a DICOM file, or in the slices of a folder, as JSON: shape with the columns
first, places of the first and the last voxel in RAS millimetres, and SHA-256 of the rescaled voxels as
little-endian float32, first axis fastest. Radiographs go through their window, as apply_windowing does."""

import gzip
import hashlib
import io
import json
import sys
from pathlib import Path

import numpy
import pydicom
from pydicom.pixels import apply_windowing

RADIOGRAPHS = ("CR", "DX", "RG", "MG", "PX", "IO", "RF", "XA", "DR")


def read(path):
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    return pydicom.dcmread(io.BytesIO(content))


def macro(data, frame, sequence, name):
    """An attribute of the data set, of the frame's functional groups, or of those that all frames share."""
    if name in data and data[name].value not in (None, ""):
        return data[name].value
    groups = []
    if "PerFrameFunctionalGroupsSequence" in data:
        groups.append(data.PerFrameFunctionalGroupsSequence[frame])
    if "SharedFunctionalGroupsSequence" in data:
        groups.append(data.SharedFunctionalGroupsSequence[0])
    for group in groups:
        if sequence in group and name in group[sequence][0]:
            return group[sequence][0][name].value
    return None


def numbers(value):
    return None if value is None else numpy.array([float(one) for one in value])


def slices_of(data):
    """(position, orientation, spacing, voxels [columns, rows] or [columns, rows, 1, 3]) a frame."""
    count = int(data.get("NumberOfFrames", 1) or 1)
    pixels = data.pixel_array
    if count == 1 and pixels.shape[0] != 1 or pixels.ndim == 2:
        pixels = pixels[numpy.newaxis]
    for frame in range(count):
        voxels = pixels[frame].astype(numpy.float64)
        slope = macro(data, frame, "PixelValueTransformationSequence", "RescaleSlope")
        intercept = macro(data, frame, "PixelValueTransformationSequence", "RescaleIntercept")
        if slope is not None:
            voxels = voxels * float(slope) + float(intercept)
        if data.Modality in RADIOGRAPHS:
            voxels = apply_windowing(pixels[frame], data)
            if data.PhotometricInterpretation == "MONOCHROME1":
                voxels = 2 ** data.BitsStored - 1 - voxels
        yield (numbers(macro(data, frame, "PlanePositionSequence", "ImagePositionPatient")),
               numbers(macro(data, frame, "PlaneOrientationSequence", "ImageOrientationPatient")),
               numbers(macro(data, frame, "PixelMeasuresSequence", "PixelSpacing")),
               numpy.swapaxes(voxels, 0, 1))


def place(parts, data):
    """The slices in order, and their matrix."""
    position, orientation, spacing, _ = parts[0]
    spacing = numpy.ones(2) if spacing is None or not spacing.all() else spacing
    step = float(data.get("SpacingBetweenSlices", 0) or data.get("SliceThickness", 0) or
                 macro(data, 0, "PixelMeasuresSequence", "SliceThickness") or 1)
    affine = numpy.diag([spacing[1], spacing[0], step, 1.0])
    if position is None or orientation is None:
        return parts, affine
    row, column = orientation[:3], orientation[3:]
    normal = numpy.cross(row, column)
    normal /= numpy.linalg.norm(normal)
    parts = sorted(parts, key=lambda part: part[0] @ normal)
    affine[:3, 0], affine[:3, 1], affine[:3, 2] = row * spacing[1], column * spacing[0], normal * step
    affine[:3, 3] = parts[0][0]
    if len(parts) > 1:
        affine[:3, 2] = (parts[-1][0] - parts[0][0]) / (len(parts) - 1)
    return parts, numpy.diag([-1.0, -1.0, 1.0, 1.0]) @ affine


target = Path(sys.argv[1])
files = sorted(target.iterdir()) if target.is_dir() else [target]
sets = [read(file) for file in files]
parts, affine = place([part for data in sets for part in slices_of(data)], sets[0])
planes = [part[3] for part in parts]
if planes[0].ndim == 3:  # in colour
    voxels = numpy.stack(planes, axis=2)
else:
    voxels = numpy.stack(planes, axis=2) if len(planes) > 1 else planes[0]
voxels32 = voxels.astype("<f4")
corner = [size - 1 for size in voxels.shape[:3]] + [0] * (3 - min(3, voxels.ndim)) + [1]
print(json.dumps({
    "shape": list(voxels.shape),
    "spacing_mm": numpy.linalg.norm(affine[:3, :3], axis=0).tolist(),
    "first_voxel": affine[:3, 3].tolist(),
    "last_voxel": (affine @ corner)[:3].tolist(),
    "min": float(voxels.min()),
    "max": float(voxels.max()),
    "mean": float(voxels.mean()),
    "sha256": hashlib.sha256(voxels32.tobytes(order="F")).hexdigest(),
}))
