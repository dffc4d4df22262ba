#include "larmor/data/dicom_codec.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcdatset.h>
#include <dcmtk/dcmdata/dcdeftag.h>
#include <dcmtk/dcmdata/dcpixel.h>
#include <dcmtk/dcmdata/dcpixseq.h>
#include <dcmtk/dcmdata/dcpxitem.h>
#include <dcmtk/dcmdata/dcrledrg.h>
#include <dcmtk/dcmdata/dcxfer.h>
#include <dcmtk/dcmjpeg/djdecode.h>
#include <dcmtk/dcmjpls/djdecode.h>
#include <dcmtk/oflog/oflog.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

struct Syntax {
  std::string_view uid;
  E_TransferSyntax transfer;
};

// All that DCMTK 3.6.7 decodes. JPEG 2000, HTJ2K and the video syntaxes are not among them.
constexpr std::array<Syntax, 10> decodable = {
    {{"1.2.840.10008.1.2.4.50", EXS_JPEGProcess1},
     {"1.2.840.10008.1.2.4.51", EXS_JPEGProcess2_4},
     {"1.2.840.10008.1.2.4.53", EXS_JPEGProcess6_8},
     {"1.2.840.10008.1.2.4.55", EXS_JPEGProcess10_12},
     {"1.2.840.10008.1.2.4.57", EXS_JPEGProcess14},
     {"1.2.840.10008.1.2.4.70", EXS_JPEGProcess14SV1},
     {"1.2.840.10008.1.2.4.80", EXS_JPEGLSLossless},
     {"1.2.840.10008.1.2.4.81", EXS_JPEGLSLossy},
     {"1.2.840.10008.1.2.5", EXS_RLELossless},
     {"1.2.840.10008.1.2.8.1", EXS_Unknown}}};  // ours: deflated frames

const Syntax* find_syntax(const std::string& uid) {
  const auto* found =
      std::find_if(decodable.begin(), decodable.end(), [&](const auto& s) { return s.uid == uid; });
  return found == decodable.end() ? nullptr : found;
}

void register_codecs() {
  static std::once_flag once;
  std::call_once(once, [] {
    OFLog::configure(OFLogger::OFF_LOG_LEVEL);  // what matters comes back as a condition
    DJDecoderRegistration::registerCodecs(EDC_photometricInterpretation, EUC_never, EPC_colorByPixel);
    DJLSDecoderRegistration::registerCodecs(EJLSUC_never, EJLSPC_colorByPixel);
    DcmRLEDecoderRegistration::registerCodecs();
  });
}

void check(const OFCondition& condition) {
  if (condition.good()) return;
  fail(Exit::data, text("its compressed pixels cannot be decoded: ", condition.text()),
       "fetch the file again");
}

/// Types are said, so that no data dictionary is needed on the machine.
void describe(DcmDataset& data, const EncodedPixels& encoded) {
  const auto put = [&](const DcmTagKey& tag, int value) {
    check(data.putAndInsertUint16(DcmTag(tag, EVR_US), static_cast<Uint16>(value)));
  };
  put(DCM_Rows, encoded.rows);
  put(DCM_Columns, encoded.columns);
  put(DCM_SamplesPerPixel, encoded.samples);
  put(DCM_BitsAllocated, encoded.bits_allocated);
  put(DCM_BitsStored, encoded.bits_stored);
  put(DCM_HighBit, encoded.high_bit);
  put(DCM_PixelRepresentation, encoded.is_signed ? 1 : 0);
  if (encoded.samples > 1) put(DCM_PlanarConfiguration, encoded.by_plane ? 1 : 0);
  check(data.putAndInsertString(DcmTag(DCM_NumberOfFrames, EVR_IS), text(encoded.frames).c_str()));
  check(data.putAndInsertString(DcmTag(DCM_PhotometricInterpretation, EVR_CS), encoded.photometric.c_str()));
}

void insert_pixels(DcmDataset& data, const EncodedPixels& encoded, E_TransferSyntax transfer) {
  auto sequence = std::make_unique<DcmPixelSequence>(DcmTag(DCM_PixelSequenceTag, EVR_OB));
  for (const auto fragment : encoded.fragments) {
    auto item = std::make_unique<DcmPixelItem>(DcmTag(DCM_PixelItemTag, EVR_OB));
    if (!fragment.empty()) {
      check(item->putUint8Array(reinterpret_cast<const Uint8*>(fragment.data()),
                                static_cast<unsigned long>(fragment.size())));
    }
    check(sequence->insert(item.get()));
    item.release();
  }
  auto pixels = std::make_unique<DcmPixelData>(DcmTag(DCM_PixelData, EVR_OB));
  pixels->putOriginalRepresentation(transfer, nullptr, sequence.release());
  check(data.insert(pixels.get(), OFTrue));
  pixels.release();
}

}  // namespace

bool is_plain_syntax(const std::string& transfer_syntax) {
  constexpr std::array<std::string_view, 4> plain = {"1.2.840.10008.1.2", "1.2.840.10008.1.2.1",
                                                     "1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.2"};
  return std::find(plain.begin(), plain.end(), transfer_syntax) != plain.end();
}

std::string refusal_of(const std::string& transfer_syntax) {
  if (is_plain_syntax(transfer_syntax) || find_syntax(transfer_syntax) != nullptr) return "";
  const std::string_view uid = transfer_syntax;
  if (uid.starts_with("1.2.840.10008.1.2.4.9") || uid.starts_with("1.2.840.10008.1.2.4.20")) {
    return "is compressed as JPEG 2000, which is not decoded here: convert it first, for instance with "
           "gdcmconv --raw IN OUT";
  }
  return "has a transfer syntax (0002,0010) that is not decoded here: convert it to Explicit VR Little "
         "Endian "
         "first, for instance with gdcmconv --raw IN OUT";
}

DecodedPixels decode_pixels(const EncodedPixels& encoded) {
  register_codecs();
  const Syntax* syntax = find_syntax(encoded.transfer_syntax);
  if (syntax == nullptr || syntax->transfer == EXS_Unknown)
    fail(Exit::data, refusal_of(encoded.transfer_syntax));
  DcmDataset data;
  describe(data, encoded);
  insert_pixels(data, encoded, syntax->transfer);
  check(data.chooseRepresentation(EXS_LittleEndianExplicit, nullptr));
  DcmElement* element = nullptr;
  check(data.findAndGetElement(DCM_PixelData, element));
  Uint16 planar = 0;
  OFString photometric;
  data.findAndGetUint16(DCM_PlanarConfiguration, planar).good();
  data.findAndGetOFString(DCM_PhotometricInterpretation, photometric).good();

  DecodedPixels decoded;
  decoded.photometric = photometric.c_str();
  decoded.by_plane = planar == 1;
  if (encoded.bits_allocated > 8) {
    Uint16* words = nullptr;
    check(element->getUint16Array(words));
    decoded.bytes = Bytes(element->getLength());
    std::memcpy(decoded.bytes.data(), words, decoded.bytes.size());
  } else {
    Uint8* samples = nullptr;
    check(element->getUint8Array(samples));
    decoded.bytes = Bytes(element->getLength());
    std::memcpy(decoded.bytes.data(), samples, decoded.bytes.size());
  }
  return decoded;
}

}  // namespace larmor
