"""A volume for `predict`, and what has to be true of the label map that comes of it. Needs Python alone.

  label_map.py write IMAGE           an oblique NIfTI file of 22 x 19 x 17 voxels of 1.5 x 1 x 2 mm
  label_map.py check IMAGE LABEL     the same grid, uint8, classes 0 to 2
"""

import array
import struct
import sys

SHAPE = (22, 19, 17)
OFFSET = 352
UINT8, FLOAT32 = 2, 16
SFORM = ((-1.5, 0.1, 0.0, 20.0), (0.15, 0.99, 0.0, -30.0), (0.0, 0.0, 2.0, 7.0))


def write(path):
    header = bytearray(OFFSET)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *SHAPE, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, FLOAT32, 32)
    struct.pack_into("<8f", header, 76, 1, 1.507, 0.995, 2, 1, 1, 1, 1)
    struct.pack_into("<3f", header, 108, OFFSET, 1, 0)
    header[123] = 2  # millimetres
    struct.pack_into("<2h", header, 252, 0, 1)
    struct.pack_into("<12f", header, 280, *(number for row in SFORM for number in row))
    header[344:348] = b"n+1\0"
    voxels = array.array("f", (((x - 9) ** 2 + (y - 9) ** 2 + (z - 8) ** 2 < 20) * 1.0
                               for z in range(SHAPE[2]) for y in range(SHAPE[1]) for x in range(SHAPE[0])))
    with open(path, "wb") as file:
        file.write(header + voxels.tobytes())


def check(image, label):
    with open(image, "rb") as file:
        expected = file.read()
    with open(label, "rb") as file:
        found = file.read()
    assert struct.unpack_from("<4h", found, 40) == struct.unpack_from("<4h", expected, 40), "another size"
    assert struct.unpack_from("<2h", found, 70) == (UINT8, 8), "no whole numbers"
    assert struct.unpack_from("<12f", found, 280) == struct.unpack_from("<12f", expected, 280), "another affine"
    voxels = found[OFFSET:]
    assert len(voxels) == SHAPE[0] * SHAPE[1] * SHAPE[2], len(voxels)
    assert max(voxels) <= 2, max(voxels)


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](*sys.argv[2:])
