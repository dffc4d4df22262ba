#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/stored_array.h"
#include "larmor/formats/stored_volume.h"
#include "larmor/formats/volume.h"
#include "larmor/formats/voxel_hash.h"

namespace larmor {

namespace {

constexpr std::size_t chunk = std::size_t{1} << 15;

struct Counted {
  double min = std::numeric_limits<double>::infinity(), max = -min, sum = 0;
  int64_t numbers = 0, not_numbers = 0, infinite = 0, too_large = 0;  // too_large: for float32, and a number
  std::optional<int64_t> first_odd;                                   // in the order of the file

  void add(std::span<const double> values) {
    for (const double value : values) {
      if (!std::isfinite(value)) {
        if (!first_odd) first_odd = numbers + not_numbers + infinite;
        ++(std::isnan(value) ? not_numbers : infinite);
        continue;
      }
      if (std::isinf(static_cast<float>(value))) ++too_large;
      min = std::min(min, value);
      max = std::max(max, value);
      sum += value;
      ++numbers;
    }
  }
};

/// Statistics of the scaled values in double: what a float32 would round away is still shown.
Counted count_values(const StoredArray& array) {
  Counted counted;
  std::vector<double> values(chunk);
  const std::size_t width = bytes_of(array.format.type);
  for (std::size_t begin = 0; begin < array.bytes / width; begin += chunk) {
    const std::size_t size = std::min(chunk, array.bytes / width - begin);
    const auto part = std::span(values).first(size);
    decode_voxels(array.voxels().subspan(begin * width, size * width), array.format, part);
    counted.add(part);
  }
  return counted;
}

/// "[3, 0, 12]": of the voxel that is so far into the file.
std::string position_of(int64_t number, const StoredArray& array) {
  std::vector<std::string> words(array.shape.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t axis = array.first_axis_fastest ? i : words.size() - 1 - i;
    words[axis] = text(number % array.shape[axis]);
    number /= array.shape[axis];
  }
  return text("[", join(words, ", "), "]");
}

constexpr const char* refused_in_training = "; training and predict take the file for a bad one";

void describe_odd_values(FileReport& report, const Counted& counted, const StoredArray& array) {
  std::vector<std::string> odd;
  if (counted.not_numbers > 0)
    odd.push_back(text(counted.not_numbers, counted.not_numbers == 1 ? " voxel is NaN" : " voxels are NaN"));
  if (counted.infinite > 0)
    odd.push_back(
        text(counted.infinite, counted.infinite == 1 ? " voxel is infinite" : " voxels are infinite"));
  const auto all = counted.numbers + counted.not_numbers + counted.infinite;
  if (counted.numbers == 0) {
    report.readable = false;
    report.problems.insert(report.problems.begin(),
                           text("holds no finite number: of ", all, " voxels ", join(odd, " and ")));
    report.remedy = "write it anew with the program that made it: its values were lost on the way";
    return;
  }
  if (counted.too_large > 0)
    report.problems.push_back(text(counted.too_large, counted.too_large == 1 ? " voxel is" : " voxels are",
                                   " too large for float32, in which voxels are read", refused_in_training));
  if (!odd.empty())
    report.problems.push_back(text(join(odd, " and "), " of ", all, ", the first at ",
                                   position_of(*counted.first_odd, array), refused_in_training));
  if (counted.min == counted.max)
    report.problems.push_back(text(odd.empty() ? "all voxels are " : "all other voxels are ", counted.min,
                                   ": there is nothing to be seen in it"));
}

/// No scanner has such voxels: a unit was mistaken, or a header is another file's.
void describe_spacing(FileReport& report) {
  constexpr double least = 1e-3, most = 100;
  for (std::size_t axis = 0; axis < report.spacing_mm.size(); ++axis) {
    const double spacing = report.spacing_mm[axis];
    if (spacing >= least && spacing <= most) continue;
    report.problems.push_back(text("the spacing along axis ", axis + 1, " is ", spacing,
                                   " mm, which no image of a body has: is it in millimetres?"));
  }
}

void describe_voxels(FileReport& report, const StoredArray& array) {
  const Counted counted = count_values(array);
  const double none = std::numeric_limits<double>::quiet_NaN();
  report.min = counted.numbers > 0 ? counted.min : none;
  report.max = counted.numbers > 0 ? counted.max : none;
  report.mean = counted.numbers > 0 ? counted.sum / static_cast<double>(counted.numbers) : none;
  report.sha256 = hash_of_voxels(array);
  describe_odd_values(report, counted, array);
}

void describe(FileReport& report, StoredVolume volume) {
  report.shape = volume.array.shape;
  report.spacing_mm = volume.spacing_mm;
  report.affine = volume.affine;
  report.dtype = volume.dtype;
  report.problems = std::move(volume.problems);
  describe_spacing(report);
  if (!volume.fault.empty()) fail(Exit::data, volume.fault, volume.hint);
  describe_voxels(report, volume.array);
}

Json numbers(std::span<const double> values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(value);
  return list;
}

}  // namespace

FileReport inspect_file(const std::filesystem::path& path) {
  FileReport report;
  report.min = report.max = report.mean = std::numeric_limits<double>::quiet_NaN();
  try {
    describe(report, open_volume(path));
  } catch (const Error& error) {
    report.readable = false;
    report.problems.insert(report.problems.begin(), error.message());
    report.remedy = error.hint();
  }
  return report;
}

Json to_json(const FileReport& report, const std::string& path) {
  Json affine = Json::array();
  for (const auto& row : report.affine) affine.push_back(numbers(row));
  return {{"path", path},
          {"shape", report.shape},
          {"spacing_mm", numbers(report.spacing_mm)},
          {"affine", affine},
          {"dtype", report.dtype},
          {"min", report.min},
          {"max", report.max},
          {"mean", report.mean},
          {"sha256", report.sha256},
          {"problems", report.problems}};
}

}  // namespace larmor
