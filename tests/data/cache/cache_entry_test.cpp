#include "larmor/data/cache/cache_entry.h"

#include <sys/file.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/seed.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using NamedEntry = std::map<std::string, Volume, std::less<>>;

const std::string a_key(64, 'a');

Affine some_affine() {
  Affine affine = identity_affine();
  affine[0] = {-1.5, 0.25, 0, 90};
  affine[1] = {0.1, 2, 0, -126};
  affine[2] = {0, 0, 3, -72};
  return affine;
}

/// Whole numbers of [low, high], another one at each place.
Volume whole_numbers(std::vector<int64_t> shape, int64_t low, int64_t high) {
  int64_t count = 1;
  for (const int64_t length : shape) count *= length;
  at::Tensor voxels = at::arange(count, at::kLong).mul(7919).remainder(high - low + 1).add(low);
  return {voxels.to(at::kFloat).reshape(shape), some_affine()};
}

bool same_bits(const at::Tensor& left, const at::Tensor& right) {
  const at::Tensor a = left.contiguous(), b = right.contiguous();
  return a.sizes() == b.sizes() &&
         std::memcmp(a.const_data_ptr(), b.const_data_ptr(), static_cast<std::size_t>(a.nbytes())) == 0;
}

class CacheEntryTest : public ::testing::Test {
 protected:
  CacheEntry written(const NamedEntry& volumes) {
    const Bytes bytes = encode_cache_entry(a_key, volumes);
    write_cache_entry(storage_, path(), bytes);
    bytes_ = bytes.size();
    return CacheEntry::open(path());
  }
  std::filesystem::path path() const { return scratch_.path() / "one.entry"; }
  /// The message of the error that opening these bytes gives.
  std::string refusal(const std::string& bytes) {
    testing::write_file(path(), bytes);
    const auto error = testing::error_of([&] { CacheEntry::open(path()); });
    if (!error) return "accepted";
    EXPECT_EQ(error->exit(), Exit::data);
    return error->message();
  }

  ScratchFolder scratch_;
  DiskStorage storage_;
  uint64_t bytes_ = 0;
};

TEST_F(CacheEntryTest, GivesBackTheSameBitsOfEveryKindOfVoxel) {
  Volume fractions = whole_numbers({1, 33, 65, 31}, 0, 100);
  fractions.voxels = fractions.voxels / 7;
  Volume odd = whole_numbers({1, 5, 1, 7}, 0, 9);
  float* const values = odd.voxels.mutable_data_ptr<float>();
  values[3] = -0.0F;
  values[4] = std::bit_cast<float>(0x7fc01234U);  // a NaN with something in it
  values[5] = std::numeric_limits<float>::infinity();
  const NamedEntry volumes{{"bytes", whole_numbers({2, 40, 31, 33}, 0, 255)},
                           {"ct", whole_numbers({1, 64, 32, 70}, -1024, 3071)},
                           {"unsigned", whole_numbers({1, 9, 100, 3}, 0, 65535)},
                           {"wide", whole_numbers({1, 20, 20, 20}, -40000, 40000)},
                           {"huge", whole_numbers({1, 20, 20, 20}, 0, 9000000)},
                           {"fractions", fractions},
                           {"odd", odd},
                           {"picture", whole_numbers({3, 50, 70, 1}, 0, 255)}};
  const CacheEntry entry = written(volumes);
  EXPECT_EQ(entry.key(), a_key);
  EXPECT_EQ(entry.names().size(), volumes.size());
  EXPECT_EQ(entry.bytes(), bytes_);
  for (const auto& [name, volume] : volumes) {
    SCOPED_TRACE(name);
    const Volume read = entry.read(name);
    EXPECT_TRUE(same_bits(read.voxels, volume.voxels));
    EXPECT_EQ(read.affine, volume.affine);
    EXPECT_EQ(entry.shape(name), volume.voxels.sizes().vec());
  }
}

// Reading them once ended the process by SIGBUS.
TEST_F(CacheEntryTest, RefusesBricksWhoseFileIsCutShortWhileItIsOpen) {
  const CacheEntry entry = written({{"image", whole_numbers({1, 64, 64, 64}, 0, 9000000)}});
  std::filesystem::resize_file(path(), bytes_ / 2);
  EXPECT_NO_THROW(entry.read_crop("image", {0, 0, 0}, {8, 8, 8}));
  EXPECT_THROW(entry.read_crop("image", {60, 60, 60}, {4, 4, 4}), DamagedBrick);
  std::filesystem::resize_file(path(), 0);
  EXPECT_THROW(entry.read("image"), DamagedBrick);
}

TEST_F(CacheEntryTest, KeepsWholeNumbersAsSmallAsTheyFit) {
  const uint64_t voxels = 64 * 64 * 64;
  const auto bytes = [&](int64_t low, int64_t high) {
    return written({{"image", whole_numbers({1, 64, 64, 64}, low, high)}}).bytes();
  };
  EXPECT_LT(bytes(0, 255), voxels + 1024);
  EXPECT_LT(bytes(-1, 255), 2 * voxels + 1024);
  EXPECT_LT(bytes(0, 256), 2 * voxels + 1024);
  EXPECT_LT(bytes(0, 65535), 2 * voxels + 1024);
  EXPECT_GE(bytes(-1, 65535), 4 * voxels);
  EXPECT_GE(bytes(0, 65536), 4 * voxels);
}

TEST_F(CacheEntryTest, TakesVoxelsAsTheirFileHadThem) {
  Volume volume = whole_numbers({1, 40, 50, 60}, 0, 1000);
  volume.voxels = volume.voxels.permute({0, 3, 2, 1});
  EXPECT_TRUE(same_bits(written({{"image", volume}}).read("image").voxels, volume.voxels));
}

TEST_F(CacheEntryTest, CutsTheSameCropsAsTheWholeVolume) {
  const NamedEntry volumes{{"image", whole_numbers({2, 70, 45, 100}, -500, 500)}};
  const CacheEntry entry = written(volumes);
  Draws draws(make_key(1, 0, 0, "crops"));
  for (int round = 0; round < 300; ++round) {
    std::vector<int64_t> corner, size;
    for (int64_t axis = 0; axis < 3; ++axis) {
      const auto length = static_cast<uint64_t>(volumes.at("image").voxels.size(axis + 1));
      size.push_back(static_cast<int64_t>(1 + draws.below(length)));
      corner.push_back(static_cast<int64_t>(draws.below(length - static_cast<uint64_t>(size.back()) + 1)));
    }
    at::Tensor expected = volumes.at("image").voxels;
    for (std::size_t axis = 0; axis < 3; ++axis)
      expected = expected.narrow(static_cast<int64_t>(axis) + 1, corner[axis], size[axis]);
    const Volume crop = entry.read_crop("image", corner, size);
    ASSERT_TRUE(same_bits(crop.voxels, expected));
    const auto index = [&](std::size_t axis) { return static_cast<double>(corner[axis]); };
    ASSERT_EQ(position(crop.affine, {}), position(some_affine(), {index(0), index(1), index(2)}));
  }
}

TEST_F(CacheEntryTest, FindsADamagedBrickWhenItIsReadAndNoSooner) {
  written({{"image", whole_numbers({1, 96, 64, 64}, 0, 255)}});
  std::string bytes = testing::read_whole(path());
  bytes.back() ^= 1;  // the last brick: from (64, 32, 32) on
  testing::write_file(path(), bytes);
  const CacheEntry entry = CacheEntry::open(path());
  EXPECT_NO_THROW(entry.read_crop("image", {0, 0, 0}, {64, 64, 64}));
  EXPECT_NO_THROW(entry.read_crop("image", {64, 0, 0}, {32, 64, 32}));
  const auto error = testing::error_of([&] { entry.read_crop("image", {60, 30, 30}, {10, 10, 10}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("brick 11 of image"));
  EXPECT_THROW(entry.read("image"), Error);
}

TEST_F(CacheEntryTest, FindsEveryFlippedBitOfTheHeaderWhenItIsOpened) {
  const NamedEntry volumes{{"image", whole_numbers({1, 40, 10, 3}, 0, 255)},
                           {"label", whole_numbers({1, 2, 2, 2}, 0, 1)}};
  written(volumes);
  const std::string bytes = testing::read_whole(path());
  uint64_t header = 0;
  std::memcpy(&header, bytes.data() + 16, sizeof(header));
  ASSERT_LT(header, bytes.size());
  for (std::size_t bit = 0; bit < 8 * header; ++bit) {
    std::string spoilt = bytes;
    spoilt[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    ASSERT_THROW(CacheEntry::of(testing::as_bytes(spoilt)), Error) << "bit " << bit;
  }
}

TEST_F(CacheEntryTest, RefusesWhatIsCutShortOrLonger) {
  written({{"image", whole_numbers({1, 40, 10, 3}, 0, 255)}});
  const std::string bytes = testing::read_whole(path());
  EXPECT_THAT(refusal(bytes.substr(0, bytes.size() - 1)), HasSubstr("bytes long instead of"));
  EXPECT_THAT(refusal(bytes + "x"), HasSubstr("bytes long instead of"));
  EXPECT_THAT(refusal(bytes.substr(0, 50)), HasSubstr("does not begin like one"));
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal(std::string(500, 'x')), HasSubstr("does not begin like one"));
  std::filesystem::remove(path());
  const auto error = testing::error_of([&] { CacheEntry::open(path()); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr(path().string()));
}

TEST_F(CacheEntryTest, IsWholeOrNotThereWhereverWritingStops) {
  const NamedEntry volumes{{"image", whole_numbers({1, 40, 10, 3}, 0, 255)}};
  for (const char* const place : {"create", "write", "sync", "rename"}) {
    FaultyStorage faulty([&](const FaultyStorage::Operation& operation) {
      if (operation.name == place) fail(Exit::environment, "no space left on device");
    });
    EXPECT_THROW(write_cache_entry(faulty, path(), encode_cache_entry(a_key, volumes)), Error) << place;
    EXPECT_TRUE(std::filesystem::is_empty(scratch_.path())) << place;
  }
}

TEST_F(CacheEntryTest, IsInUseWhileACopyOfItLives) {
  const auto can_be_locked = [&] {
    const int file = ::open(path().c_str(), O_RDONLY);
    const bool locked = ::flock(file, LOCK_EX | LOCK_NB) == 0;
    ::close(file);
    return locked;
  };
  {
    const CacheEntry copy = written({{"image", whole_numbers({1, 4, 4, 4}, 0, 9)}});
    EXPECT_FALSE(can_be_locked());
    std::filesystem::remove(path());
    EXPECT_EQ(copy.read("image").voxels.numel(), 64);
    write_cache_entry(storage_, path(), encode_cache_entry(a_key, {}));
    EXPECT_TRUE(can_be_locked());  // another file of the same name
  }
  EXPECT_THAT(CacheEntry::open(path()).names(), ElementsAre());
  EXPECT_TRUE(can_be_locked());
}

}  // namespace
}  // namespace larmor
