#include "tests/support/encoded_pixels.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcdatset.h>
#include <dcmtk/dcmdata/dcdeftag.h>
#include <dcmtk/dcmdata/dcpixel.h>
#include <dcmtk/dcmdata/dcpixseq.h>
#include <dcmtk/dcmdata/dcpxitem.h>
#include <dcmtk/dcmdata/dcrleerg.h>
#include <dcmtk/dcmdata/dcrlerp.h>
#include <dcmtk/dcmdata/dcuid.h>
#include <dcmtk/dcmdata/dcxfer.h>
#include <dcmtk/dcmjpeg/djencode.h>
#include <dcmtk/dcmjpeg/djrplol.h>
#include <dcmtk/dcmjpeg/djrploss.h>
#include <dcmtk/dcmjpls/djencode.h>
#include <dcmtk/dcmjpls/djrparam.h>
#include <dcmtk/oflog/oflog.h>

namespace larmor::testing {

namespace {

void check(const OFCondition& condition) {
  if (condition.bad()) throw std::runtime_error(condition.text());
}

void register_encoders() {
  static std::once_flag once;
  std::call_once(once, [] {
    OFLog::configure(OFLogger::OFF_LOG_LEVEL);
    DJEncoderRegistration::registerCodecs(ECC_lossyYCbCr, EUC_never);
    DJLSEncoderRegistration::registerCodecs(0, 0, 0, 0, OFTrue, 0, OFTrue, EJLSUC_never);
    DcmRLEEncoderRegistration::registerCodecs();
  });
}

void describe(DcmDataset& data, int rows, int columns, int bits_stored, const std::vector<int>& values) {
  const auto put = [&](const DcmTagKey& tag, int value) {
    check(data.putAndInsertUint16(DcmTag(tag, EVR_US), static_cast<Uint16>(value)));
  };
  put(DCM_Rows, rows);
  put(DCM_Columns, columns);
  put(DCM_SamplesPerPixel, 1);
  put(DCM_BitsAllocated, 16);
  put(DCM_BitsStored, bits_stored);
  put(DCM_HighBit, bits_stored - 1);
  put(DCM_PixelRepresentation, 0);
  check(data.putAndInsertString(DcmTag(DCM_PhotometricInterpretation, EVR_CS), "MONOCHROME2"));
  check(data.putAndInsertString(DcmTag(DCM_SOPClassUID, EVR_UI), UID_CTImageStorage));
  check(data.putAndInsertString(DcmTag(DCM_SOPInstanceUID, EVR_UI), "1.2.3.4"));
  const std::vector<Uint16> words(values.begin(), values.end());
  auto pixels = std::make_unique<DcmPixelData>(DcmTag(DCM_PixelData, EVR_OW));
  check(pixels->putUint16Array(words.data(), static_cast<unsigned long>(words.size())));
  check(data.insert(pixels.get(), OFTrue));
  pixels.release();
}

}  // namespace

std::string encoded_frame(const std::string& transfer_syntax, int rows, int columns, int bits_stored,
                          const std::vector<int>& values) {
  register_encoders();
  DcmDataset data;
  describe(data, rows, columns, bits_stored, values);
  const E_TransferSyntax transfer = DcmXfer(transfer_syntax.c_str()).getXfer();
  const DJ_RPLossless jpeg;
  const DJ_RPLossy lossy_jpeg(100);
  const DJLSRepresentationParameter jpeg_ls(0, OFTrue);
  const DcmRLERepresentationParameter rle;
  const DcmRepresentationParameter* how = &jpeg;
  if (transfer == EXS_JPEGProcess2_4) how = &lossy_jpeg;
  if (transfer == EXS_JPEGLSLossless) how = &jpeg_ls;
  if (transfer == EXS_RLELossless) how = &rle;
  check(data.chooseRepresentation(transfer, how));
  DcmElement* element = nullptr;
  check(data.findAndGetElement(DCM_PixelData, element));
  DcmPixelSequence* sequence = nullptr;
  check(static_cast<DcmPixelData*>(element)->getEncapsulatedRepresentation(transfer, how, sequence));
  std::string bytes;
  for (unsigned long i = 1; i < sequence->card(); ++i) {
    DcmPixelItem* item = nullptr;
    check(sequence->getItem(item, i));
    Uint8* start = nullptr;
    check(item->getUint8Array(start));
    bytes.append(reinterpret_cast<const char*>(start), item->getLength());
  }
  return bytes;
}

}  // namespace larmor::testing
