"""Prints what the safetensors library itself reads in a file, as JSON: type, shape and SHA-256 of each tensor."""

import hashlib
import json
import sys

from safetensors.numpy import load_file

print(json.dumps({
    name: {"dtype": str(value.dtype), "shape": list(value.shape), "sha256": hashlib.sha256(value.tobytes()).hexdigest()}
    for name, value in load_file(sys.argv[1]).items()
}))
