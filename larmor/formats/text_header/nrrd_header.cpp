#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/text_header/header_value.h"
#include "larmor/formats/text_header/text_header.h"

namespace larmor {

namespace {

constexpr std::string_view nrrd_magic = "NRRD000";
/// As ITK's reader has it: words that say nothing of the body stand for LPS.
constexpr std::array<double, 3> of_ras = {1, 1, 1}, of_las = {-1, 1, 1}, of_lps = {-1, -1, 1};

using Fields = std::map<std::string, HeaderValue, std::less<>>;

/// Fields under their first spelling. Another word is no field: a letter of one may have changed.
std::string known_field(std::string_view written) {
  static const std::map<std::string, std::string, std::less<>> others = {
      {"centerings", "centers"},      {"axismins", "axis mins"}, {"axismaxs", "axis maxs"},
      {"datafile", "data file"},      {"lineskip", "line skip"}, {"byteskip", "byte skip"},
      {"blocksize", "block size"},    {"oldmin", "old min"},     {"oldmax", "old max"},
      {"sampleunits", "sample units"}};
  static const std::vector<std::string> known = {"dimension",
                                                 "type",
                                                 "sizes",
                                                 "endian",
                                                 "encoding",
                                                 "space",
                                                 "space dimension",
                                                 "space origin",
                                                 "spacings",
                                                 "axis mins",
                                                 "axis maxs",
                                                 "centers",
                                                 "kinds",
                                                 "labels",
                                                 "units",
                                                 "min",
                                                 "max",
                                                 "old min",
                                                 "old max",
                                                 "block size",
                                                 "content",
                                                 "number",
                                                 "data file",
                                                 "line skip",
                                                 "byte skip",
                                                 "space units",
                                                 "sample units",
                                                 "space directions",
                                                 "thicknesses",
                                                 "measurement frame"};
  const std::string word = lower(written);
  const auto other = others.find(word);
  if (other != others.end()) return other->second;
  return std::ranges::find(known, word) == known.end() ? "" : word;
}

VoxelType type_of(const HeaderValue& value) {
  static const std::map<std::string, VoxelType, std::less<>> types = [] {
    const std::pair<VoxelType, const char*> rows[] = {
        {VoxelType::int8, "signed char,int8,int8_t"},
        {VoxelType::uint8, "uchar,unsigned char,uint8,uint8_t"},
        {VoxelType::int16, "short,short int,signed short,signed short int,int16,int16_t"},
        {VoxelType::uint16, "ushort,unsigned short,unsigned short int,uint16,uint16_t"},
        {VoxelType::int32, "int,signed int,int32,int32_t"},
        {VoxelType::uint32, "uint,unsigned int,uint32,uint32_t"},
        {VoxelType::int64,
         "longlong,long long,long long int,signed long long,signed long long int,int64,int64_t"},
        {VoxelType::uint64, "ulonglong,unsigned long long,unsigned long long int,uint64,uint64_t"},
        {VoxelType::float32, "float"},
        {VoxelType::float64, "double"}};
    std::map<std::string, VoxelType, std::less<>> all;
    for (const auto& [type, names] : rows)
      for (const auto& name : split(names, ',')) all.emplace(name, type);
    return all;
  }();
  const auto found = types.find(lower(trim(value.value)));
  if (found == types.end()) value.fault("names no type of numbers that is read");
  return found->second;
}

VoxelPacking packing_of(const HeaderValue& value) {
  const std::string word = lower(trim(value.value));
  if (word == "raw") return VoxelPacking::none;
  if (word == "gzip" || word == "gz") return VoxelPacking::gzip;
  for (const char* other : {"txt", "text", "ascii", "hex", "bz2", "bzip2"})
    if (word == other)
      fail(Exit::data, text("is encoded as ", other, "; raw and gzip are read"),
           "unu save -f nrrd -e gzip -i IN -o OUT, or SimpleITK, writes it as gzip");
  value.fault("names no encoding");
}

enum class AxisKind { unknown, space, channels };

AxisKind axis_kind_of(const HeaderValue& kinds, std::string_view written) {
  const std::string word = lower(written);
  if (word == "domain" || word == "space") return AxisKind::space;
  if (word == "???" || word == "none") return AxisKind::unknown;
  for (const char* one : {"time", "list", "point", "vector", "covariant-vector", "normal", "stub", "scalar",
                          "2-vector", "3-vector", "4-vector", "3-color", "4-color", "rgb-color", "hsv-color",
                          "xyz-color", "rgba-color", "3-gradient", "3-normal"})
    if (word == one) return AxisKind::channels;
  kinds.fault("has a kind of axis that is no channel and none of space (complex numbers, matrices)");
}

/// One vector for each axis; empty for one that is not of space.
std::vector<std::vector<double>> vectors_of(const HeaderValue& value) {
  std::vector<std::vector<double>> all;
  std::string_view rest = trim(value.value);
  while (!rest.empty()) {
    if (lower(rest.substr(0, 4)) == "none") {
      all.emplace_back();
      rest = trim(rest.substr(4));
      continue;
    }
    const std::size_t end = rest.find(')');
    if (!rest.starts_with('(') || end == std::string_view::npos) value.fault("has a word that is no vector");
    std::vector<double> numbers;
    for (const auto& word : split(rest.substr(1, end - 1), ',')) {
      if (!read_number(trim(word), numbers.emplace_back())) value.fault("has a word that is no number");
    }
    all.push_back(std::move(numbers));
    rest = trim(rest.substr(end + 1));
  }
  return all;
}

bool has_number(const HeaderValue& value) {
  return std::ranges::any_of(value.numbers(0), [](double number) { return !std::isnan(number); });
}

class NrrdScan {
 public:
  explicit NrrdScan(std::string_view file) : file_(file) {}

  TextHeader run() {
    read_fields();
    header_.format.type = type_of(need("type"));
    header_.packing = packing_of(need("encoding"));
    read_byte_order();
    read_voxel_place();
    const int64_t axes = need("dimension").whole_number();
    if (axes < 2 || axes > 16) need("dimension").fault("is no number of axes from 2 to 16");
    axes_ = static_cast<std::size_t>(axes);
    read_axes();
    read_place();
    refuse_units();
    if (has("old min") && has("old max") && has_number(need("old min")) && has_number(need("old max")))
      header_.problems.emplace_back(
          "its voxels were quantised (old min, old max): they are read as they are stored");
    if (has("measurement frame"))
      header_.problems.emplace_back(
          "its measurement frame turns the vectors of diffusion, not voxels: it is not used");
    return std::move(header_);
  }

 private:
  bool has(std::string_view field) const { return fields_.find(field) != fields_.end(); }
  const HeaderValue& need(std::string_view field) const {
    const auto found = fields_.find(field);
    if (found == fields_.end()) fail(Exit::data, text("cannot be read: its header does not say its ", field));
    return found->second;
  }

  void read_fields() {
    std::string_view rest = file_.substr(0, longest_text_header);
    const auto magic = next_line(rest);
    if (!magic || !magic->starts_with(nrrd_magic) || magic->size() != nrrd_magic.size() + 1 ||
        magic->back() < '1' || magic->back() > '5')
      fail(Exit::data, "is of no version of NRRD that is read: NRRD0001 to NRRD0005 are");
    bool is_whole = false;
    while (!is_whole) {
      auto line = next_line(rest);
      // The header of voxels that lie apart may end with its file.
      if (!line && file_.size() < longest_text_header) line = std::exchange(rest, {});
      if (!line) fail(Exit::data, text("has a header without an end within ", longest_text_header, " bytes"));
      is_whole = line->empty();
      if (!is_whole && !line->starts_with('#')) read_field(*line);
    }
    header_.header_bytes =
        static_cast<std::size_t>(rest.data() == nullptr ? file_.size() : rest.data() - file_.data());
  }

  void read_field(std::string_view line) {
    const std::size_t colon = line.find(": "), key = line.find(":=");
    if (key < colon) return;  // a person's own key
    const std::string field = known_field(line.substr(0, colon == std::string_view::npos ? 0 : colon));
    if (field.empty()) fail(Exit::data, "has a line in its header that is no field of NRRD");
    if (!fields_.emplace(field, HeaderValue{line.substr(0, colon), line.substr(colon + 2)}.checked()).second)
      fail(Exit::data, text("contradicts itself: its header says ", field, " twice"));
  }

  void read_byte_order() {
    if (!has("endian")) {
      if (bytes_of(header_.format.type) > 1) need("endian");
      return;
    }
    const std::string word = lower(trim(need("endian").value));
    if (word != "little" && word != "big") need("endian").fault("is neither little nor big");
    header_.format.big_endian = word == "big";
  }

  void read_voxel_place() {
    if (has("data file")) header_.data_file = name_beside(need("data file"));
    if (has("line skip")) header_.lines_before = need("line skip").whole_number();
    if (header_.lines_before < 0) need("line skip").fault("is below 0");
    if (has("byte skip")) header_.bytes_before = need("byte skip").whole_number();
    const int64_t least = header_.packing == VoxelPacking::none ? -1 : 0;
    if (header_.bytes_before < least) need("byte skip").fault(text("is below ", least));
  }

  std::vector<AxisKind> axis_kinds() const {
    std::vector<AxisKind> kinds(axes_, AxisKind::unknown);
    if (has("kinds")) {
      const auto words = need("kinds").words();
      if (words.size() != axes_) need("kinds").fault(text("has to be ", axes_, " words"));
      for (std::size_t axis = 0; axis < axes_; ++axis) kinds[axis] = axis_kind_of(need("kinds"), words[axis]);
    }
    if (has("space directions")) {
      const auto& directions = need("space directions");
      const auto vectors = vectors_of(directions);
      if (vectors.size() != axes_) directions.fault(text("has to be ", axes_, " vectors"));
      for (std::size_t axis = 0; axis < axes_; ++axis) {
        const AxisKind kind = vectors[axis].empty() ? AxisKind::channels : AxisKind::space;
        if (kinds[axis] != AxisKind::unknown && kinds[axis] != kind)
          directions.fault("contradicts its kinds");
        kinds[axis] = kind;
      }
    }
    // As in NIfTI: axes are those of space, and one behind the third is the channel.
    for (std::size_t axis = 0, in_space = 0; axis < axes_; ++axis) {
      if (kinds[axis] == AxisKind::unknown) kinds[axis] = in_space < 3 ? AxisKind::space : AxisKind::channels;
      in_space += kinds[axis] == AxisKind::space ? 1 : 0;
    }
    return kinds;
  }

  void read_axes() {
    const auto sizes = need("sizes").whole_numbers(axes_);
    const auto kinds = axis_kinds();
    std::vector<int64_t> space;
    std::optional<std::size_t> channel_axis;
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      if (kinds[axis] == AxisKind::space) {
        space.push_back(sizes[axis]);
        in_space_.push_back(axis);
      } else if (sizes[axis] != 1) {
        if (channel_axis) fail(Exit::data, "has more than one axis that is not of space");
        channel_axis = axis;
      }
    }
    if (space.size() < 2 || space.size() > 3)
      fail(Exit::data,
           text("has ", space.size(), space.size() == 1 ? " axis" : " axes", " of space; 2 and 3 are read"));
    if (channel_axis && *channel_axis > in_space_.front() && *channel_axis < in_space_.back())
      fail(Exit::data, "has channels between its axes of space, which is not read",
           "unu axsplice and unu permute, or SimpleITK, put them first or last");
    header_.channel_is_first = channel_axis && *channel_axis < in_space_.front();
    set_shape(header_, std::move(space), channel_axis ? sizes[*channel_axis] : 1);
  }

  void read_place() {
    for (const char* field : {"axis mins", "axis maxs"})
      if (has(field) && has_number(need(field)))
        fail(Exit::data, text("has its place in ", field, ", which is not read"),
             "write it with space directions and space origin, as SimpleITK does");
    if (has("space directions")) return read_directions();
    if (has("space") || has("space dimension"))
      fail(Exit::data, "has no place: its header names a space, and no space directions");
    std::vector<double> spacings(axes_, std::nan(""));
    if (has("spacings")) spacings = need("spacings").numbers(axes_);
    std::vector<std::array<double, 3>> steps;
    for (const std::size_t axis : in_space_) {
      double spacing = spacings[axis];
      if (std::isnan(spacing)) {
        header_.problems.push_back(
            text("its header says no spacing along axis ", axis + 1, "; 1 mm is taken"));
        spacing = 1;
      }
      std::array<double, 3> step{};
      step[steps.size()] = spacing;
      steps.push_back(step);
    }
    header_.problems.emplace_back(
        "its header says no space: the axes are taken to run to the Left, Posterior and Superior, as ITK "
        "takes them");
    set_place(header_, steps, {}, of_lps);
  }

  std::array<double, 3> signs() {
    if (!has("space")) return of_lps;
    const std::string word = lower(trim(need("space").value));
    if (word == "right-anterior-superior" || word == "ras") return of_ras;
    if (word == "left-anterior-superior" || word == "las") return of_las;
    if (word == "left-posterior-superior" || word == "lps") return of_lps;
    if (word != "scanner-xyz" && word != "3d-right-handed" && word != "3d-left-handed")
      need("space").fault("names no space of three axes");
    header_.problems.push_back(
        text("its space is ", word, ", which says nothing of the body: LPS is taken, as ITK takes it"));
    return of_lps;
  }

  void read_directions() {
    if (has("spacings") && has_number(need("spacings")))
      fail(Exit::data, "contradicts itself: its header has spacings and space directions");
    std::size_t dimension = 3;
    if (has("space dimension")) {
      if (has("space")) fail(Exit::data, "contradicts itself: its header has space and space dimension");
      const int64_t said = need("space dimension").whole_number();
      if (said < 2 || said > 3) need("space dimension").fault("is neither 2 nor 3");
      dimension = static_cast<std::size_t>(said);
    } else if (!has("space")) {
      fail(Exit::data, "has space directions in its header, and no space");
    }
    const auto world = signs();
    if (in_space_.size() != dimension)
      fail(Exit::data,
           text("has ", in_space_.size(), " axes in a space of ", dimension, ", which is not read"));
    const auto vectors = vectors_of(need("space directions"));
    std::vector<std::array<double, 3>> steps;
    for (const std::size_t axis : in_space_)
      steps.push_back(in_space(need("space directions"), vectors[axis], dimension));
    std::array<double, 3> first{};
    if (has("space origin")) {
      const auto origin = vectors_of(need("space origin"));
      if (origin.size() != 1) need("space origin").fault("has to be a vector");
      first = in_space(need("space origin"), origin.front(), dimension);
    } else {
      header_.problems.emplace_back("its header says no space origin; (0,0,0) is taken");
    }
    set_place(header_, steps, first, world);
  }

  static std::array<double, 3> in_space(const HeaderValue& field, const std::vector<double>& vector,
                                        std::size_t dimension) {
    if (vector.size() != dimension) field.fault(text("has to have vectors of ", dimension, " numbers"));
    std::array<double, 3> result{};
    std::ranges::copy(vector, result.begin());
    return result;
  }

  /// A place in other units than millimetres would be another place.
  void refuse_units() const {
    if (!has("space units")) return;
    for (const std::string_view word : need("space units").words())
      if (word != "\"mm\"" && word != "\"\"" && word != "\"???\"")
        need("space units").fault("is not \"mm\", in which places are read");
  }

  std::string_view file_;
  Fields fields_;
  TextHeader header_;
  std::size_t axes_ = 0;
  std::vector<std::size_t> in_space_;
};

}  // namespace

bool looks_like_nrrd(std::span<const std::byte> beginning) {
  return beginning.size() > nrrd_magic.size() &&
         std::memcmp(beginning.data(), nrrd_magic.data(), nrrd_magic.size()) == 0;
}

TextHeader scan_nrrd_header(std::string_view file) { return NrrdScan(file).run(); }

}  // namespace larmor
