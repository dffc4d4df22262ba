#include "larmor/base/image.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <spng.h>

#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"

namespace larmor {
namespace {

Image decode(const std::string& bytes) {
  const std::unique_ptr<spng_ctx, decltype(&spng_ctx_free)> context(spng_ctx_new(0), &spng_ctx_free);
  EXPECT_EQ(spng_set_png_buffer(context.get(), bytes.data(), bytes.size()), 0);
  spng_ihdr header{};
  EXPECT_EQ(spng_get_ihdr(context.get(), &header), 0);
  Image image;
  image.width = static_cast<int>(header.width);
  image.height = static_cast<int>(header.height);
  image.channels = header.color_type == SPNG_COLOR_TYPE_TRUECOLOR ? 3 : 1;
  size_t size = 0;
  EXPECT_EQ(spng_decoded_image_size(context.get(), SPNG_FMT_PNG, &size), 0);
  image.pixels.resize(size);
  EXPECT_EQ(spng_decode_image(context.get(), image.pixels.data(), size, SPNG_FMT_PNG, 0), 0);
  return image;
}

Image ramp(int width, int height, int channels) {
  Image image{.width = width, .height = height, .channels = channels, .pixels = {}};
  for (int i = 0; i < width * height * channels; ++i) image.pixels.push_back(static_cast<uint8_t>(i * 7));
  return image;
}

TEST(EncodePng, GivesBackEveryPixelWhenDecoded) {
  for (const int channels : {1, 3}) {
    const Image image = ramp(17, 5, channels);
    const Image decoded = decode(encode_png(image));
    EXPECT_EQ(decoded.width, 17);
    EXPECT_EQ(decoded.height, 5);
    EXPECT_EQ(decoded.channels, channels);
    EXPECT_EQ(decoded.pixels, image.pixels);
  }
}

TEST(WritePng, WritesTheEncodedBytes) {
  const ScratchFolder scratch;
  DiskStorage storage;
  write_png(storage, scratch.path() / "a.png", ramp(3, 3, 1));
  EXPECT_EQ(read_text(scratch.path() / "a.png"), encode_png(ramp(3, 3, 1)));
}

TEST(PictureOfAnImage, IsEncodedOnceForAllWhoHaveACopy) {
  const Picture picture(ramp(17, 5, 3)), copy = picture;
  EXPECT_EQ(copy.png(), encode_png(ramp(17, 5, 3)));
  EXPECT_EQ(copy.png().data(), picture.png().data());
  EXPECT_EQ(&copy.image(), &picture.image());
}

TEST(Stacked, PutsPicturesBelowEachOther) {
  const Image wide{.width = 2, .height = 1, .channels = 1, .pixels = {1, 2}};
  const Image both = stacked({wide, wide}, 1);
  EXPECT_EQ(both.height, 3);
  EXPECT_EQ(both.pixels, (std::vector<uint8_t>{1, 2, 128, 128, 1, 2}));
}

TEST(Stacked, PadsAtTheRight) {
  const Image wide{.width = 2, .height = 1, .channels = 1, .pixels = {1, 2}};
  const Image tall{.width = 1, .height = 2, .channels = 1, .pixels = {3, 4}};
  EXPECT_EQ(stacked({tall, wide}, 0).pixels, (std::vector<uint8_t>{3, 128, 4, 128, 1, 2}));
}

TEST(Stacked, TurnsGreyIntoColourNextToColour) {
  const Image grey{.width = 1, .height = 1, .channels = 1, .pixels = {9}};
  const Image red{.width = 1, .height = 1, .channels = 3, .pixels = {255, 0, 0}};
  EXPECT_EQ(stacked({grey, red}, 0).pixels, (std::vector<uint8_t>{9, 9, 9, 255, 0, 0}));
}

TEST(Stacked, OfNothingIsAnEmptyPicture) { EXPECT_TRUE(stacked({}).pixels.empty()); }

}  // namespace
}  // namespace larmor
