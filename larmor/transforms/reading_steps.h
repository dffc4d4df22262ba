// What the first steps of a chain say about reading: much of a large picture need not become numbers.
#pragma once

#include "larmor/base/json.h"
#include "larmor/formats/pictures/picture_reading.h"

namespace larmor {

/// What a picture is read for, of a chain as TransformChain takes it. LoadImage with `converter: L` wants
/// grey; a Resize with mode area that nothing but LoadImage and EnsureChannelFirst comes before wants its
/// size, which makes the step itself find nothing to do. Never throws: TransformChain says what is wrong with
/// a chain.
PictureReading picture_reading(const Json& declaration);

}  // namespace larmor
