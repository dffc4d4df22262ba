#include <algorithm>
#include <array>
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

/// MetaIO's world is LPS.
constexpr std::array<double, 3> of_metaimage = {-1, -1, 1};

/// Keys under their first spelling; all others are of those who wrote the file, and say nothing of its
/// voxels.
std::string first_spelling(std::string_view written) {
  static const std::map<std::string, std::string, std::less<>> others = {
      {"Position", "Offset"},
      {"Origin", "Offset"},
      {"Rotation", "TransformMatrix"},
      {"Orientation", "TransformMatrix"},
      {"ElementByteOrderMSB", "BinaryDataByteOrderMSB"}};
  const auto other = others.find(written);
  return other == others.end() ? std::string(written) : other->second;
}

/// "key = value", with or without blanks around the sign; MetaIO takes a colon as well. Nothing of other
/// lines.
std::optional<HeaderValue> key_line(std::string_view line) {
  const std::size_t sign = line.find_first_of("=:");
  if (sign == std::string_view::npos) return std::nullopt;
  const std::string_view key = trim(line.substr(0, sign));
  return key.empty() ? std::nullopt : std::optional(HeaderValue{key, trim(line.substr(sign + 1))});
}

VoxelType element_type(const HeaderValue& value) {
  const std::pair<const char*, VoxelType> types[] = {
      {"MET_CHAR", VoxelType::int8},       {"MET_UCHAR", VoxelType::uint8},
      {"MET_SHORT", VoxelType::int16},     {"MET_USHORT", VoxelType::uint16},
      {"MET_INT", VoxelType::int32},       {"MET_UINT", VoxelType::uint32},
      {"MET_LONG", VoxelType::int32},      {"MET_ULONG", VoxelType::uint32},
      {"MET_FLOAT", VoxelType::float32},   {"MET_DOUBLE", VoxelType::float64},
      {"MET_LONG_LONG", VoxelType::int64}, {"MET_ULONG_LONG", VoxelType::uint64}};
  for (const auto& [name, type] : types)
    if (value.value == name) return type;
  value.fault("names no type of numbers that is read");
}

class MetaImageScan {
 public:
  explicit MetaImageScan(std::string_view file) : file_(file) {}

  TextHeader run() {
    read_keys();
    refuse_what_is_not_read();
    header_.format.type = element_type(need("ElementType"));
    if (bytes_of(header_.format.type) > 1) need("BinaryDataByteOrderMSB");
    header_.format.big_endian = truth_of("BinaryDataByteOrderMSB");
    read_voxel_place();
    read_sizes();
    read_place();
    return std::move(header_);
  }

 private:
  const HeaderValue* find(std::string_view key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() ? nullptr : &found->second;
  }
  const HeaderValue& need(std::string_view key) const {
    const HeaderValue* const value = find(key);
    if (value == nullptr) fail(Exit::data, text("cannot be read: its header does not say ", key));
    return *value;
  }
  /// False where the key is absent.
  bool truth_of(std::string_view key) const {
    const HeaderValue* const value = find(key);
    if (value == nullptr) return false;
    const std::string word = lower(value->value);
    if (word == "true" || word == "t" || word == "1") return true;
    if (word != "false" && word != "f" && word != "0") value->fault("is neither True nor False");
    return false;
  }

  void read_keys() {
    std::string_view rest = file_.substr(0, longest_text_header);
    while (find("ElementDataFile") == nullptr) {
      auto line = next_line(rest);
      if (!line && file_.size() < longest_text_header && !rest.empty()) line = std::exchange(rest, {});
      if (!line) fail(Exit::data, "has a header that does not end: it does not say ElementDataFile");
      if (!trim(*line).empty()) read_key(*line);
    }
    refuse_misspelt_keys();
    header_.header_bytes =
        static_cast<std::size_t>(rest.data() == nullptr ? file_.size() : rest.data() - file_.data());
  }

  void read_key(std::string_view line) {
    const auto read = key_line(line);
    if (!read) fail(Exit::data, "has a line in its header that is no key with a value");
    const std::string key = first_spelling(read->field);
    const bool counts = is_of_voxels(key);
    HeaderValue{read->field, counts ? read->value : ""}.checked();
    const bool is_new = keys_.emplace(key, *read).second;
    if (!is_new && counts) fail(Exit::data, text("contradicts itself: its header says ", key, " twice"));
  }

  /// A key without which something else would be taken for granted.
  void refuse_misspelt_keys() const {
    std::vector<std::string> others;
    for (const auto& [key, value] : keys_)
      if (!is_of_voxels(key) && key != "CompressedDataSize") others.push_back(key);
    for (const char* key : {"BinaryData", "CompressedData", "HeaderSize", "TransformMatrix", "Offset",
                            "ElementSpacing", "ElementNumberOfChannels", "ElementToIntensityFunctionSlope",
                            "ElementToIntensityFunctionOffset", "DistanceUnits"})
      if (find(key) == nullptr && !nearest(key, others).empty())
        fail(Exit::data, text("has a key in its header that is nearly ", key, ", and no ", key));
  }

  static bool is_of_voxels(std::string_view key) {
    constexpr std::array<std::string_view, 20> all = {"NDims",
                                                      "DimSize",
                                                      "ElementType",
                                                      "BinaryData",
                                                      "BinaryDataByteOrderMSB",
                                                      "CompressedData",
                                                      "HeaderSize",
                                                      "CompressedDataSize",
                                                      "TransformMatrix",
                                                      "Offset",
                                                      "ElementSpacing",
                                                      "ElementSize",
                                                      "ObjectType",
                                                      "ElementNumberOfChannels",
                                                      "ElementDataFile",
                                                      "CenterOfRotation",
                                                      "DistanceUnits",
                                                      "ElementToIntensityFunctionSlope",
                                                      "ElementToIntensityFunctionOffset",
                                                      "AnatomicalOrientation"};
    return std::ranges::find(all, key) != all.end();
  }

  void refuse_what_is_not_read() const {
    if (const auto* type = find("ObjectType"); type != nullptr && type->value != "Image")
      fail(Exit::data, "is a MetaIO object, but no image", "name the image that it belongs to");
    if (find("BinaryData") != nullptr && !truth_of("BinaryData"))
      fail(Exit::data, "has its voxels as text (BinaryData), which is not read",
           "SimpleITK writes it anew: WriteImage(ReadImage(IN), \"OUT.mha\")");
    const std::pair<const char*, double> scales[] = {{"ElementToIntensityFunctionSlope", 1},
                                                     {"ElementToIntensityFunctionOffset", 0}};
    for (const auto& [key, neutral] : scales)
      if (const auto* value = find(key); value != nullptr && value->numbers(1).front() != neutral)
        fail(Exit::data,
             text("says that its voxels are to be scaled (", key, "), which ITK's readers do not do"),
             "take the line out of the header where the values are meant as they are stored");
    if (const auto* units = find("DistanceUnits");
        units != nullptr && units->value != "mm" && units->value != "?" && !units->value.empty())
      units->fault("is not mm, in which places are read");
  }

  void read_voxel_place() {
    const HeaderValue& place = need("ElementDataFile");
    const bool is_behind = place.value == "LOCAL" || place.value == "Local" || place.value == "local";
    if (!is_behind) header_.data_file = name_beside(place);
    if (const auto* size = find("HeaderSize")) header_.bytes_before = size->whole_number();
    if (header_.bytes_before < -1) need("HeaderSize").fault("is below -1");
    if (header_.bytes_before > 0 && header_.data_file.empty())
      need("HeaderSize").fault("counts bytes of a file of its own, and the voxels lie behind the header");
    if (!truth_of("CompressedData")) return;
    header_.packing = VoxelPacking::zlib;
    if (header_.bytes_before < 0) need("HeaderSize").fault("cannot be -1 for packed voxels");
    if (const auto* size = find("CompressedDataSize")) {
      const int64_t bytes = size->whole_number();
      if (bytes < 1) size->fault("is below 1");
      header_.packed_bytes = static_cast<uint64_t>(bytes);
    }
  }

  void read_sizes() {
    const int64_t axes = need("NDims").whole_number();
    if (axes < 2 || axes > 4) need("NDims").fault("is neither 2, 3 nor 4");
    axes_ = static_cast<std::size_t>(axes);
    auto sizes = need("DimSize").whole_numbers(axes_);
    int64_t channels = 1;
    if (const auto* count = find("ElementNumberOfChannels")) channels = count->whole_number();
    if (channels < 1) need("ElementNumberOfChannels").fault("is below 1");
    header_.channel_is_first = channels > 1;
    if (axes_ == 4) {
      if (channels > 1 && sizes.back() > 1)
        fail(Exit::data, "has a fourth axis and several channels; one of the two is read");
      if (channels == 1) channels = sizes.back();
      sizes.pop_back();
    }
    set_shape(header_, std::move(sizes), channels);
  }

  /// `what` a file without the key has.
  std::vector<double> place_of(const char* key, std::size_t count, const char* what) {
    if (const auto* value = find(key)) return value->numbers(count);
    header_.problems.push_back(text("its header says no ", key, "; ", what, " is taken"));
    return {};
  }

  void read_place() {
    if (find("ElementSpacing") == nullptr && find("ElementSize") != nullptr)
      keys_.emplace("ElementSpacing", need("ElementSize"));
    auto spacing = place_of("ElementSpacing", axes_, "1 mm");
    auto offset = place_of("Offset", axes_, "0");
    auto matrix = place_of("TransformMatrix", axes_ * axes_, "the identity");
    spacing.resize(std::max(axes_, spacing.size()), 1);
    offset.resize(std::max(axes_, offset.size()), 0);
    if (matrix.empty()) {
      matrix.resize(axes_ * axes_, 0);
      for (std::size_t axis = 0; axis < axes_; ++axis) matrix[axis * (axes_ + 1)] = 1;
    }
    if (const auto* centre = find("CenterOfRotation")) {
      const auto numbers = centre->numbers(axes_);
      if (std::ranges::any_of(numbers, [](double number) { return number != 0; }))
        header_.problems.emplace_back("its CenterOfRotation is not used, as ITK does not use it");
    }
    const std::size_t in_space = std::min<std::size_t>(axes_, 3);
    std::vector<std::array<double, 3>> steps(in_space);
    std::array<double, 3> first{};
    for (std::size_t axis = 0; axis < in_space; ++axis) {
      for (std::size_t world = 0; world < in_space; ++world)
        steps[axis][world] = spacing[axis] * matrix[axis * axes_ + world];
      first[axis] = offset[axis];
      if (axes_ == 4 && (matrix[axis * 4 + 3] != 0 || matrix[12 + axis] != 0))
        need("TransformMatrix").fault("turns its fourth axis into space");
    }
    set_place(header_, steps, first, of_metaimage);
  }

  std::string_view file_;
  std::map<std::string, HeaderValue, std::less<>> keys_;
  TextHeader header_;
  std::size_t axes_ = 0;
};

}  // namespace

bool looks_like_metaimage(std::span<const std::byte> beginning) {
  std::string_view rest(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  // The lines before the first of an image's own are few: comments, names, numbers.
  for (int lines = 0; lines < 16; ++lines) {
    const auto line = next_line(rest);
    const auto read = line ? key_line(*line) : std::nullopt;
    if (!read) return false;
    if (read->field == "ObjectType" || read->field == "NDims") return true;
    if (read->field != "Comment" && read->field != "Name" && read->field != "ID" && read->field != "ParentID")
      return false;
  }
  return false;
}

TextHeader scan_metaimage_header(std::string_view file) { return MetaImageScan(file).run(); }

}  // namespace larmor
