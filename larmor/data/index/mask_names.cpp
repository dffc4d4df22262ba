#include "larmor/data/index/mask_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom_class.h"

namespace larmor {
namespace {

constexpr std::array<std::string_view, 5> names_of_masks = {"seg", "segmentation", "segmentations", "mask",
                                                            "masks"};
constexpr std::array<std::string_view, 2> names_of_labels = {"label", "labels"};
/// Of published data sets: what lies in these is no image.
constexpr std::array<std::string_view, 3> folders_of_masks = {"labelstr", "labelsts", "labelsval"};

bool has_word(std::string_view name, const auto& words) {
  std::string word;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (i < name.size() && std::isalpha(static_cast<unsigned char>(name[i])) != 0) {
      word += name[i];
      continue;
    }
    if (std::ranges::find(words, word) != words.end()) return true;
    word.clear();
  }
  return false;
}

struct NameInFolder {
  std::string folder, name;  // in small letters
};

NameInFolder split_path(const std::string& path) {
  const std::string all = lower(path);
  const std::size_t sign = all.rfind('/');
  if (sign == std::string::npos) return {"", all};
  const std::string folders = all.substr(0, sign);
  return {folders.substr(folders.rfind('/') + 1), all.substr(sign + 1)};
}

bool is_mask_by_other_words(const NameInFolder& path) {
  return has_word(path.name, names_of_masks) || has_word(path.folder, names_of_masks) ||
         std::ranges::find(folders_of_masks, path.folder) != folders_of_masks.end();
}

}  // namespace

bool is_called_like_a_mask(const std::string& path) {
  const NameInFolder parts = split_path(path);
  return is_mask_by_other_words(parts) || has_word(parts.name, names_of_labels) ||
         std::ranges::find(names_of_labels, parts.folder) != names_of_labels.end();
}

bool labels_are_masks(const Index& index) {
  const std::string* first = nullptr;
  bool all_are_called_so = true;
  for (const Case& entry : index.cases) {
    const auto label = entry.files.find("label");
    if (label == entry.files.end()) continue;
    if (first == nullptr) first = &label->second;
    all_are_called_so = all_are_called_so && is_mask_by_other_words(split_path(label->second));
  }
  if (first == nullptr || index.is_invented()) return false;
  if (all_are_called_so) return true;
  try {
    return dicom_class_of_file(index.folder / *first) == DicomClass::segmentation;
  } catch (const Error&) {
    return false;  // who reads it says what is wrong
  }
}

}  // namespace larmor
