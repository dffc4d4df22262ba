#include "larmor/formats/pictures/picture_average.h"

#include <cstring>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/formats/pictures/picture.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using testing::error_of;

template <class Sample>
StoredArray picture_of(int64_t columns, int64_t rows, int64_t channels, const std::vector<Sample>& samples) {
  Pixels pixels{.columns = columns,
                .rows = rows,
                .samples = channels,
                .channels = channels,
                .type = sizeof(Sample) == 1 ? VoxelType::uint8 : VoxelType::uint16,
                .bytes = Bytes(samples.size() * sizeof(Sample))};
  std::memcpy(pixels.bytes.data(), samples.data(), pixels.bytes.size());
  return to_array(std::move(pixels));
}

/// [X, Y] or [X, Y, 1, C]
at::Tensor numbers_of(StoredArray array) { return to_tensor(std::move(array)).clone(); }

TEST(AveragedPicture, HoldsTheMeanOfWhatAPixelTouches) {
  auto small = averaged(picture_of<uint8_t>(4, 2, 1, {1, 3, 5, 8, 3, 5, 7, 255}), {2, 1});
  EXPECT_THAT(small.shape, ElementsAre(2, 1));
  EXPECT_EQ(small.format.type, VoxelType::float32);
  EXPECT_TRUE(at::equal(numbers_of(std::move(small)), at::tensor({3.0F, 68.75F}).reshape({2, 1})));
  // A third pixel of two is shared.
  EXPECT_TRUE(at::equal(numbers_of(averaged(picture_of<uint16_t>(3, 1, 1, {100, 200, 60000}), {2, 1})),
                        at::tensor({150.0F, 30100.0F}).reshape({2, 1})));
}

TEST(AveragedPicture, KeepsColoursApart) {
  auto small = averaged(picture_of<uint8_t>(2, 1, 3, {0, 10, 20, 2, 14, 26}), {1, 1});
  EXPECT_THAT(small.shape, ElementsAre(1, 1, 1, 3));
  EXPECT_TRUE(
      at::equal(numbers_of(std::move(small)), at::tensor({1.0F, 12.0F, 23.0F}).reshape({1, 1, 1, 3})));
}

TEST(AveragedPicture, IsAdaptiveAveragePooling) {
  at::manual_seed(1);
  for (const auto& [rows, size] : std::vector<std::pair<int64_t, std::array<int64_t, 2>>>{
           {37, {5, 7}}, {37, {61, 40}}, {600, {3, 2}}, {37, {53, 37}}}) {
    const auto pixels = at::randint(0, 256, {rows, 53}, at::kByte);
    const std::vector<uint8_t> samples(pixels.const_data_ptr<uint8_t>(),
                                       pixels.const_data_ptr<uint8_t>() + pixels.numel());
    const auto theirs =
        at::adaptive_avg_pool2d(pixels.to(at::kDouble).unsqueeze(0), {size[1], size[0]}).squeeze(0).t();
    const auto ours = numbers_of(averaged(picture_of(53, rows, 1, samples), size));
    EXPECT_TRUE(at::allclose(ours.to(at::kDouble), theirs, 1e-7, 0)) << rows << " to " << size[1];
  }
}

TEST(AveragedPicture, DoesNotOverflow) {
  const std::vector<uint8_t> bytes(2 * 1000, 255);
  EXPECT_EQ(numbers_of(averaged(picture_of(2, 1000, 1, bytes), {1, 1})).item<float>(), 255);
  const std::vector<uint16_t> words(2 * 40000, 65535);
  EXPECT_EQ(numbers_of(averaged(picture_of(2, 40000, 1, words), {1, 1})).item<float>(), 65535);
}

TEST(AveragedPicture, RefusesWhatItCannotSum) {
  const std::vector<uint16_t> words(65538, 65535);
  EXPECT_TRUE(error_of([&] { averaged(picture_of(1, 65538, 1, words), {1, 1}); }));
  EXPECT_EQ(numbers_of(averaged(picture_of(1, 65538, 1, words), {1, 2})).mean().item<float>(), 65535);
}

TEST(AveragedPicture, RefusesSizesThatNoMachineHas) {
  EXPECT_TRUE(error_of([] { averaged(picture_of<uint8_t>(1, 1, 1, {1}), {1 << 20, 1 << 20}); }));
}

}  // namespace
}  // namespace larmor
