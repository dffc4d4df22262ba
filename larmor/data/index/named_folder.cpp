#include "larmor/data/index/named_folder.h"

#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/index/dicom_filters.h"
#include "larmor/data/index/find_cases.h"
#include "larmor/data/index/folder_scan.h"
#include "larmor/data/index/index.h"
#include "larmor/data/index/modality_names.h"
#include "larmor/formats/folder_images.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

/// The folder's name is said once where it is the case's as well: BraTS-GLI-00000-000/BraTS-GLI-00000-000.
std::string name_of_case(const FoundCase& entry) {
  const fs::path folder = fs::path(entry.files.begin()->second).parent_path();
  const bool is_the_folder = entry.id.empty() || (!folder.empty() && folder.filename() == entry.id);
  return (is_the_folder ? folder : folder / entry.id).generic_string();
}

[[noreturn]] void refuse_all_left_out(const fs::path& folder, const FileAccount& account) {
  std::vector<std::string> reasons;
  for (const auto& [reason, files] : account.passed_over)
    reasons.push_back(text(files.size(), ' ', reason, " (", files.front(), ')'));
  fail(Exit::data, text("no image is left in ", folder.string(), ": ", join(reasons, "; ")),
       "name one of these files by itself, or give the key another value for this call, before --input: "
       "data.dicom.class=[…]");
}

}  // namespace

DataConfig data_of_named_folder(DataConfig data, const fs::path& folder) {
  data = without_splits(std::move(data));
  data.folder = folder.string();
  data.layout = "none";
  data.split.by = "file";
  for (std::string* of_others : {&data.list, &data.exclude_list, &data.patient_pattern}) of_others->clear();
  for (auto* patterns : {&data.include, &data.exclude})
    std::erase_if(*patterns, [](const std::string& one) { return one.find('/') != std::string::npos; });
  return data;
}

std::optional<NamedFolder> cases_of_named_folder(const DataConfig& trained,
                                                 const std::vector<std::string>& modalities,
                                                 const fs::path& folder) {
  DataConfig data = data_of_named_folder(trained, folder);
  data.kind = "nifti";  // files of all kinds are told by their modality
  if (data.modalities.is_null()) {
    for (const std::string& modality : modalities) data.modalities[modality] = Json::array({modality});
  }
  if (ModalityNames(data.modalities).channels().empty()) return std::nullopt;
  FoundCases found = find_cases(data);
  NamedFolder named{.cases = {}, .channels = std::move(found.channels), .account = std::move(found.account)};
  for (const FoundCase& entry : found.cases) named.cases.push_back({name_of_case(entry), entry.files});
  return named;
}

NamedImages images_of_named_folder(const DataConfig& trained, const fs::path& folder) {
  const DataConfig data = data_of_named_folder(trained, folder);
  const NamePatterns patterns{.suffixes = {}, .include = data.include, .exclude = data.exclude};
  DicomFilters filters(data.dicom);
  NamedImages named;
  named.images = images_below(
      folder, {.texts = filters.texts(),
               .takes =
                   [&](const fs::path& image, const DicomSeries* object) {
                     std::string reason = object == nullptr ? "" : filters.refusal(*object);
                     if (reason.empty() && object == nullptr && !patterns.wants(image.filename().string()))
                       reason = "left out by data.include or data.exclude";
                     if (!reason.empty()) named.account.pass_over(reason, image.string());
                     return reason.empty();
                   },
               .without_pixels =
                   [&](const fs::path& file, const DicomSeries& object) {
                     named.account.pass_over(DicomFilters::word_without_pixels(object), file.string());
                   }});
  if (named.images.empty()) refuse_all_left_out(folder, named.account);
  return named;
}

}  // namespace larmor
