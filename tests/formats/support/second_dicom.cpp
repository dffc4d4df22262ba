#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "tests/formats/support/second_reader.h"

namespace larmor::testing {

namespace {

/// Whatever stands there twice has two values, and so none.
using Elements = std::map<uint32_t, std::vector<std::string>>;

uint32_t little(const std::string& bytes, std::size_t at, std::size_t size) {
  uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

struct NoFile {};

void demand(bool sound) {
  if (!sound) throw NoFile{};
}

/// The elements from `at` on, until the pixels have been taken or group `group` is over.
std::size_t take_elements(const std::string& file, std::size_t at, bool typed, bool only_meta,
                          Elements& into) {
  static const std::set<std::string> long_types = {"OB", "OD", "OF", "OL", "OV", "OW", "SQ",
                                                   "SV", "UC", "UN", "UR", "UT", "UV"};
  static const std::set<std::string> short_types = {"AE", "AS", "AT", "CS", "DA", "DS", "DT",
                                                    "FD", "FL", "IS", "LO", "LT", "PN", "SH",
                                                    "SL", "SS", "ST", "TM", "UI", "UL", "US"};
  while (at < file.size()) {
    demand(at + 8 <= file.size());
    const uint32_t tag = little(file, at, 2) << 16 | little(file, at + 2, 2);
    if (only_meta && tag >> 16 != 2) break;
    std::size_t begin = at + 8;
    uint32_t length = 0;
    if (typed) {
      const std::string type = file.substr(at + 4, 2);
      if (long_types.contains(type)) {
        demand(at + 12 <= file.size());
        length = little(file, at + 8, 4);
        begin = at + 12;
      } else {
        demand(short_types.contains(type));
        length = little(file, at + 6, 2);
      }
    } else {
      length = little(file, at + 4, 4);
    }
    demand(length <= file.size() - begin);
    into[tag].push_back(file.substr(begin, length));
    at = begin + length;
    if (tag == 0x7fe00010) break;
  }
  return at;
}

std::string stripped(std::string value) {
  while (!value.empty() && (value.back() == ' ' || value.back() == '\0')) value.pop_back();
  return value.substr(std::min(value.find_first_not_of(' '), value.size()));
}

class DataSet {
 public:
  explicit DataSet(Elements elements) : elements_(std::move(elements)) {}

  std::string word(uint32_t tag) const { return elements_.contains(tag) ? stripped(bytes(tag)) : ""; }

  std::vector<double> numbers(uint32_t tag) const {
    std::vector<double> all;
    const std::string value = word(tag);
    std::size_t begin = 0;
    while (!value.empty() && begin <= value.size()) {
      const std::size_t end = std::min(value.find('\\', begin), value.size());
      const std::string one = stripped(value.substr(begin, end - begin));
      demand(!one.empty() && one.find_first_not_of("0123456789+-.eE") == std::string::npos);
      char* behind = nullptr;
      all.push_back(std::strtod(one.c_str(), &behind));
      demand(*behind == '\0' && std::isfinite(all.back()));
      begin = end + 1;
    }
    return all;
  }
  double number(uint32_t tag, double absent) const {
    const auto all = numbers(tag);
    demand(all.size() <= 1);
    return all.empty() ? absent : all.front();
  }
  uint32_t count(uint32_t tag) const {
    demand(bytes(tag).size() == 2);
    return little(bytes(tag), 0, 2);
  }
  const std::string& pixels() const { return bytes(0x7fe00010); }

 private:
  const std::string& bytes(uint32_t tag) const {
    const auto found = elements_.find(tag);
    demand(found != elements_.end() && found->second.size() == 1);
    return found->second.front();
  }

  Elements elements_;
};

bool is_radiograph(const std::string& modality) {
  static const std::set<std::string> all = {"CR", "DX", "RG", "MG", "PX", "IO", "RF", "XA", "DR"};
  return all.contains(modality);
}

void read_place(const DataSet& data, SecondOpinion& opinion) {
  const auto position = data.numbers(0x00200032), directions = data.numbers(0x00200037);
  auto spacing = data.numbers(0x00280030);
  if (spacing.empty()) spacing = data.numbers(0x00181164);
  demand(position.empty() || position.size() == 3);
  demand(directions.empty() || directions.size() == 6);
  demand(spacing.empty() || spacing.size() == 2);
  if (spacing.empty() || spacing[0] <= 0 || spacing[1] <= 0) spacing = {1, 1};
  double step = data.number(0x00180088, 0);
  const double thickness = data.number(0x00180050, 0);
  if (step <= 0) step = thickness > 0 ? thickness : 1;
  auto& affine = opinion.affine;
  affine[15] = 1;
  if (position.empty() || directions.empty()) {
    affine[0] = spacing[1], affine[5] = spacing[0], affine[10] = step;
    return;
  }
  const auto& d = directions;
  std::array<double, 3> normal = {d[1] * d[5] - d[2] * d[4], d[2] * d[3] - d[0] * d[5],
                                  d[0] * d[4] - d[1] * d[3]};
  const double length = std::sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
  for (std::size_t row = 0; row < 3; ++row) {
    const double sign = row < 2 ? -1 : 1;
    affine[4 * row] = sign * d[row] * spacing[1];
    affine[4 * row + 1] = sign * d[3 + row] * spacing[0];
    affine[4 * row + 2] = sign * normal[row] / length * step;
    affine[4 * row + 3] = sign * position[row];
  }
}

/// A radiograph as it is shown: through the first window, dark and bright exchanged where low means white.
void develop(const DataSet& data, SecondOpinion& opinion, double low, double high) {
  const bool is_shown = is_radiograph(data.word(0x00080060));
  const bool is_turned = data.word(0x00280004) == "MONOCHROME1";
  const auto centres = is_shown ? data.numbers(0x00281050) : std::vector<double>();
  const auto widths = is_shown ? data.numbers(0x00281051) : std::vector<double>();
  demand(centres.size() == widths.size());
  const std::string function = data.word(0x00281056);
  demand(!is_shown || function.empty() || function == "LINEAR" || function == "LINEAR_EXACT");
  for (double& value : opinion.voxels) {
    if (!widths.empty() && widths[0] >= 1) {
      const double less = function == "LINEAR_EXACT" ? 0 : 1;
      const double centre = centres[0] - less / 2, width = widths[0] - less;
      const double share = (value - centre) / width + 0.5;
      value = value <= centre - width / 2  ? low
              : value > centre + width / 2 ? high
                                           : share * (high - low) + low;
    }
    if (is_turned) value = low + high - value;
  }
}

void read_voxels(const DataSet& data, SecondOpinion& opinion) {
  const uint32_t allocated = data.count(0x00280100), stored = data.count(0x00280101),
                 top = data.count(0x00280102);
  const uint32_t sign = data.count(0x00280103), samples = data.count(0x00280002);
  const std::string colours = data.word(0x00280004);
  demand(sign <= 1 && (allocated == 8 || allocated == 16) && stored >= 1 && stored <= allocated);
  demand(top < allocated && top + 1 >= stored);
  demand(samples == 1 ? colours == "MONOCHROME1" || colours == "MONOCHROME2"
                      : samples == 3 && colours == "RGB");
  const bool by_plane = samples == 3 && data.count(0x00280006) == 1;
  demand(samples == 1 || data.count(0x00280006) <= 1);
  demand(data.number(0x00280008, 1) == 1);
  const std::size_t pixels = static_cast<std::size_t>(opinion.size[0] * opinion.size[1]);
  const std::size_t width = allocated / 8;
  demand(pixels > 0 && (data.pixels().size() + 1) / 2 * 2 == (pixels * samples * width + 1) / 2 * 2);
  const double slope = data.number(0x00281053, 1), intercept = data.number(0x00281052, 0);
  const uint32_t shift = top + 1 - stored;
  for (std::size_t i = 0; i < pixels * samples; ++i) {
    const std::size_t place = by_plane ? i : i % pixels * samples + i / pixels;
    const uint32_t word = little(data.pixels(), place * width, width);
    demand((word & ((1U << shift) - 1)) == 0);
    auto value = static_cast<int64_t>(word >> shift) & ((int64_t{1} << stored) - 1);
    if (sign == 1 && value >= int64_t{1} << (stored - 1)) value -= int64_t{1} << stored;
    opinion.voxels.push_back(static_cast<double>(value) * slope + intercept);
  }
  opinion.channels = samples;
  const double span = std::ldexp(1, static_cast<int>(stored)), lowest = sign == 1 ? -span / 2 : 0;
  develop(data, opinion, lowest * slope + intercept, (lowest + span - 1) * slope + intercept);
}

}  // namespace

std::optional<SecondOpinion> second_dicom(const std::string& file) {
  try {
    demand(file.size() > 132 && file.substr(128, 4) == "DICM");
    Elements meta, elements;
    const std::size_t begin = take_elements(file, 132, true, true, meta);
    const std::string syntax = DataSet(std::move(meta)).word(0x00020010);
    demand(syntax == "1.2.840.10008.1.2" || syntax == "1.2.840.10008.1.2.1");
    take_elements(file, begin, syntax.ends_with(".1"), false, elements);
    const DataSet data(std::move(elements));
    SecondOpinion opinion;
    opinion.size = {data.count(0x00280011), data.count(0x00280010), 1};
    read_place(data, opinion);
    read_voxels(data, opinion);
    return opinion;
  } catch (const NoFile&) {
    return std::nullopt;
  }
}

}  // namespace larmor::testing
