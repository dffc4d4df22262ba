#include "larmor/report/picture_series.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "larmor/base/text.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t step_digits = 8;  // at least, of PictureFolder's names

/// "reconstruction" and 120 of reconstruction-00000120.
std::pair<std::string, std::optional<int64_t>> name_and_step(const std::string& stem) {
  const auto dash = stem.rfind('-');
  if (dash == std::string::npos || stem.size() - dash - 1 < step_digits) return {stem, std::nullopt};
  int64_t step = 0;
  const auto* const end = stem.data() + stem.size();
  const auto [read, fault] = std::from_chars(stem.data() + dash + 1, end, step);
  if (fault != std::errc() || read != end) return {stem, std::nullopt};
  return {stem.substr(0, dash), step};
}

using ByName = std::map<std::string, PictureSeries>;

void add_pictures(ByName& all, const fs::path& folder, const std::string& before) {
  std::error_code gone;
  for (const auto& item : fs::directory_iterator(folder, gone)) {
    std::error_code unknown;
    if (item.path().extension() != ".png" || !item.is_regular_file(unknown)) continue;
    const auto [name, step] = name_and_step(item.path().stem().string());
    auto& series = all[before + name];
    series.name = before + name;
    series.shots.push_back({.step = step, .file = item.path(), .bytes = item.file_size(unknown)});
  }
}

/// 0 … n - 1: the last, the first, then the middle of each gap, of the wider gaps first.
std::vector<std::size_t> by_worth(std::size_t n) {
  std::vector<std::size_t> order;
  if (n == 0) return order;
  order.push_back(n - 1);
  if (n > 1) order.push_back(0);
  std::vector<std::pair<std::size_t, std::size_t>> gaps{{0, n - 1}};
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const auto [low, high] = gaps[i];
    if (high - low < 2) continue;
    const auto middle = low + (high - low) / 2;
    order.push_back(middle);
    gaps.emplace_back(low, middle);
    gaps.emplace_back(middle, high);
  }
  return order;
}

}  // namespace

std::vector<PictureSeries> pictures_within(const fs::path& folder, uint64_t bytes) {
  ByName all;
  add_pictures(all, folder, "");
  std::error_code gone;
  for (const auto& item : fs::directory_iterator(folder, gone)) {
    std::error_code unknown;
    const auto name = item.path().filename().string();
    if (item.is_directory(unknown) && !item.is_symlink(unknown) && name.starts_with("evaluate-"))
      add_pictures(all, item.path(), name + "/");
  }
  std::vector<PictureSeries> kept;
  std::vector<std::vector<std::size_t>> orders;
  std::size_t most = 0;
  for (auto& [name, series] : all) {
    std::ranges::sort(series.shots, {}, &PictureSeries::Shot::step);
    orders.push_back(by_worth(series.shots.size()));
    most = std::max(most, series.shots.size());
    kept.push_back({.name = name, .left_out = std::ssize(series.shots)});
  }
  for (std::size_t turn = 0; turn < most; ++turn) {
    auto of = all.begin();
    for (std::size_t i = 0; i < kept.size(); ++i, ++of) {
      if (turn >= orders[i].size()) continue;
      const auto& shot = of->second.shots[orders[i][turn]];
      if (shot.bytes > bytes) continue;
      bytes -= shot.bytes;
      kept[i].shots.push_back(shot);
      --kept[i].left_out;
    }
  }
  for (auto& series : kept) std::ranges::sort(series.shots, {}, &PictureSeries::Shot::step);
  return kept;
}

}  // namespace larmor
