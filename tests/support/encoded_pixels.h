// Compressed pixels for tests, made by DCMTK's encoders.
#pragma once

#include <string>
#include <vector>

namespace larmor::testing {

/// The piece of one grey frame of 16 bits, of which `bits_stored` count: lossless JPEG (…4.70), lossy JPEG of
/// up to 12 bits at the best quality (…4.51), JPEG-LS (…4.80) or RLE (…5).
std::string encoded_frame(const std::string& transfer_syntax, int rows, int columns, int bits_stored,
                          const std::vector<int>& values);

}  // namespace larmor::testing
