// Folders of pairs: <case>_pa_drr.*, <case>_pa.* or <case>_frontal.*; <case>_lat_drr.*, <case>_lat.* or
// <case>_lateral.*; and the volume <case>.nii.gz, .nii or .npy. What `prepare` writes is such a folder, with
// a geometry file beside each volume.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/index/case_list.h"
#include "larmor/data/index/index.h"
#include "larmor/data/index/named_folder.h"

#include "workloads/xray_to_ct/data/pair_config.h"
#include "workloads/xray_to_ct/data/radiograph_pair.h"

namespace larmor::xray_to_ct {

/// What the files of a case are called in an index.
namespace pair_file {
constexpr const char* ct = "image_ct";
constexpr const char* frontal = "image_pa";
constexpr const char* lateral = "image_lateral";
}  // namespace pair_file

/// Which file of which case a name says.
struct PairFileName {
  std::string id;
  std::string file;  // of pair_file
  int rank = 0;      // of names for one file: the lower one counts
};
/// Nothing (an empty id) for names that are none of these. "7_pa_drr.png": case 7, frontal.
PairFileName pair_file_name(std::string_view name);

struct FoundPairs {
  std::vector<ListedCase> listed;
  FileAccount account;
};
/// The cases of a folder and its sub-folders that have a radiograph, sorted. A case may lack the other files.
/// Patients and splits are those of the folder's layout. Throws Error (data) when there is no case, and as
/// lay_out().
FoundPairs find_pairs(const DataConfig& data);

/// The radiographs of such a folder by case, for who predicts: volumes are passed over. Nothing where no name
/// is one of these.
std::optional<NamedFolder> radiographs_in(const DataConfig& trained, const std::filesystem::path& folder);

/// Reads a case with its first `views` views, and a volume of `size` voxels an edge. Throws Error (data): a
/// file that is missing or damaged, views of different sizes, a CT that check_ct() refuses, a radiograph that
/// is not of the CT.
RadiographPair read_pair(const std::filesystem::path& folder, const Case& entry, const PairConfig& config,
                         int64_t views, int64_t size);

}  // namespace larmor::xray_to_ct
