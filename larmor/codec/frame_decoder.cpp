#include "larmor/codec/frame_decoder.h"

#include "larmor/codec/dcmtk_decoder.h"
#include "larmor/codec/openjpeg_decoder.h"

namespace larmor {

bool is_decoded_by_library(const std::string& transfer_syntax) {
  return is_decoded_by_dcmtk(transfer_syntax) || is_decoded_by_openjpeg(transfer_syntax);
}

DecodedForm decode_frames(const EncodedPixels& encoded, std::span<std::byte> out) {
  return is_decoded_by_openjpeg(encoded.transfer_syntax) ? decode_by_openjpeg(encoded, out)
                                                         : decode_by_dcmtk(encoded, out);
}

}  // namespace larmor
