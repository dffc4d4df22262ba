#include "larmor/formats/dicom_codec.h"

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

/// What a JPEG or JPEG-LS stream says of its frame must be what the header says: DCMTK's own search for it
/// may never end in a damaged stream. Source: ITU-T T.81 annex B.
void check_stream(std::span<const std::byte> stream, const EncodedPixels& encoded) {
  const auto byte = [&](std::size_t at) { return std::to_integer<int>(stream[at]); };
  std::size_t at = 2;
  while (at + 10 < stream.size() && byte(at) == 0xff) {
    const int marker = byte(at + 1), length = byte(at + 2) << 8 | byte(at + 3);
    const bool is_frame = marker == 0xf7 || (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 &&
                                             marker != 0xc8 && marker != 0xcc);
    if (marker < 0xc0 || marker == 0xff || length < 2) break;
    if (is_frame) {
      const int precision = byte(at + 4), rows = byte(at + 5) << 8 | byte(at + 6);
      const int columns = byte(at + 7) << 8 | byte(at + 8), samples = byte(at + 9);
      if (rows == encoded.rows && columns == encoded.columns && samples == encoded.samples &&
          precision >= 2 && precision <= encoded.bits_allocated) {
        return;
      }
      fail(Exit::data, text("contradicts itself: its compressed pixels are ", columns, " x ", rows, " of ",
                            samples, " samples of ", precision, " bits, its header says ", encoded.columns,
                            " x ", encoded.rows, " of ", encoded.samples, " samples"));
    }
    at += 2 + static_cast<std::size_t>(length);
  }
  fail(Exit::data, "its compressed pixels are damaged: they do not say their size", "fetch the file again");
}

/// Each frame begins with a piece of its own; a JPEG stream tells by its first two bytes that it begins.
void check_pieces(const EncodedPixels& encoded) {
  if (encoded.fragments.empty() || static_cast<std::size_t>(encoded.frames) > encoded.fragments.size() - 1) {
    fail(Exit::data,
         text("is cut short: it claims ", encoded.frames, " frames, but its pixels are in ",
              encoded.fragments.size(), " pieces, the table of offsets among them"),
         "fetch the file again");
  }
  if (encoded.transfer_syntax == "1.2.840.10008.1.2.5") return;
  const auto begins = [](std::span<const std::byte> piece) {
    return piece.size() >= 2 && piece[0] == std::byte{0xff} && piece[1] == std::byte{0xd8};
  };
  for (std::size_t i = 1; i < encoded.fragments.size(); ++i) {
    if (i == 1 || begins(encoded.fragments[i])) check_stream(encoded.fragments[i], encoded);
  }
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
  check_pieces(encoded);
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
