#include "larmor/formats/dicom/dicom_header_reader.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom_codec.h"

namespace larmor {

namespace {

constexpr DicomTag shared_groups = 0x52009229, frame_groups = 0x52009230;
constexpr DicomTag window_tables = 0x00283010, value_tables = 0x00283000;
constexpr DicomTag table_form = 0x00283002, table_entries = 0x00283006;
constexpr DicomTag slope_tag = 0x00281053, intercept_tag = 0x00281052, dose_unit_tag = 0x3004000e;
constexpr DicomTag offsets_tag = 0x3004000c, spacing_tag = 0x00280030, detector_tag = 0x00181164;
constexpr DicomTag instance_tag = 0x00080018, description_tag = 0x0008103e, echo_tag = 0x00180086,
                   series_number_tag = 0x00200011;
constexpr DicomTag centre_tag = 0x00281050, width_tag = 0x00281051, function_tag = 0x00281056;

struct Wanted {
  DicomTag tag;
  const char* name;
};

constexpr std::array wanted{Wanted{0x00080008, "ImageType"},
                            Wanted{0x00080016, "SOPClassUID"},
                            Wanted{instance_tag, "SOPInstanceUID"},
                            Wanted{0x00080060, "Modality"},
                            Wanted{0x00180050, "SliceThickness"},
                            Wanted{echo_tag, "EchoNumbers"},
                            Wanted{0x00180088, "SpacingBetweenSlices"},
                            Wanted{detector_tag, "ImagerPixelSpacing"},
                            Wanted{0x0020000e, "SeriesInstanceUID"},
                            Wanted{series_number_tag, "SeriesNumber"},
                            Wanted{0x00200032, "ImagePositionPatient"},
                            Wanted{0x00200037, "ImageOrientationPatient"},
                            Wanted{0x00280002, "SamplesPerPixel"},
                            Wanted{0x00280004, "PhotometricInterpretation"},
                            Wanted{0x00280006, "PlanarConfiguration"},
                            Wanted{0x00280008, "NumberOfFrames"},
                            Wanted{0x00280010, "Rows"},
                            Wanted{0x00280011, "Columns"},
                            Wanted{spacing_tag, "PixelSpacing"},
                            Wanted{0x00280100, "BitsAllocated"},
                            Wanted{0x00280101, "BitsStored"},
                            Wanted{0x00280102, "HighBit"},
                            Wanted{0x00280103, "PixelRepresentation"},
                            Wanted{centre_tag, "WindowCenter"},
                            Wanted{width_tag, "WindowWidth"},
                            Wanted{intercept_tag, "RescaleIntercept"},
                            Wanted{slope_tag, "RescaleSlope"},
                            Wanted{function_tag, "VOILUTFunction"},
                            Wanted{table_form, "LUTDescriptor"},
                            Wanted{table_entries, "LUTData"},
                            Wanted{offsets_tag, "GridFrameOffsetVector"},
                            Wanted{dose_unit_tag, "DoseGridScaling"}};

const char* name_of(DicomTag tag) {
  if (tag == value_tables) return "ModalityLUTSequence";
  if (tag == window_tables) return "VOILUTSequence";
  if (tag == frame_groups) return "PerFrameFunctionalGroupsSequence";
  const auto found = std::ranges::find(wanted, tag, &Wanted::tag);
  return found == wanted.end() ? "element" : found->name;
}

bool wants(DicomTag tag) { return std::ranges::find(wanted, tag, &Wanted::tag) != wanted.end(); }

/// Plane position, plane orientation, pixel measures, pixel value transformation.
bool is_group(DicomTag tag) {
  return tag == 0x00209113 || tag == 0x00209116 || tag == 0x00289110 || tag == 0x00289145;
}

bool is_list(DicomTag tag) { return tag == centre_tag || tag == width_tag || tag == offsets_tag; }

/// Texts are looked at whole, and one of a few kilobytes cannot be an honest one. Windows and planes may be
/// listed by frame.
void check_length(DicomTag tag, std::size_t bytes) {
  constexpr std::size_t most = 1024, most_of_list = 65536;
  if (bytes <= (is_list(tag) ? most_of_list : most) || (tag == table_entries && bytes <= 2 * most_of_list))
    return;
  fail(Exit::data,
       text("the DICOM data is damaged: the element ", to_text_of_tag(tag), " is ", bytes,
            " bytes long, where not more than ", is_list(tag) ? most_of_list : most, " are read"),
       "fetch the file again, or write it anew with the program that made it");
}

std::array<double, 3> normal_of(const std::array<double, 6>& o) {
  return {o[1] * o[5] - o[2] * o[4], o[2] * o[3] - o[0] * o[5], o[0] * o[4] - o[1] * o[3]};
}

}  // namespace

DicomVisitor DicomHeaderReader::visitor() {
  return {[this](DicomTag tag) {
            return wants(tag) || (tag == description_tag && texts_ == DicomText::description);
          },
          [](DicomTag tag) {
            return tag == shared_groups || tag == frame_groups || tag == window_tables ||
                   tag == value_tables || is_group(tag);
          },
          [this](const DicomPath& path, DicomTag tag, std::span<const std::byte> value) {
            take_element(path, tag, value);
          }};
}

void DicomHeaderReader::take_element(const DicomPath& path, DicomTag tag, std::span<const std::byte> value) {
  if (path.size() == 1 && path[0].item == 0 && path[0].sequence == window_tables)
    return take_table(window_table_, tag, value);
  if (path.size() == 1 && path[0].item == 0 && path[0].sequence == value_tables)
    return take_table(value_table_, tag, value);
  // Vendors repeat such elements in sequences of their own, with other values.
  if (!path.empty() && (path.size() != 2 || !is_group(path.back().sequence))) return;
  check_length(tag, value.size());
  if (path.empty()) {
    if (!seen_.insert(tag).second) note(tag, "stands there twice");
    take_identity(tag, value);
    take_class(tag, value);
    take_plane(header_.plane, tag, value);
  } else if (path.front().sequence == shared_groups) {
    take_plane(header_.plane, tag, value);
  } else if (path.front().sequence == frame_groups) {
    frames_told_ = std::max(frames_told_, path.front().item + 1);
    take_plane(plane_of_item(path.front().item), tag, value);
  }
}

void DicomHeaderReader::finish() {
  finish_window();
  if (value_table_.is_there) header_.value_table = finish_table(value_table_, value_tables);
  finish_frames();
  finish_dose();
  const bool has_spacing = header_.plane.spacing && !faults_.contains(spacing_tag);
  if (has_spacing && seen_.contains(spacing_tag)) faults_.erase(detector_tag);
  if (header_.pixels.tag != 0) require_what_decides();
  if (faults_.empty()) return;
  const auto& [tag, fault] = *faults_.begin();
  header_.misread = text("cannot be understood: its ", name_of(tag), " ", to_text_of_tag(tag), " ", fault);
}

/// What is said of all frames holds for each until it says otherwise. Frames beyond the last that is
/// claimed are nobody's.
DicomPlane& DicomHeaderReader::plane_of_item(std::size_t item) {
  if (static_cast<int64_t>(item) >= header_.frames || header_.frames > most_frames) return nobody_;
  header_.frame_planes.reserve(static_cast<std::size_t>(header_.frames));
  if (header_.frame_planes.size() <= item) header_.frame_planes.resize(item + 1, header_.plane);
  return header_.frame_planes[item];
}

std::string DicomHeaderReader::code_word(DicomTag tag, std::span<const std::byte> value,
                                         std::string_view also) {
  return understood(tag, code_word_of(value, also)).value_or("");
}

std::optional<double> DicomHeaderReader::number(DicomTag tag, std::span<const std::byte> value) {
  const auto numbers = understood(tag, decimals_of(value));
  if (!numbers) return std::nullopt;
  if (numbers->size() == 1) return numbers->front();
  note(tag, text("holds ", numbers->size(), " numbers, not 1"));
  return std::nullopt;
}

template <std::size_t count>
void DicomHeaderReader::set(std::optional<std::array<double, count>>& field, DicomTag tag,
                            std::span<const std::byte> value) {
  const auto numbers = understood(tag, decimals_of(value));
  if (!numbers) return;
  if (numbers->size() != count) return note(tag, text("holds ", numbers->size(), " numbers, not ", count));
  field.emplace();
  std::copy(numbers->begin(), numbers->end(), field->begin());
}

int DicomHeaderReader::short_number(DicomTag tag, std::span<const std::byte> value) {
  const auto number = understood(tag, short_of(value, big_endian_));
  if (!number) seen_.erase(tag);
  return number.value_or(0);
}

bool DicomHeaderReader::truth(DicomTag tag, std::span<const std::byte> value) {
  const int number = short_number(tag, value);
  if (number > 1) note(tag, text("is ", number, ", not 0 or 1"));
  return number == 1;
}

/// What tells objects of one kind apart. None of it decides what an image is, so an odd one is no fault.
void DicomHeaderReader::take_identity(DicomTag tag, std::span<const std::byte> value) {
  if (tag == description_tag) header_.description = text_of(value);
  if (tag == instance_tag) header_.instance = code_word_of(value, ".").value.value_or("");
  if (tag == echo_tag) header_.echo = digits_of(value);
  if (tag == series_number_tag) header_.series_number = digits_of(value);
}

void DicomHeaderReader::take_class(DicomTag tag, std::span<const std::byte> value) {
  switch (tag) {
    case 0x00080008: {
      const std::string_view words = text_of(value);
      if (std::ranges::any_of(words, [](unsigned char letter) { return letter < ' ' || letter == 0x7f; }))
        note(tag, "is no list of code words");
      header_.is_mosaic = words.find("MOSAIC") != std::string_view::npos;
      header_.is_localizer = words.find("LOCALIZER") != std::string_view::npos;
      break;
    }
    case 0x00080016:
      header_.sop_class = code_word(tag, value, ".");
      break;
    case 0x00080060:
      header_.modality = code_word(tag, value);
      break;
    case 0x00180088:
      header_.step = number(tag, value);
      break;
    case 0x0020000e:
      header_.series = code_word(tag, value, ".");
      break;
    case offsets_tag:
      offsets_ = understood(tag, decimals_of(value)).value_or(std::vector<double>());
      break;
    case dose_unit_tag:
      dose_unit_ = number(tag, value);
      break;
    default:
      take_encoding(tag, value);
  }
}

void DicomHeaderReader::take_encoding(DicomTag tag, std::span<const std::byte> value) {
  switch (tag) {
    case 0x00280002:
      header_.samples = short_number(tag, value);
      break;
    case 0x00280004:
      header_.photometric = code_word(tag, value);
      if (header_.photometric.empty()) seen_.erase(tag);
      if (!header_.photometric.empty() && !is_known_photometric(header_.photometric))
        note(tag, "names no colours that DICOM knows");
      break;
    case 0x00280006:
      header_.by_plane = truth(tag, value);
      break;
    case 0x00280008: {
      const auto frames = number(tag, value);
      const bool sound = !frames || (*frames >= 0 && *frames < 1e9 && *frames == std::floor(*frames));
      if (!sound) note(tag, "is no count of frames");
      if (frames && sound) header_.frames = static_cast<int64_t>(*frames);
      break;
    }
    case 0x00280010:
      header_.rows = short_number(tag, value);
      break;
    case 0x00280011:
      header_.columns = short_number(tag, value);
      break;
    case 0x00280100:
      header_.bits_allocated = short_number(tag, value);
      break;
    case 0x00280101:
      header_.bits_stored = short_number(tag, value);
      break;
    case 0x00280102:
      header_.high_bit = short_number(tag, value);
      break;
    case 0x00280103:
      header_.is_signed = truth(tag, value);
      break;
    default:
      take_view(tag, value);
  }
}

void DicomHeaderReader::take_view(DicomTag tag, std::span<const std::byte> value) {
  if (tag == centre_tag) centres_ = understood(tag, decimals_of(value)).value_or(std::vector<double>());
  if (tag == width_tag) widths_ = understood(tag, decimals_of(value)).value_or(std::vector<double>());
  if (tag != function_tag) return;
  function_ = code_word(tag, value);
  const bool is_known =
      function_.empty() || function_ == "LINEAR" || function_ == "LINEAR_EXACT" || function_ == "SIGMOID";
  if (!is_known) note(tag, "names no function that DICOM knows");
}

void DicomHeaderReader::take_table(TableParts& table, DicomTag tag, std::span<const std::byte> value) {
  check_length(tag, value.size());
  table.is_there = true;
  if (tag == table_entries) table.entries.assign(value.begin(), value.end());
  if (tag != table_form || value.size() != table.form.size() * 2) return;
  for (std::size_t i = 0; i < table.form.size(); ++i)
    table.form[i] = short_of(value.subspan(2 * i, 2), big_endian_).value.value_or(0);
}

void DicomHeaderReader::take_plane(DicomPlane& plane, DicomTag tag, std::span<const std::byte> value) {
  switch (tag) {
    case 0x00200032:
      return set(plane.position, tag, value);
    case 0x00200037:
      return set(plane.orientation, tag, value);
    case spacing_tag:
      return set(plane.spacing, tag, value);
    case detector_tag:  // where the patient's is not known
      if (!plane.spacing) set(plane.spacing, tag, value);
      return;
    case 0x00180050:
      plane.thickness = number(tag, value);
      return;
    case intercept_tag:
    case slope_tag: {
      const auto scale = number(tag, value);
      if (!scale) return;
      (tag == slope_tag ? plane.slope : plane.intercept) = *scale;
      plane.is_rescaled = true;
      return;
    }
    default:
      return;
  }
}

/// Entries of 8 bits may lie two in a word. What does not fit together is no table.
std::optional<DicomTable> DicomHeaderReader::finish_table(const TableParts& parts, DicomTag sequence) {
  const auto count = static_cast<std::size_t>(parts.form[0] == 0 ? 65536 : parts.form[0]);
  const int bits = parts.form[2];
  const bool has_words = parts.entries.size() >= 2 * count;
  if (bits < 8 || bits > 16 || (!has_words && (bits != 8 || parts.entries.size() < count))) {
    note(sequence, "holds a table whose parts do not fit together");
    return std::nullopt;
  }
  const int first = header_.is_signed ? static_cast<int16_t>(parts.form[1]) : parts.form[1];
  DicomTable table{.first = first, .bits = bits};
  const std::span<const std::byte> all = parts.entries;
  const int mask = (1 << bits) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const int entry = has_words ? short_of(all.subspan(2 * i, 2), big_endian_).value.value_or(0)
                                : std::to_integer<int>(all[i]);
    table.entries.push_back(static_cast<uint16_t>(entry & mask));
  }
  return table;
}

/// Windows count in radiographs alone.
void DicomHeaderReader::finish_window() {
  if (window_table_.is_there) header_.table = finish_table(window_table_, window_tables);
  if (centres_.size() != widths_.size() && !faults_.contains(centre_tag) && !faults_.contains(width_tag))
    note(width_tag, text("lists ", widths_.size(), " widths for ", centres_.size(), " centres"));
  if (!centres_.empty() && !widths_.empty() && widths_[0] >= 1)
    header_.window = DicomWindow{centres_[0], widths_[0], function_.empty() ? "LINEAR" : function_};
  if (header_.is_radiograph()) return;
  for (const DicomTag tag : {centre_tag, width_tag, function_tag, window_tables}) faults_.erase(tag);
}

void DicomHeaderReader::finish_frames() {
  const auto frames = static_cast<std::size_t>(std::max<int64_t>(header_.frames, 0));
  if (frames_told_ > 0 && frames_told_ != frames)
    note(frame_groups, text("describes ", frames_told_, " frames, and (0028,0008) claims ", frames));
  if (header_.frame_planes.size() != frames) header_.frame_planes.clear();
}

/// Planes of a dose grid lie on a list of distances from the first one, or of heights in an axial grid; its
/// numbers count in units of the dose.
void DicomHeaderReader::finish_dose() {
  if (class_of(header_) != DicomClass::dose) return;
  if (!dose_unit_ && header_.pixels.tag != 0) note(dose_unit_tag, "is not there");
  header_.plane.slope = dose_unit_.value_or(1);
  const DicomPlane plane = header_.plane;
  if (header_.frames <= 1 || header_.frames > most_frames || !plane.position || !plane.orientation) return;
  if (offsets_.size() != static_cast<std::size_t>(header_.frames))
    return note(offsets_tag, text("places ", offsets_.size(), " planes of ", header_.frames));
  std::array<double, 3> normal = normal_of(*plane.orientation);
  const double first = offsets_.front();
  if (first != 0) {
    if (std::abs(first - (*plane.position)[2]) > 1e-3 || std::abs(std::abs(normal[2]) - 1) > 1e-3)
      return note(offsets_tag, "begins neither with 0 nor at the height of the first plane");
    normal = {0, 0, 1};
  }
  header_.frame_planes.assign(offsets_.size(), plane);
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      (*header_.frame_planes[i].position)[axis] += normal[axis] * (offsets_[i] - first);
  }
}

/// Without these there are no intensities, only guesses.
void DicomHeaderReader::require_what_decides() {
  const bool has_point = header_.pixels.tag != 0x7fe00010;
  std::vector<DicomTag> required = {0x00280002, 0x00280004};
  if (!has_point) required.push_back(0x00280103);
  const bool has_planes = header_.samples == 3 && header_.bits_allocated == 8;
  if (has_planes && is_plain_syntax(header_.transfer_syntax)) required.push_back(0x00280006);
  for (const DicomTag tag : required) {
    if (!seen_.contains(tag)) note(tag, "is not there");
  }
}

}  // namespace larmor
