#include "larmor/formats/dicom/dicom.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/load_clock.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom_codec.h"
#include "larmor/formats/dicom/dicom_geometry.h"
#include "larmor/formats/dicom/dicom_header.h"
#include "larmor/formats/dicom/dicom_pixels.h"
#include "larmor/formats/dicom/dicom_series.h"

namespace larmor {

namespace {

namespace fs = std::filesystem;

/// Frames that do not say how they differ are all alike, so two of them tell what there is to tell.
std::vector<DicomSlice> frames_of(const DicomHeader& header) {
  const int64_t told = header.frame_planes.empty() ? std::min<int64_t>(header.frames, 2) : header.frames;
  std::vector<DicomSlice> slices;
  slices.reserve(static_cast<std::size_t>(told));
  for (int64_t frame = 0; frame < told; ++frame) {
    slices.push_back({header.frames == 1 ? "the file" : text("frame ", frame + 1), header.rows,
                      header.columns, header.plane_of(frame)});
  }
  return slices;
}

/// Frames without a place (ultrasound, nuclear medicine) stay in their order.
SliceStack stack_frames(const DicomHeader& header) {
  const auto slices = frames_of(header);
  const auto placed = [](const DicomSlice& slice) { return slice.plane.position && slice.plane.orientation; };
  if (header.frames == 1 || std::any_of(slices.begin(), slices.end(), placed))
    return stack_slices(slices, header.step);
  SliceStack stack = stack_slices({slices.front()}, header.step);
  stack.order.resize(static_cast<std::size_t>(header.frames));
  std::iota(stack.order.begin(), stack.order.end(), std::size_t{0});
  stack.problems.push_back("its frames do not say where they lie (0020,0032)");
  return stack;
}

/// What becomes of the stored numbers: kept as they are with one scale for all, or numbers with a point.
class Values {
 public:
  Values(const DicomHeader& header, const std::vector<const DicomPlane*>& planes)
      : developed_(header.is_radiograph()) {
    const DicomPlane& first = *planes.front();
    developed_ = developed_ || header.photometric == "MONOCHROME1";
    one_scale_ =
        !header.value_table && std::all_of(planes.begin(), planes.end(), [&](const DicomPlane* plane) {
          return plane->slope == first.slope && plane->intercept == first.intercept;
        });
    if (is_stored()) {
      format_ = {voxel_type_of(header), std::endian::native == std::endian::big, first.slope,
                 first.intercept};
    } else {
      format_ = {VoxelType::float32, std::endian::native == std::endian::big, 1, 0};
    }
  }

  const VoxelFormat& format() const { return format_; }

  /// One plane into its place. Requires: `to` as long as the plane has voxels, of the format's type.
  void put(std::span<const std::byte> from, const DicomHeader& header, const DicomPlane& plane,
           std::byte* to) const {
    if (is_stored()) {
      std::memcpy(to, from.data(), from.size());
      return;
    }
    std::vector<float> numbers(from.size() / bytes_of(voxel_type_of(header)));
    if (header.is_radiograph()) {
      develop(from, header, plane, numbers);
    } else if (header.photometric == "MONOCHROME1") {
      turn_round(from, header, plane, numbers);
    } else {
      rescale(from, header, plane, numbers);
    }
    std::memcpy(to, numbers.data(), numbers.size() * sizeof(float));
  }

 private:
  bool is_stored() const { return !developed_ && one_scale_; }

  bool developed_, one_scale_ = true;
  VoxelFormat format_;
};

void note_oddities(const DicomHeader& header, std::vector<std::string>& problems) {
  if (const DicomClass kind = class_of(header); kind != DicomClass::image)
    problems.push_back(text("is ", to_text(kind), " by its class (0008,0016), not an image of a scanner"));
  if (header.is_mosaic) {
    problems.push_back(
        "is a mosaic: the slices of a volume as tiles of one picture, which stay as they are; dcm2niix "
        "unfolds it");
  }
  if (!header.is_radiograph() && header.photometric == "MONOCHROME1")
    problems.push_back("says that low values are white (MONOCHROME1); its values are turned round");
}

StoredVolume described(const DicomHeader& header, int64_t planes) {
  StoredVolume volume;
  volume.array.shape = {header.columns, header.rows};
  if (planes > 1 || header.samples > 1) volume.array.shape.push_back(planes);
  if (header.samples > 1) volume.array.shape.push_back(header.samples);
  volume.dtype = header.pixels.tag == 0 ? "" : to_text(voxel_type_of(header));
  note_oddities(header, volume.problems);
  return volume;
}

void place(StoredVolume& volume, SliceStack stack) {
  volume.affine = stack.affine;
  volume.spacing_mm = spacing_of(stack.affine);
  volume.problems.insert(volume.problems.end(), stack.problems.begin(), stack.problems.end());
}

/// Runs what may find a fault, and keeps it with what is known so far.
template <class Work>
void keeping_fault(StoredVolume& volume, const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    volume.fault = error.message();
    volume.hint = error.hint();
    volume.array.file = {};
    volume.array.bytes = volume.array.offset = 0;
  }
}

void refuse_fault(const DicomHeader& header, const std::string& subject = "") {
  const std::string fault = fault_of(header);
  if (fault.empty()) return;
  fail(Exit::data, subject + fault,
       fault == header.misread
           ? "fetch the file again, or correct the element: dcmodify -m \"(GGGG,EEEE)=VALUE\" FILE"
           : "");
}

StoredVolume volume_of(DicomFile file) {
  const DicomHeader& header = file.header;
  StoredVolume volume = described(header, header.frames);
  keeping_fault(volume, [&] {
    refuse_fault(header);
    check_pixels_are_there(header);
    const SliceStack stack = stack_frames(header);
    place(volume, stack);
    std::vector<const DicomPlane*> planes;
    for (const std::size_t frame : stack.order)
      planes.push_back(&header.plane_of(static_cast<int64_t>(frame)));
    const Values values(header, planes);
    const Bytes plain = plain_pixels(file);
    file.bytes = {};
    StoredArray& array = volume.array;
    array.format = values.format();
    const std::size_t from_width = bytes_of(voxel_type_of(header)), to_width = bytes_of(array.format.type);
    array.bytes = checked_bytes(array.shape, to_width);
    array.file = Bytes(array.bytes);
    const auto voxels = static_cast<std::size_t>(header.rows * header.columns);
    const auto frames = static_cast<std::size_t>(header.frames);
    for (std::size_t channel = 0; channel < static_cast<std::size_t>(header.samples); ++channel) {
      for (std::size_t i = 0; i < frames; ++i) {
        const auto plane = plain.view().subspan((channel * frames + stack.order[i]) * voxels * from_width,
                                                voxels * from_width);
        values.put(plane, header, *planes[i], array.file.data() + (channel * frames + i) * voxels * to_width);
      }
    }
  });
  return volume;
}

struct Headers {
  std::vector<std::string> files;  // of the slices
  std::vector<DicomHeader> all;
  SliceStack stack;
};

void check_alike(const std::string& one, const DicomHeader& first, const std::string& other,
                 const DicomHeader& second) {
  const char* different = nullptr;
  if (voxel_type_of(first) != voxel_type_of(second) || first.samples != second.samples)
    different = "the type of their voxels";
  else if (first.photometric != second.photometric)
    different = "what dark and bright mean (0028,0004)";
  else if (first.value_table.has_value() != second.value_table.has_value())
    different = "whether a table (0028,3000) says what their values mean";
  if (different != nullptr) fail(Exit::data, text("slices differ in ", different, ": ", one, " and ", other));
}

/// The headers of a series' files, which fit together.
Headers read_headers(const DicomSlices& chosen) {
  Headers headers;
  std::vector<DicomSlice> slices;
  for (const std::string& name : chosen.files) {
    const auto header = read_dicom_header(chosen.folder / name);
    if (!header)
      fail(Exit::data, text(name, " is no DICOM file any more"), "do not change the folder meanwhile");
    refuse_fault(*header, name + ' ');
    naming(name, [&] { check_pixels_are_there(*header); });
    if (!headers.all.empty()) check_alike(headers.files.front(), headers.all.front(), name, *header);
    headers.files.push_back(name);
    slices.push_back({name, header->rows, header->columns, header->plane});
    headers.all.push_back(*header);
  }
  if (headers.all.front().samples != 1) fail(Exit::data, "holds slices in colour, which are no volume");
  headers.stack = stack_slices(slices, headers.all.front().step);
  return headers;
}

void read_slices(StoredVolume& volume, const DicomSlices& chosen, const Headers& headers) {
  std::vector<const DicomPlane*> planes;
  for (const std::size_t i : headers.stack.order) planes.push_back(&headers.all[i].plane);
  const Values values(headers.all.front(), planes);
  StoredArray& array = volume.array;
  array.format = values.format();
  const std::size_t width = bytes_of(array.format.type);
  array.bytes = checked_bytes(array.shape, width);
  array.file = Bytes(array.bytes);
  const std::size_t slice = array.bytes / planes.size();
  for (std::size_t place = 0; place < planes.size(); ++place) {
    const std::size_t i = headers.stack.order[place];
    naming(headers.files[i], [&] {
      const DicomFile file = open_dicom_file(chosen.folder / headers.files[i]);
      const Bytes plain = plain_pixels(file);
      if (plain.size() / bytes_of(voxel_type_of(file.header)) != slice / width)
        fail(Exit::data, "has changed while it was read");
      values.put(plain.view(), file.header, file.header.plane, array.file.data() + place * slice);
    });
  }
}

StoredVolume open_series(const fs::path& path) {
  const DicomSlices chosen = choose_dicom_series(path);
  if (chosen.files.size() == 1) return volume_of(open_dicom_file(chosen.folder / chosen.files.front()));
  const auto first = read_dicom_header(chosen.folder / chosen.files.front());
  if (!first) fail(Exit::data, text(chosen.files.front(), " cannot be read"));
  StoredVolume volume = described(*first, static_cast<int64_t>(chosen.files.size()));
  keeping_fault(volume, [&] {
    const Headers headers = read_headers(chosen);
    volume.array.shape = {headers.all.front().columns, headers.all.front().rows,
                          static_cast<int64_t>(headers.all.size())};
    if (!chosen.copies.empty())
      volume.problems.push_back(
          text("holds copies of slices, which are left out: ", join(chosen.copies, ", ")));
    place(volume, headers.stack);
    read_slices(volume, chosen, headers);
  });
  return volume;
}

/// The header promises an image, and the file is long enough for it. Compressed pixels tell by their end
/// only. Throws Error (data).
bool is_long_enough(const DicomHeader& header) {
  if (!fault_of(header).empty() || header.pixels.in_fragments) return false;
  check_pixels_are_there(header);
  return true;
}

}  // namespace

StoredVolume open_dicom(const fs::path& path) {
  const LoadScope stage(LoadStage::decode);
  return names_dicom_series(path) ? open_series(path) : volume_of(open_dicom_file(path));
}

StoredVolume parse_dicom_volume(Bytes bytes) { return volume_of(parse_dicom(std::move(bytes))); }

bool dicom_looks_sound(const fs::path& path) {
  try {
    if (names_dicom_series(path)) {
      const DicomSlices chosen = choose_dicom_series(path);
      if (chosen.files.size() == 1) return dicom_looks_sound(chosen.folder / chosen.files.front());
      const Headers headers = read_headers(chosen);
      return std::all_of(headers.all.begin(), headers.all.end(), is_long_enough);
    }
    const auto header = read_dicom_header(path);
    if (!header || !is_long_enough(*header)) return false;
    stack_frames(*header);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace larmor
