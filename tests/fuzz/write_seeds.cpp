// Writes what the fuzz targets begin with: FOLDER/<format>/00, 01, ….
#include <filesystem>
#include <iostream>

#include "larmor/base/text.h"

#include "tests/support/image_files.h"
#include "tests/support/seeds.h"

int main(int count, char** words) {
  if (count != 2) {
    std::cerr << "write_seeds FOLDER\n";
    return 2;
  }
  for (const auto& [format, files] : larmor::testing::seeds()) {
    const auto folder = std::filesystem::path(words[1]) / format;
    std::filesystem::create_directories(folder);
    for (std::size_t i = 0; i < files.size(); ++i)
      larmor::testing::write_file(folder / larmor::text(i / 10, i % 10), files[i]);
  }
  return 0;
}
