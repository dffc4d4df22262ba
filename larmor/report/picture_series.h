// The pictures of a run, as many as there is room for in a page.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace larmor {

/// One name through time: "reconstruction" of pictures/reconstruction-00000120.png and its like; of
/// pictures/evaluate-val/roc.png, which has no step, "evaluate-val/roc".
struct PictureSeries {
  struct Shot {
    std::optional<int64_t> step;
    std::filesystem::path file;
    uint64_t bytes = 0;
  };
  std::string name;
  std::vector<Shot> shots;  // ascending by step
  int64_t left_out = 0;     // shots there was no room for
};

/// The pictures, by name; with the last shot of each first, then the first, then those half way between
/// others, as long as there is room for them in `bytes`. Nothing where the folder is not there.
std::vector<PictureSeries> pictures_within(const std::filesystem::path& folder, uint64_t bytes);

}  // namespace larmor
