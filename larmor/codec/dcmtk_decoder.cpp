#include "larmor/codec/dcmtk_decoder.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <vector>

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcdatset.h>
#include <dcmtk/dcmdata/dcdeftag.h>
#include <dcmtk/dcmdata/dcpixel.h>
#include <dcmtk/dcmdata/dcpixseq.h>
#include <dcmtk/dcmdata/dcpxitem.h>
#include <dcmtk/dcmdata/dcxfer.h>
#include <dcmtk/dcmjpeg/djcparam.h>
#include <dcmtk/dcmjpeg/djdecabs.h>
#include <dcmtk/dcmjpeg/djdijg12.h>
#include <dcmtk/dcmjpeg/djdijg16.h>
#include <dcmtk/dcmjpeg/djdijg8.h>
#include <dcmtk/dcmjpls/djdecode.h>
#include <dcmtk/oflog/oflog.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/codec/frame_pieces.h"
#include "larmor/codec/jpeg_stream.h"

namespace larmor {

namespace {

constexpr std::string_view jpeg_ls_lossless = "1.2.840.10008.1.2.4.80",
                           jpeg_ls_lossy = "1.2.840.10008.1.2.4.81";
// Of JPEG, all that DCMTK 3.6.7 decodes. JPEG 2000, HTJ2K and the video syntaxes are not among them.
constexpr std::array<std::string_view, 8> dcmtk_syntaxes = {
    "1.2.840.10008.1.2.4.50", "1.2.840.10008.1.2.4.51", "1.2.840.10008.1.2.4.53", "1.2.840.10008.1.2.4.55",
    "1.2.840.10008.1.2.4.57", "1.2.840.10008.1.2.4.70", jpeg_ls_lossless,         jpeg_ls_lossy};

void register_dcmtk() {
  static std::once_flag once;
  std::call_once(once, [] {
    OFLog::configure(OFLogger::OFF_LOG_LEVEL);  // what matters comes back as a condition
    DJLSDecoderRegistration::registerCodecs(EJLSUC_never, EJLSPC_colorByPixel);
  });
}

void check_condition(const OFCondition& condition) {
  if (condition.good()) return;
  const std::string_view reason = condition.text();  // IJG's library has no other sign of it than words
  if (condition == EC_MemoryExhausted || reason.starts_with("Insufficient memory")) throw std::bad_alloc();
  fail(Exit::data, text("its compressed pixels cannot be decoded: ", reason), "fetch the file again");
}

/// DCMTK's decoder of one width of samples, which writes warnings to a log and goes on with zeros for bits.
template <class Decoder>
class StrictDecoder : public Decoder {
 public:
  using Decoder::Decoder;

  void emitMessage(int level) const override { has_warned_ = has_warned_ || level < 0; }
  bool has_warned() const { return has_warned_; }

 private:
  mutable bool has_warned_ = false;
};

struct JpegFrame {
  std::span<const std::byte> stream;
  int precision = 0;
  bool is_ybr = false, is_signed = false;
};

/// Gives the colours that the samples have become. Requires: `out` holds a frame of the decoder's samples.
template <class Decoder>
EP_Interpretation run_decoder(const JpegFrame& frame, std::span<std::byte> out) {
  const DJCodecParameter parameters(ECC_lossyYCbCr, EDC_photometricInterpretation, EUC_never,
                                    EPC_colorByPixel);
  StrictDecoder<Decoder> decoder(parameters, frame.is_ybr ? OFTrue : OFFalse);
  check_condition(decoder.init());
  // It reads of the first buffer only; there is no const in its interface.
  auto* const input = const_cast<Uint8*>(reinterpret_cast<const Uint8*>(frame.stream.data()));
  const OFCondition condition =
      decoder.decode(input, static_cast<Uint32>(frame.stream.size()), reinterpret_cast<Uint8*>(out.data()),
                     static_cast<Uint32>(out.size()), frame.is_signed ? OFTrue : OFFalse);
  check_condition(condition);
  if (decoder.has_warned()) {
    fail(Exit::data, "is cut short or damaged: the bits of its compressed pixels do not fill the picture",
         "fetch the file again");
  }
  return decoder.getDecompressedColorModel();
}

/// From samples of one byte or two to those of the header, which may be wider. Little endian.
void widen(std::span<const std::byte> samples, std::size_t width, std::span<std::byte> out) {
  const std::size_t count = samples.size() / width, wide = out.size() / count;
  for (std::size_t i = 0; i < count; ++i)
    std::copy_n(samples.data() + i * width, width, out.data() + i * wide);
}

EP_Interpretation decode_jpeg(const EncodedPixels& encoded, const JpegFrame& frame,
                              std::span<std::byte> out) {
  const std::size_t width = frame.precision > 8 ? 2 : 1;
  const std::size_t bytes = out.size() / static_cast<std::size_t>(encoded.bits_allocated / 8) * width;
  std::vector<std::byte> narrow(bytes == out.size() ? 0 : bytes);
  const std::span<std::byte> samples = narrow.empty() ? out : std::span<std::byte>(narrow);
  EP_Interpretation colours = EPI_Unknown;
  if (frame.precision > 12) {
    colours = run_decoder<DJDecompressIJG16Bit>(frame, samples);
  } else if (frame.precision > 8) {
    colours = run_decoder<DJDecompressIJG12Bit>(frame, samples);
  } else {
    colours = run_decoder<DJDecompressIJG8Bit>(frame, samples);
  }
  if (!narrow.empty()) widen(narrow, width, out);
  return colours;
}

/// Types are said, so that no data dictionary is needed on the machine.
void describe_frame(DcmDataset& data, const EncodedPixels& encoded) {
  const auto put = [&](const DcmTagKey& tag, int value) {
    check_condition(data.putAndInsertUint16(DcmTag(tag, EVR_US), static_cast<Uint16>(value)));
  };
  put(DCM_Rows, encoded.rows);
  put(DCM_Columns, encoded.columns);
  put(DCM_SamplesPerPixel, encoded.samples);
  put(DCM_BitsAllocated, encoded.bits_allocated);
  put(DCM_BitsStored, encoded.bits_stored);
  put(DCM_HighBit, encoded.high_bit);
  put(DCM_PixelRepresentation, encoded.is_signed ? 1 : 0);
  check_condition(data.putAndInsertString(DcmTag(DCM_NumberOfFrames, EVR_IS), "1"));
  check_condition(
      data.putAndInsertString(DcmTag(DCM_PhotometricInterpretation, EVR_CS), encoded.photometric.c_str()));
}

std::unique_ptr<DcmPixelData> wrap_stream(std::span<const std::byte> stream, E_TransferSyntax transfer) {
  auto sequence = std::make_unique<DcmPixelSequence>(DcmTag(DCM_PixelSequenceTag, EVR_OB));
  for (const std::span<const std::byte> piece : {std::span<const std::byte>(), stream}) {
    auto item = std::make_unique<DcmPixelItem>(DcmTag(DCM_PixelItemTag, EVR_OB));
    if (!piece.empty()) {
      check_condition(item->putUint8Array(reinterpret_cast<const Uint8*>(piece.data()),
                                          static_cast<unsigned long>(piece.size())));
    }
    check_condition(sequence->insert(item.get()));
    item.release();
  }
  auto pixels = std::make_unique<DcmPixelData>(DcmTag(DCM_PixelData, EVR_OB));
  pixels->putOriginalRepresentation(transfer, nullptr, sequence.release());
  return pixels;
}

/// CharLS within DCMTK is reached through a data set only: one of this frame alone. Gives its colours.
std::string decode_jpeg_ls(const EncodedPixels& encoded, std::span<const std::byte> stream,
                           std::span<std::byte> out) {
  DcmDataset data;
  describe_frame(data, encoded);
  auto inserted =
      wrap_stream(stream, encoded.transfer_syntax == jpeg_ls_lossy ? EXS_JPEGLSLossy : EXS_JPEGLSLossless);
  DcmPixelData* const pixels = inserted.get();
  check_condition(data.insert(pixels, OFTrue));
  inserted.release();  // it is the data set's
  std::vector<std::byte> even(out.size() + out.size() % 2);
  Uint32 piece = 1;
  OFString colours;
  check_condition(pixels->getUncompressedFrame(&data, 0, piece, even.data(), static_cast<Uint32>(even.size()),
                                               colours, nullptr));
  std::copy_n(even.begin(), out.size(), out.begin());
  return colours.c_str();
}

/// Source: PS3.5 8.2.1; decompression leaves no subsampling behind.
std::string colours_after(EP_Interpretation colours, const std::string& before) {
  if (colours == EPI_RGB) return "RGB";
  return before == "YBR_FULL_422" || before == "YBR_PARTIAL_422" ? "YBR_FULL" : before;
}

}  // namespace

bool is_decoded_by_dcmtk(const std::string& transfer_syntax) {
  return std::find(dcmtk_syntaxes.begin(), dcmtk_syntaxes.end(), transfer_syntax) != dcmtk_syntaxes.end();
}

DecodedForm decode_by_dcmtk(const EncodedPixels& encoded, std::span<std::byte> out) {
  register_dcmtk();
  const bool wants_jpeg_ls =
      encoded.transfer_syntax == jpeg_ls_lossless || encoded.transfer_syntax == jpeg_ls_lossy;
  const std::string& colours = encoded.photometric;
  const bool is_ybr = colours == "YBR_FULL" || colours == "YBR_FULL_422" || colours == "YBR_PARTIAL_422";
  const std::size_t frame_size = decoded_frame_bytes(encoded);
  DecodedForm form{.photometric = encoded.photometric, .by_plane = false};
  std::vector<std::byte> joined;
  std::size_t at = 0;
  for (const FramePieces pieces : find_frame_pieces(encoded)) {
    const std::span<const std::byte> stream = join_pieces(encoded, pieces, joined);
    const std::span<std::byte> frame = out.subspan(at, frame_size);
    std::memset(frame.data(), 0, frame.size());
    const JpegStream found = check_jpeg_stream(stream, encoded);
    if (found.is_jpeg_ls != wants_jpeg_ls) {
      fail(Exit::data,
           "contradicts itself: its pixels are not compressed as its transfer syntax (0002,0010) says");
    }
    if (wants_jpeg_ls) {
      form.photometric = decode_jpeg_ls(encoded, stream, frame);
    } else {
      const EP_Interpretation after = decode_jpeg(encoded,
                                                  {.stream = stream,
                                                   .precision = found.precision,
                                                   .is_ybr = is_ybr || (colours == "RGB" && found.says_ybr),
                                                   .is_signed = encoded.is_signed},
                                                  frame);
      form.photometric = colours_after(after, encoded.photometric);
    }
    at += frame_size;
  }
  return form;
}

}  // namespace larmor
