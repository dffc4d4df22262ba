#include <algorithm>
#include <cmath>
#include <limits>
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
  int64_t numbers = 0, not_numbers = 0, infinite = 0;

  void add(std::span<const double> values) {
    for (const double value : values) {
      if (std::isnan(value)) {
        ++not_numbers;
        continue;
      }
      infinite += std::isinf(value) ? 1 : 0;
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

void describe_voxels(FileReport& report, const StoredArray& array) {
  const Counted counted = count_values(array);
  const double none = std::numeric_limits<double>::quiet_NaN();
  report.min = counted.numbers > 0 ? counted.min : none;
  report.max = counted.numbers > 0 ? counted.max : none;
  report.mean = counted.numbers > 0 ? counted.sum / static_cast<double>(counted.numbers) : none;
  if (counted.not_numbers > 0) report.problems.push_back(text(counted.not_numbers, " voxels are NaN"));
  if (counted.infinite > 0) report.problems.push_back(text(counted.infinite, " voxels are infinite"));
  report.sha256 = hash_of_voxels(array);
}

void describe(FileReport& report, StoredVolume volume) {
  report.shape = volume.array.shape;
  report.spacing_mm = volume.spacing_mm;
  report.affine = volume.affine;
  report.dtype = volume.dtype;
  report.problems = std::move(volume.problems);
  if (!volume.fault.empty()) fail(Exit::data, volume.fault);
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
