// A picture as plain 8-bit pixels, and PNG files of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace larmor {

class Storage;

struct Image {
  int width = 0;
  int height = 0;
  int channels = 1;             // 1 grey, 3 RGB
  std::vector<uint8_t> pixels;  // row by row, channels together
};

/// The bytes of a PNG file.
std::string encode_png(const Image& image);
void write_png(Storage& storage, const std::filesystem::path& path, const Image& image);

/// An image for several readers, whose PNG is encoded once, by the first that asks. Copies share both.
/// Thread-safe.
class Picture {
 public:
  Picture(Image image);  // implicit: whoever has an image has a picture
  const Image& image() const;
  const std::string& png() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

/// Pictures below each other, `gap` grey rows between them; widths are padded at the right.
Image stacked(const std::vector<Image>& images, int gap = 4);

}  // namespace larmor
