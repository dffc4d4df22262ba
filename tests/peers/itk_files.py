"""Writes small NRRD and MetaImage files of every type, packing, byte order and place into a folder, and prints what
ITK reads in each, as JSON: shape, affine in RAS, and SHA-256 of the voxels as little-endian float32, first axis
fastest."""

import hashlib
import itertools
import json
import pathlib
import sys
import zlib

import numpy
import SimpleITK

folder = pathlib.Path(sys.argv[1])
draws = numpy.random.default_rng(1)
TYPES = {"int8": "MET_CHAR", "uint8": "MET_UCHAR", "int16": "MET_SHORT", "uint16": "MET_USHORT", "int32": "MET_INT",
         "uint32": "MET_UINT", "int64": "MET_LONG_LONG", "uint64": "MET_ULONG_LONG", "float32": "MET_FLOAT",
         "float64": "MET_DOUBLE"}
NRRD_NAMES = {"float32": "float", "float64": "double", "int8": "signed char", "uint16": "unsigned short"}
SPACES = ["left-posterior-superior", "RAS", "left-anterior-superior", "LPS", "right-anterior-superior", "scanner-xyz"]


def voxels_of(kind, size):
    values = draws.normal(scale=1000, size=size) if kind.startswith("f") else draws.integers(0, 100, size=size)
    return values.astype(kind).tobytes(order="F")


def turned(data, width, big):
    return numpy.frombuffer(data, f"<u{width}").astype(f">u{width}").tobytes() if big and width > 1 else data


def rotation():
    matrix, _ = numpy.linalg.qr(draws.normal(size=(3, 3)))
    return matrix


def vector(numbers):
    return "(" + ",".join(f"{number:.17g}" for number in numbers) + ")"


def nrrd(name, kind, packing, big, apart, space):
    size, steps, origin = draws.integers(1, 7, 3), rotation() * draws.uniform(0.3, 4, 3), draws.uniform(-200, 200, 3)
    data = turned(voxels_of(kind, size), numpy.dtype(kind).itemsize, big)
    if packing == "gzip":
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        data = packer.compress(data) + packer.flush()
    lines = ["NRRD0005", "# made for a test", f"type: {NRRD_NAMES.get(kind, kind)}", "dimension: 3",
             f"space: {space}", "sizes: " + " ".join(map(str, size)),
             "space directions: " + " ".join(vector(column) for column in steps.T), "kinds: domain domain domain",
             f"endian: {'big' if big else 'little'}", f"encoding: {packing}", f"space origin: {vector(origin)}",
             "measurement frame: (1,0,0) (0,1,0) (0,0,1)", "modality:=none: of these"]
    header = folder / (name + (".nhdr" if apart else ".nrrd"))
    if apart:
        (folder / (name + ".raw")).write_bytes(data)
        lines.append(f"data file: {name}.raw")
        data = b""
    header.write_bytes("\n".join(lines).encode() + b"\n\n" + data)
    return header


def metaimage(name, kind, packing, big, apart, _):
    size, matrix, origin = draws.integers(1, 7, 3), rotation(), draws.uniform(-200, 200, 3)
    data = turned(voxels_of(kind, size), numpy.dtype(kind).itemsize, big)
    packed = zlib.compress(data) if packing == "gzip" else data
    lines = ["ObjectType = Image", "NDims = 3", "BinaryData = True", f"BinaryDataByteOrderMSB = {big}",
             f"CompressedData = {packing == 'gzip'}"]
    if packing == "gzip":
        lines.append(f"CompressedDataSize = {len(packed)}")
    lines += ["TransformMatrix = " + " ".join(f"{number:.17g}" for number in matrix.flatten()),
              "Offset = " + " ".join(f"{number:.17g}" for number in origin), "CenterOfRotation = 0 0 0",
              "AnatomicalOrientation = RAI",
              "ElementSpacing = " + " ".join(f"{number:.17g}" for number in draws.uniform(0.3, 4, 3)),
              "DimSize = " + " ".join(map(str, size)), f"ElementType = {TYPES[kind]}", "Modality = MET_MOD_CT"]
    header = folder / (name + (".mhd" if apart else ".mha"))
    if apart:
        (folder / (name + ".zraw")).write_bytes(packed)
        packed = b""
    lines.append(f"ElementDataFile = {name + '.zraw' if apart else 'LOCAL'}")
    header.write_bytes("\n".join(lines).encode() + b"\n" + packed)
    return header


def written_by_itk():
    """What SimpleITK itself writes, with channels as well."""
    for suffix, packed, channels in itertools.product((".nrrd", ".nhdr", ".mha", ".mhd"), (False, True), (1, 3)):
        array = draws.integers(-900, 900, size=(4, 5, 6) + ((channels,) if channels > 1 else ())).astype(numpy.int16)
        image = SimpleITK.GetImageFromArray(array, isVector=channels > 1)
        image.SetSpacing(draws.uniform(0.3, 4, 3).tolist())
        image.SetOrigin(draws.uniform(-200, 200, 3).tolist())
        image.SetDirection(rotation().flatten().tolist())
        path = folder / f"itk_{packed}_{channels}{suffix}"
        SimpleITK.WriteImage(image, str(path), packed)
        yield path


def read(path):
    image = SimpleITK.ReadImage(str(path))
    direction = numpy.array(image.GetDirection()).reshape(3, 3) * numpy.array(image.GetSpacing())
    affine = numpy.eye(4)
    affine[:3, :3], affine[:3, 3] = direction, image.GetOrigin()
    affine[:2] *= -1
    voxels = SimpleITK.GetArrayFromImage(image).astype("<f4").tobytes()
    shape = list(image.GetSize())
    if image.GetNumberOfComponentsPerPixel() > 1:
        shape.insert(0, image.GetNumberOfComponentsPerPixel())
    return {"path": str(path), "shape": shape, "affine": affine.tolist(), "sha256": hashlib.sha256(voxels).hexdigest()}


paths = list(written_by_itk())
for number, (kind, packing, big, apart, writer) in enumerate(
        itertools.product(TYPES, ("raw", "gzip"), (False, True), (False, True), (nrrd, metaimage))):
    paths.append(writer(f"made_{number}", kind, packing, big, apart, SPACES[number // 2 % len(SPACES)]))
print(json.dumps([read(path) for path in paths]))
