"""Prints what TensorBoard itself reads in a folder of event files, as JSON."""

import json
import math
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def plain(value):
    """JSON knows no NaN."""
    return value if math.isfinite(value) else str(value)


events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "images": 0})
events.Reload()
tags = events.Tags()
print(json.dumps({
    "file_version": events.file_version,
    "scalars": {tag: [[e.step, e.wall_time, plain(e.value)] for e in events.Scalars(tag)]
                for tag in tags["scalars"]},
    "images": {tag: [[e.step, e.width, e.height, e.encoded_image_string.hex()] for e in events.Images(tag)]
               for tag in tags["images"]},
}))
