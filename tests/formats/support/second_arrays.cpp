#include <algorithm>
#include <cmath>
#include <cstring>
#include <regex>

#include "tests/formats/support/second_reader.h"

namespace larmor::testing {

namespace {

template <class Value>
Value at(const std::string& bytes, std::size_t offset) {
  Value value;
  std::memcpy(&value, bytes.data() + offset, sizeof(Value));
  return value;
}

template <class Value>
std::vector<double> values_of(const std::string& bytes, std::size_t offset, std::size_t count, bool swap) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    std::string one = bytes.substr(offset + i * sizeof(Value), sizeof(Value));
    if (swap) std::ranges::reverse(one);
    values.push_back(static_cast<double>(at<Value>(one, 0)));
  }
  return values;
}

/// Nothing for a type that the files of the tests do not have.
std::optional<std::vector<double>> numbers_of(const std::string& type, const std::string& bytes,
                                              std::size_t offset, std::size_t count, bool swap = false) {
  const auto width = static_cast<std::size_t>(type[1] - '0');
  if (offset > bytes.size() || (bytes.size() - offset) / width < count) return std::nullopt;
  if (type == "u1") return values_of<uint8_t>(bytes, offset, count, swap);
  if (type == "i1") return values_of<int8_t>(bytes, offset, count, swap);
  if (type == "u2") return values_of<uint16_t>(bytes, offset, count, swap);
  if (type == "i2") return values_of<int16_t>(bytes, offset, count, swap);
  if (type == "u4") return values_of<uint32_t>(bytes, offset, count, swap);
  if (type == "i4") return values_of<int32_t>(bytes, offset, count, swap);
  if (type == "u8") return values_of<uint64_t>(bytes, offset, count, swap);
  if (type == "i8") return values_of<int64_t>(bytes, offset, count, swap);
  if (type == "f4") return values_of<float>(bytes, offset, count, swap);
  if (type == "f8") return values_of<double>(bytes, offset, count, swap);
  return std::nullopt;
}

struct TypeOfCode {
  int code, bits;
  const char* type;
};
constexpr TypeOfCode nifti_types[] = {{2, 8, "u1"},     {4, 16, "i2"},   {8, 32, "i4"},   {16, 32, "f4"},
                                      {64, 64, "f8"},   {256, 8, "i1"},  {512, 16, "u2"}, {768, 32, "u4"},
                                      {1024, 64, "i8"}, {1280, 64, "u8"}};

/// The rotation of a quaternion, whose first part is what the others leave of length 1.
std::optional<std::array<double, 16>> affine_of_qform(const std::string& file,
                                                      const std::array<double, 3>& step) {
  const double b = at<float>(file, 256), c = at<float>(file, 260), d = at<float>(file, 264);
  const double qfac = at<float>(file, 76), rest = 1 - b * b - c * c - d * d;
  if (!std::isfinite(rest) || rest < -1e-6 || (qfac != 1 && qfac != -1 && qfac != 0)) return std::nullopt;
  const double a = std::sqrt(std::max(rest, 0.0)), hand = qfac == -1 ? -1 : 1;
  const double scale[3] = {step[0], step[1], step[2] * hand};
  const double turn[3][3] = {{a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
                             {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
                             {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c}};
  std::array<double, 16> affine{};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 3; ++column)
      affine[4 * row + column] = turn[row][column] * scale[column];
    affine[4 * row + 3] = at<float>(file, 268 + 4 * row);
  }
  affine[15] = 1;
  return affine;
}

std::optional<std::array<double, 16>> affine_of(const std::string& file, const SecondOpinion& opinion,
                                                int axes) {
  std::array<double, 3> step{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    step[axis] = std::abs(static_cast<double>(at<float>(file, 80 + 4 * axis)));
    if (static_cast<int>(axis) < axes && !std::isfinite(step[axis])) return std::nullopt;
    if (step[axis] == 0 || !std::isfinite(step[axis])) step[axis] = 1;
  }
  std::array<double, 16> affine{};
  affine[15] = 1;
  const auto qform = at<int16_t>(file, 252), sform = at<int16_t>(file, 254);
  if (qform < 0 || qform > 5 || sform < 0 || sform > 5) return std::nullopt;
  if (sform > 0) {
    for (std::size_t i = 0; i < 12; ++i) affine[i] = at<float>(file, 280 + 4 * i);
  } else if (qform > 0) {
    const auto turned = affine_of_qform(file, step);
    if (!turned) return std::nullopt;
    affine = *turned;
  } else {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double along = static_cast<int>(axis) < axes ? step[axis] : 1;
      affine[5 * axis] = axis == 0 ? -along : along;
      affine[4 * axis + 3] = -affine[5 * axis] * static_cast<double>(opinion.size[axis] - 1) / 2;
    }
  }
  if (!std::ranges::all_of(affine, [](double value) { return std::isfinite(value); })) return std::nullopt;
  return affine;
}

}  // namespace

std::optional<SecondOpinion> second_nifti(const std::string& file) {
  if (file.size() < 352 || at<int32_t>(file, 0) != 348 || file.substr(344, 4) != std::string("n+1\0", 4))
    return std::nullopt;
  SecondOpinion opinion;
  const int axes = at<int16_t>(file, 40);
  if (axes < 1 || axes > 7) return std::nullopt;
  std::size_t count = 1;
  for (int axis = 1; axis <= axes; ++axis) {
    const auto size = at<int16_t>(file, 40 + 2 * static_cast<std::size_t>(axis));
    if (size < 1) return std::nullopt;
    count *= static_cast<std::size_t>(size);
    if (axis <= 3)
      opinion.size[static_cast<std::size_t>(axis - 1)] = size;
    else
      opinion.channels *= size;
  }
  for (auto& size : opinion.size) size = std::max<int64_t>(size, 1);
  const auto type = std::ranges::find(nifti_types, at<int16_t>(file, 70), &TypeOfCode::code);
  const double begin = at<float>(file, 108);
  if (type == std::end(nifti_types) || at<int16_t>(file, 72) != type->bits) return std::nullopt;
  if (!(begin >= 352) || begin != std::floor(begin) || begin > static_cast<double>(file.size()))
    return std::nullopt;
  const auto stored = numbers_of(type->type, file, static_cast<std::size_t>(begin), count);
  if (!stored) return std::nullopt;
  // A scale of 0 or one that is not finite says that there is none.
  const double slope = at<float>(file, 112), intercept = at<float>(file, 116);
  const bool is_scaled = slope != 0 && std::isfinite(slope);
  for (const double value : *stored) opinion.voxels.push_back(is_scaled ? value * slope + intercept : value);
  const auto affine = affine_of(file, opinion, axes);
  if (!affine) return std::nullopt;
  opinion.affine = *affine;
  return opinion;
}

std::optional<SecondOpinion> second_npy(const std::string& file) {
  if (file.size() < 10 || file.substr(0, 6) != "\x93NUMPY" || file[6] != 1 || file[7] != 0)
    return std::nullopt;
  const std::size_t length = at<uint16_t>(file, 8);
  if (length > file.size() - 10) return std::nullopt;
  const std::string header = file.substr(10, length);
  static const std::regex form(R"(\{'descr': '([<>|=])([uif][1248])', 'fortran_order': (True|False), )"
                               R"('shape': \((\d+), (\d+), (\d+)\), ?\}[ \n]*)");
  std::smatch found;
  if (!std::regex_match(header, found, form)) return std::nullopt;
  SecondOpinion opinion;
  std::size_t count = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    opinion.size[axis] = std::stoll(found[4 + axis].str().substr(0, 9));
    count *= static_cast<std::size_t>(opinion.size[axis]);
  }
  const auto stored = numbers_of(found[2], file, 10 + length, count, found[1] == ">");
  const auto width = static_cast<std::size_t>(found[2].str()[1] - '0');
  if (count == 0 || !stored || file.size() != 10 + length + count * width) return std::nullopt;
  const auto& size = opinion.size;
  if (found[3] == "True") {
    opinion.voxels = *stored;
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = i % static_cast<std::size_t>(size[0]), rest = i / static_cast<std::size_t>(size[0]);
      const auto y = rest % static_cast<std::size_t>(size[1]), z = rest / static_cast<std::size_t>(size[1]);
      opinion.voxels.push_back(
          (*stored)[(x * static_cast<std::size_t>(size[1]) + y) * static_cast<std::size_t>(size[2]) + z]);
    }
  }
  opinion.affine = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  return opinion;
}

}  // namespace larmor::testing
