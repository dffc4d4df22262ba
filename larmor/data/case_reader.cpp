#include "larmor/data/case_reader.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/image_pair.h"
#include "larmor/data/index/mask_names.h"
#include "larmor/data/synthetic/phantom.h"
#include "larmor/formats/volume.h"
#include "larmor/transforms/common_grid.h"
#include "larmor/transforms/mask_name.h"

namespace larmor {
namespace {

constexpr int64_t most_classes = 65536;

void check_classes(const Volume& mask, const std::string& file, int64_t classes = most_classes) {
  const auto most = static_cast<float>(classes - 1);
  const at::Tensor voxels = mask.voxels.contiguous();
  const float* const values = voxels.const_data_ptr<float>();
  const auto is_class = [most](float value) {
    return value >= 0 && value <= most && value == std::floor(value);
  };
  const float* const wrong = std::find_if_not(values, values + voxels.numel(), is_class);
  if (wrong == values + voxels.numel()) return;
  fail(Exit::data,
       text(file, ": a mask holds classes, whole numbers from 0 to ", classes - 1,
            ", but there is a voxel of ", *wrong),
       classes == most_classes ? "name the file image_… or label if it is none"
                               : "name all classes in the config, or mend the file");
}

MakeVolumes phantom_maker(const DataConfig& data) {
  return
      [seed = static_cast<uint64_t>(data.phantom_seed), size = data.phantom_size](
          const Case&, int64_t number) -> Volumes { return {{"image", make_phantom(seed, number, size)}}; };
}

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void refuse_lack(const Case& entry, const std::string& modality,
                              const std::vector<std::string>& all) {
  fail(Exit::data, text(entry.name(), ": the case has no ", modality, ", one of ", join(all, ", ")),
       "complete the case, or leave it out with data.exclude");
}

}  // namespace

CaseReader::CaseReader(const DataConfig& data, const Index& index, const SampleForm& form,
                       const PictureReading& reading, MakeVolumes make)
    : make_(!index.is_invented() ? MakeVolumes()
            : make               ? std::move(make)
                                 : phantom_maker(data)),
      folder_(index.folder),
      resamples_(data.grids == "resample"),
      labels_are_masks_(form.label_classes > 0 || labels_are_masks(index)),
      reading_(reading),
      form_(form),
      channels_(form.channels) {
  if (!channels_.empty()) return;
  for (const std::string& modality : index.channels) {
    if (!holds(form_.own_grids, modality)) channels_.push_back(modality);
  }
}

bool CaseReader::wants(std::string_view name) const { return form_.only.empty() || holds(form_.only, name); }

std::string CaseReader::name_of_volume(const std::string& file) const {
  return labels_are_masks_ && file == "label" ? std::string(label_as_mask) : file;
}

std::vector<std::string> CaseReader::channel_files(const Case& entry) const {
  std::vector<std::string> files;
  for (const std::string& modality : channels_) {
    std::string name = name_of_modality(modality);
    const bool is_the_image = channels_.size() == 1 && !entry.files.contains(name);
    if (is_the_image) name = "image";
    files.push_back(entry.files.contains(name) ? name : "");
  }
  if (!channels_.empty()) return files;
  for (const auto& [name, file] : entry.files) {
    if (is_image(name) && !holds(form_.own_grids, modality_of(name))) files.push_back(name);
  }
  return files;
}

bool CaseReader::is_read(const Case& entry, const std::string& name) const {
  if (!is_image(name)) return wants(name);
  return holds(channel_files(entry), name) ||
         (holds(form_.own_grids, modality_of(name)) && wants(modality_of(name)));
}

std::vector<std::pair<std::string, std::string>> CaseReader::contents(const Case& entry,
                                                                      SourceHashes& hashes) const {
  std::vector<std::pair<std::string, std::string>> contents;
  std::vector<std::string> images;
  for (const auto& [name, file] : entry.files) {
    if (is_invented()) {
      contents.emplace_back(name, file);
    } else if (is_read(entry, name)) {
      // Whether a file may hold a pair is told by its name.
      contents.emplace_back(text(name_of_volume(name), may_hold_a_pair(file) ? " npz" : ""),
                            hashes.of(folder_ / file));
      if (is_image(name)) images.push_back(name);
    }
  }
  // Files by their names are the rule; what departs from it is said.
  const auto channels = channel_files(entry);
  if (!is_invented() && channels != images) {
    for (const std::string& name : channels) contents.emplace_back("channel", name);
    for (const std::string& name : form_.own_grids) contents.emplace_back("own grid", name);
  }
  for (const std::string& name : form_.only) contents.emplace_back("only", name);
  if (resamples_ && contents.size() > 1) contents.emplace_back("grids", "resample");
  return contents;
}

at::Tensor CaseReader::present(const Case& entry) const {
  if (!form_.missing_as_zeros) return {};
  const auto files = channel_files(entry);
  at::Tensor present = at::ones({static_cast<int64_t>(files.size())}, at::kBool);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].empty() && !is_invented()) present[static_cast<int64_t>(i)].fill_(false);
  }
  return present;
}

Volumes CaseReader::read(const Case& entry, int64_t number) const {
  if (is_invented()) return make_(entry, number);
  Volumes volumes;
  read_own_grids(entry, volumes);
  const auto channels = channel_files(entry);
  if (channels.empty()) return volumes;
  Volume image = read_image(entry);
  for (const auto& [file_name, file] : entry.files) {
    if (is_image(file_name) || !wants(file_name)) continue;
    const std::string name = name_of_volume(file_name);
    Volume volume = read_volume(folder_ / file);
    if (name == label_as_mask && form_.label_classes > 0)
      check_classes(volume, file, form_.label_classes);
    else if (is_mask(name))
      check_classes(volume, file);
    volumes[name] =
        on_grid_of(image, entry.name(), std::move(volume), file,
                   {.resamples = resamples_,
                    .interpolation = is_mask(name) ? Interpolation::nearest : Interpolation::trilinear});
  }
  if (entry.files.size() == 1 && holds_a_pair(entry.name(), image)) {
    ImagePair pair = apart(std::move(image));
    if (form_.label_classes > 0) check_classes(pair.label, entry.name(), form_.label_classes);
    if (wants("label"))
      volumes[form_.label_classes > 0 ? std::string(label_as_mask) : "label"] = std::move(pair.label);
    image = std::move(pair.image);
  }
  if (wants("image")) volumes["image"] = std::move(image);
  if (form_.label_classes > 0 && !volumes.contains(label_as_mask))
    fail(Exit::data, text(entry.name(), ": the case has no label map"),
         "name it in the column label of data.list, or leave the case out with data.exclude");
  return volumes;
}

void CaseReader::read_own_grids(const Case& entry, Volumes& volumes) const {
  for (const std::string& modality : form_.own_grids) {
    if (!wants(modality)) continue;
    const auto file = entry.files.find(name_of_modality(modality));
    if (file == entry.files.end()) refuse_lack(entry, modality, form_.own_grids);
    PictureReading reading = reading_;
    reading.size = {};  // a Resize is for the image
    volumes[modality] = read_volume(folder_ / file->second, reading);
  }
}

Volume CaseReader::read_image(const Case& entry) const {
  const auto names = channel_files(entry);
  std::vector<at::Tensor> channels(names.size());
  Volume image;
  PictureReading reading = reading_;
  if (entry.files.size() > 1) reading.size = {};  // the files have to be on one grid
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) {
      if (!form_.missing_as_zeros) refuse_lack(entry, channels_[i], channels_);
      continue;
    }
    const std::string& file = entry.files.at(names[i]);
    Volume volume = read_volume(folder_ / file, reading);
    if (!image.voxels.defined()) {
      image = volume;
    } else {
      volume = on_grid_of(image, entry.name(), std::move(volume), file, {.resamples = resamples_});
    }
    channels[i] = std::move(volume.voxels);
  }
  if (!image.voxels.defined()) refuse_lack(entry, channels_.front(), channels_);
  for (at::Tensor& channel : channels) {
    if (!channel.defined()) channel = at::zeros_like(image.voxels.narrow(0, 0, 1));
  }
  if (channels.size() > 1) image.voxels = at::cat(channels);
  return image;
}

}  // namespace larmor
