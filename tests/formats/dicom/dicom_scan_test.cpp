#include "larmor/formats/dicom/dicom_scan.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using testing::as_bytes;
using testing::DicomBytes;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

constexpr DicomTag rows = 0x00280010, image_position = 0x00200032, groups = 0x52009230, planes = 0x00209113;

/// Where wanted elements were found: "5200,9230[1]/…" in short.
std::vector<std::string> found_in(const std::string& file, DicomTag wanted,
                                  const DicomEncoding& encoding = {}) {
  std::vector<std::string> found;
  const DicomVisitor visitor{
      [&](DicomTag tag) { return tag == wanted; },
      [](DicomTag tag) { return tag == groups || tag == planes; },
      [&](const DicomPath& path, DicomTag, auto value) {
        std::string line;
        for (const auto& step : path) line += text(step.item, '/');
        found.push_back(line + std::string(reinterpret_cast<const char*>(value.data()), value.size()));
      }};
  const DicomMeta meta = scan_dicom_meta(as_bytes(file), file.size());
  EXPECT_TRUE(meta.complete);
  EXPECT_TRUE(scan_dicom(as_bytes(file), file.size(), meta.end, encoding, visitor).complete);
  return found;
}

TEST(DicomScan, FindsTheTransferSyntaxAndThePixels) {
  const std::string file = DicomBytes().whole();
  const DicomMeta meta = scan_dicom_meta(as_bytes(file), file.size());
  EXPECT_EQ(meta.transfer_syntax, testing::explicit_little);
  const DicomVisitor nothing{[](DicomTag) { return false; }, [](DicomTag) { return false; }, {}};
  const DicomScan scan = scan_dicom(as_bytes(file), file.size(), meta.end, {}, nothing);
  EXPECT_EQ(scan.pixels.tag, 0x7fe00010U);
  EXPECT_EQ(scan.pixels.begin, file.size() - 12);
  EXPECT_EQ(scan.pixels.length, 12U);
  EXPECT_FALSE(scan.pixels.in_fragments);
}

TEST(DicomScan, ReadsEveryEncoding) {
  EXPECT_THAT(found_in(DicomBytes().whole(), rows), ElementsAre(std::string("\2\0", 2)));
  EXPECT_THAT(found_in(DicomBytes(testing::implicit_little).whole(), rows, {false, false}),
              ElementsAre(std::string("\2\0", 2)));
  EXPECT_THAT(found_in(DicomBytes(testing::explicit_big).whole(), rows, {true, true}),
              ElementsAre(std::string("\0\2", 2)));
}

TEST(DicomScan, GoesIntoSequencesOfKnownAndUnknownLength) {
  for (const bool open : {false, true}) {
    DicomBytes file;
    const std::string plane = file.item(file.element(image_position, "DS", "1\\2\\3 "), open);
    const std::string frames =
        file.item(open ? file.open_sequence(planes, plane) : file.element(planes, "SQ", plane), open);
    file.put(groups, "SQ", frames + frames).drop(image_position);
    EXPECT_THAT(found_in(file.whole(), image_position), ElementsAre("0/0/1\\2\\3 ", "1/0/1\\2\\3 ")) << open;
  }
}

TEST(DicomScan, SaysWhenItNeedsMoreOfTheFile) {
  const std::string file = DicomBytes().whole();
  const DicomVisitor nothing{[](DicomTag) { return false; }, [](DicomTag) { return false; }, {}};
  const DicomMeta meta = scan_dicom_meta(as_bytes(file), file.size());
  const auto beginning = as_bytes(file).first(file.size() - 30);
  EXPECT_FALSE(scan_dicom(beginning, file.size(), meta.end, {}, nothing).complete);
  EXPECT_TRUE(
      scan_dicom(as_bytes(file).first(file.size() - 12), file.size(), meta.end, {}, nothing).complete);
  EXPECT_FALSE(scan_dicom_meta(as_bytes(file).first(140), file.size()).complete);
}

TEST(DicomScan, RefusesLengthsBehindTheEnd) {
  DicomBytes file;
  std::string long_one = file.put(0x00081140, "UT", "xx").whole();
  long_one.replace(long_one.find("UT") + 4, 4, "\xf0\xff\xff\x7f");
  const auto error = error_of([&] { found_in(long_one, rows); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("(0008,1140) claims 2147483632 bytes"));
}

TEST(DicomScan, RefusesItemsLongerThanTheirSequence) {
  DicomBytes file;
  std::string item = file.item(file.element(image_position, "DS", "1\\2\\3 "));
  item[4] = '\x60';
  EXPECT_TRUE(error_of([&] { found_in(file.put(groups, "SQ", item).whole(), image_position); }));
}

TEST(DicomScan, RefusesToGoDeeperThanSixteenSequences) {
  for (const int depth : {16, 17}) {
    DicomBytes file;
    std::string inside;
    for (int i = 0; i < depth; ++i) inside = file.element(planes, "SQ", file.item(inside));
    const auto error =
        error_of([&] { found_in(file.put(groups, "UT", "").drop(groups).whole() + inside, image_position); });
    EXPECT_FALSE(error) << "behind the pixels nothing is looked at";
    const auto nested =
        error_of([&] { found_in(file.put(planes, "SQ", inside.substr(12)).whole(), image_position); });
    EXPECT_EQ(nested.has_value(), depth == 17) << depth;
  }
}

TEST(DicomScan, FindsThePiecesOfCompressedPixels) {
  const std::string file = DicomBytes(testing::rle_lossless).fragments_of({"ab", "cdef"}).whole();
  const DicomMeta meta = scan_dicom_meta(as_bytes(file), file.size());
  const DicomVisitor nothing{[](DicomTag) { return false; }, [](DicomTag) { return false; }, {}};
  const DicomScan scan = scan_dicom(as_bytes(file), file.size(), meta.end, {}, nothing);
  ASSERT_TRUE(scan.pixels.in_fragments);
  const auto pieces = find_fragments(as_bytes(file), scan.pixels.begin);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0].size(), 0U);
  EXPECT_EQ(pieces[2].size(), 4U);
  EXPECT_TRUE(error_of([&] { find_fragments(as_bytes(file).first(file.size() - 9), scan.pixels.begin); }));
}

}  // namespace
}  // namespace larmor
