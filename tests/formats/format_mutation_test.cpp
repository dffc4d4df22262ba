// Some thousands of spoilt PNG, JPEG, DICOM, NumPy and list files: each is refused with an Error, or read,
// and nothing else happens. tests/fuzz does the same for as long as one likes.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/base/seed.h"
#include "larmor/formats/csv.h"
#include "larmor/formats/dicom/dicom.h"
#include "larmor/formats/numpy/numpy_file.h"
#include "larmor/formats/numpy/zip_archive.h"
#include "larmor/formats/pictures/jpeg.h"
#include "larmor/formats/pictures/png.h"
#include "larmor/formats/quick_check.h"
#include "larmor/formats/stored_volume.h"

#include "tests/support/image_files.h"
#include "tests/support/mutation.h"
#include "tests/support/picture_files.h"
#include "tests/support/seeds.h"

namespace larmor {
namespace {

using testing::as_bytes;
using testing::mutated;
using testing::owned;

struct Tally {
  int accepted = 0, refused = 0;
};

/// `read` gets spoilt files, and says how many bytes it made of each.
Tally try_mutations(const std::vector<std::string>& files, int rounds, std::size_t most_bytes_of_one,
                    const std::function<std::size_t(const std::string&)>& read) {
  Draws draws(make_key(3, 0, 0, "mutations"));
  Tally tally;
  for (int round = 0; round < rounds; ++round) {
    const std::string bytes = mutated(files[static_cast<std::size_t>(round) % files.size()], draws);
    try {
      EXPECT_LE(read(bytes), most_bytes_of_one * bytes.size() + 65536);
      ++tally.accepted;
    } catch (const Error& error) {
      ++tally.refused;
      EXPECT_EQ(error.exit(), Exit::data) << error.message();
    }
  }
  return tally;
}

TEST(SpoiltFiles, OfPngAreRefusedOrRead) {
  const auto files = testing::seeds().at("png");
  const Tally as_they_are = try_mutations(files, 5000, 3 * 8 * 1032,
                                          [](const auto& bytes) { return parse_png(as_bytes(bytes)).bytes; });
  EXPECT_GT(as_they_are.refused, 2000);
  const Tally summed = try_mutations(files, 10000, 3 * 8 * 1032, [](const auto& bytes) {
    return parse_png(as_bytes(testing::with_check_sums(bytes))).bytes;
  });
  EXPECT_GT(summed.accepted, 200);
  EXPECT_GT(summed.refused, 2000);
}

TEST(SpoiltFiles, OfJpegAreRefusedOrRead) {
  const Tally tally = try_mutations(testing::seeds().at("jpeg"), 10000, 3 * 512,
                                    [](const auto& bytes) { return parse_jpeg(as_bytes(bytes)).bytes; });
  EXPECT_GT(tally.accepted, 500);
  EXPECT_GT(tally.refused, 2000);
}

TEST(SpoiltFiles, OfDicomAreRefusedOrRead) {
  const auto files = testing::seeds().at("dicom");
  const Tally tally = try_mutations(files, 20000, 1000, [](const auto& bytes) {
    const StoredVolume volume = parse_dicom_volume(owned(bytes));
    if (!volume.fault.empty()) throw Error(Exit::data, volume.fault);
    return volume.array.file.size();
  });
  EXPECT_GT(tally.accepted, 2000);
  EXPECT_GT(tally.refused, 4000);
}

TEST(SpoiltFiles, WithHeadersInTextAreRefusedOrRead) {
  const ScratchFolder scratch;
  const Tally tally = try_mutations(testing::seeds().at("text_header"), 6000, 1032, [&](const auto& bytes) {
    testing::write_file(scratch.path() / "file", bytes);
    const StoredVolume volume = open_volume(scratch.path() / "file");
    if (!volume.fault.empty()) throw Error(Exit::data, volume.fault);
    return volume.array.file.size();
  });
  EXPECT_GT(tally.accepted, 200);
  EXPECT_GT(tally.refused, 2000);
}

TEST(SpoiltFiles, OnDiskAreRefusedOrReadToo) {
  const ScratchFolder scratch;
  const auto path = scratch.path() / "file";
  std::vector<std::string> files;
  const auto seeds = testing::seeds();
  for (const char* format : {"nifti", "text_header", "png", "jpeg", "dicom", "gzip", "npz"}) {
    const auto& some = seeds.at(format);
    files.insert(files.end(), some.begin(), some.end());
  }
  try_mutations(files, 700, 3 * 8 * 1032, [&](const auto& bytes) {
    testing::write_file(path, bytes);
    looks_sound(path);
    return open_volume(path).array.file.size();
  });
}

TEST(SpoiltFiles, OfNumpyAreRefusedOrRead) {
  const Tally tally = try_mutations(testing::seeds().at("npz"), 6000, 1032, [](const std::string& bytes) {
    if (bytes.starts_with("PK")) {
      const ZipArchive archive(owned(bytes));
      std::size_t size = 0;
      for (const auto& entry : archive.entries()) size += parse_npy(archive.extract(entry)).bytes;
      return size;
    }
    return parse_npy(owned(bytes)).bytes;
  });
  EXPECT_GT(tally.accepted, 100);
  EXPECT_GT(tally.refused, 1000);
}

TEST(SpoiltFiles, WithListsAreRefusedOrRead) {
  const Tally tables = try_mutations(testing::seeds().at("csv"), 10000, 1, [](const auto& bytes) {
    return parse_csv(bytes, "list.csv").rows.size();
  });
  EXPECT_GT(tables.refused, 1000);
  EXPECT_GT(tables.accepted, 100);
  const Tally trees = try_mutations(testing::seeds().at("json"), 10000, 1,
                                    [](const auto& bytes) { return parse_json(bytes, "list.json").size(); });
  EXPECT_GT(trees.refused, 1000);
  EXPECT_GT(trees.accepted, 100);
}

}  // namespace
}  // namespace larmor
