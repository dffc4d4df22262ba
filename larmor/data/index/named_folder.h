// A folder that somebody names to a trained network: what of it is a case, as training told its own cases.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/index/file_account.h"

namespace larmor {

/// Cases that are made of several files.
struct NamedFolder {
  struct OneCase {
    std::string name;                          // its path below the folder; "" where the folder is the case
    std::map<std::string, std::string> files;  // as Case::files, below the folder
  };
  std::vector<OneCase> cases;              // by path
  std::vector<std::string> channels = {};  // modalities of the images, in the order of training
  FileAccount account = {};                // of what no case has
};

/// `data` for such a folder: what it says of splits, patients and lists is of other files, and so are
/// patterns with a `/`.
DataConfig data_of_named_folder(DataConfig data, const std::filesystem::path& folder);

/// The cases that data.modalities tells apart by the files' names; where it is not set, `modalities` stand at
/// the ends of names as they are called. Nothing where neither says anything of images. Throws Error (data)
/// as cases_of_modalities().
std::optional<NamedFolder> cases_of_named_folder(const DataConfig& data,
                                                 const std::vector<std::string>& modalities,
                                                 const std::filesystem::path& folder);

struct NamedImages {
  std::vector<std::filesystem::path> images;  // not empty
  FileAccount account = {};                   // of those that are left out
};
/// images_below() without what data.dicom, data.include and data.exclude leave out. Throws Error (data) where
/// nothing is left, and as images_below().
NamedImages images_of_named_folder(const DataConfig& data, const std::filesystem::path& folder);

}  // namespace larmor
