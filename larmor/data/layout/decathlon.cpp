// Source: the Medical Segmentation Decathlon (medicaldecathlon.com) and nnU-Net v2's dataset format: imagesTr
// are what one trains and validates on, imagesTs are for the test, labelsTr and labelsTs hold masks. nnU-Net
// ends the names of images in the number of their channel, _0000.
#include <algorithm>

#include "larmor/base/text.h"
#include "larmor/data/layout/layout.h"

namespace larmor {
namespace {

constexpr std::size_t channel_digits = 4;

bool holds_images(std::string_view folder) {
  return folder == "imagesTr" || folder == "imagesTs" || folder == "imagesVal";
}

bool holds_labels(std::string_view folder) { return folder.starts_with("labels"); }

template <class Names>
std::size_t place_of_first(const PathParts& file, const Names& names) {
  return static_cast<std::size_t>(std::find_if(file.folders.begin(), file.folders.end(), names) -
                                  file.folders.begin());
}

bool lies_among_images(const PathParts& file) {
  return place_of_first(file, holds_images) < file.folders.size();
}

std::string_view without_channel(std::string_view name) {
  if (name.size() <= channel_digits + 1 || name[name.size() - channel_digits - 1] != '_') return name;
  const auto digits = name.substr(name.size() - channel_digits);
  return is_all_digits(digits) ? name.substr(0, name.size() - channel_digits - 1) : name;
}

bool is_decathlon(const std::vector<PathParts>& files, const std::filesystem::path&) {
  return std::any_of(files.begin(), files.end(), lies_among_images);
}

bool is_nnunet(const std::vector<PathParts>& files, const std::filesystem::path& folder) {
  const auto has_channel = [](const PathParts& file) {
    return !lies_among_images(file) || without_channel(file.stem) != file.stem;
  };
  return is_decathlon(files, folder) && std::all_of(files.begin(), files.end(), has_channel);
}

PlacedFile place_named(const PathParts& file, std::string_view name) {
  const std::size_t at = place_of_first(file, holds_images);
  if (at == file.folders.size()) {
    const bool is_label = place_of_first(file, holds_labels) < file.folders.size();
    return {.patient = "",
            .passed_over = is_label ? "a label by its folder" : "in no folder of images (imagesTr, imagesTs)",
            .is_label = is_label};
  }
  PlacedFile placed{.patient = std::string(at + 1 < file.folders.size() ? file.folders[at + 1] : name),
                    .above = at};
  if (file.folders[at] == "imagesTs") placed.split = Split::test;
  if (file.folders[at] == "imagesVal") placed.split = Split::val;
  return placed;
}

PlacedFile place_decathlon(const PathParts& file) { return place_named(file, file.stem); }
PlacedFile place_nnunet(const PathParts& file) { return place_named(file, without_channel(file.stem)); }

}  // namespace

const FolderLayout decathlon_layout = {.name = "decathlon",
                                       .patients_by = "names in imagesTr, and in imagesTs for the test",
                                       .fits = is_decathlon,
                                       .place = place_decathlon,
                                       .names_are_unique = false};
const FolderLayout nnunet_layout = {
    .name = "nnunet",
    .patients_by = "names in imagesTr, and in imagesTs for the test, without the channel (_0000)",
    .fits = is_nnunet,
    .place = place_nnunet,
    .names_are_unique = false};

}  // namespace larmor
