// How published data sets name their folders and files. A layout is one file of this folder and a row of the
// table in layout.cpp (docs/decisions/0086).
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/data/index/split.h"

namespace larmor {

/// A path below the data folder, which it borrows, cut at its slashes.
struct PathParts {
  std::vector<std::string_view> folders;
  std::string_view stem;  // the file's name without its suffix
};

/// What a layout says of a file.
struct PlacedFile {
  std::string patient;                // as the layout calls him; "" where the layout does not tell
  std::size_t above = 0;              // so many folders stand above the patient's: some may name splits
  std::optional<Split> split = {};    // where a folder of the layout's own names it
  const char* passed_over = nullptr;  // why it is no image
  bool is_label = false;              // a mask, which data.modalities may ask for all the same
};

struct FolderLayout {
  const char* name;         // as data.layout says it
  const char* patients_by;  // "sub-* folders"
  /// Whether the files, at least one, are laid out so.
  bool (*fits)(const std::vector<PathParts>& files, const std::filesystem::path& folder);
  PlacedFile (*place)(const PathParts& file);
  /// Whether a patient's name means the same person wherever it stands below the folder.
  bool names_are_unique;
};

/// In the order in which data.layout=auto asks them.
const std::vector<FolderLayout>& layouts();
/// Throws std::out_of_range for a name that no layout has.
const FolderLayout& layout_called(std::string_view name);

/// Whether there is nothing but digits, and at least one.
bool is_all_digits(std::string_view word);

extern const FolderLayout decathlon_layout, nnunet_layout, bids_layout, brats_layout, mimic_cxr_layout;

}  // namespace larmor
