// pair_index(): the cases of a config, whichever way they are told.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/index/find_cases.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"
#include "workloads/xray_to_ct/data/pair_folder.h"

namespace larmor::xray_to_ct {
namespace {

/// Files of one kind below data.ct; nothing where there are none.
std::optional<FoundCases> cts_of_kind(DataConfig data, const std::string& folder, const char* kind) {
  data.kind = kind;
  data.folder = folder;
  data.modalities = nullptr;
  try {
    return find_cases(data);
  } catch (const Error& error) {
    if (error.exit() != Exit::data || !std::filesystem::is_directory(folder)) throw;
    return std::nullopt;
  }
}

std::vector<ListedCase> find_cts(const DataConfig& data, const std::string& folder) {
  std::vector<ListedCase> listed;
  for (const char* kind : {"nifti", "dicom"}) {
    const auto found = cts_of_kind(data, folder, kind);
    if (!found) continue;
    for (const FoundCase& entry : found->cases) {
      const std::string path = entry.files.begin()->second;
      listed.push_back(
          {.place = path, .files = {{"image", path}}, .patient = entry.patient, .label = {}, .split = {}});
    }
  }
  if (listed.empty())
    fail(Exit::data, text("no CTs in ", folder), "data.ct names a folder of DICOM series or NIfTI files");
  return listed;
}

}  // namespace

Index pair_index(const RunConfig& config, const PairConfig& pairs) {
  const auto seed = static_cast<uint64_t>(config.run.seed);
  if (config.data.kind == "phantom") return make_index(config.data, seed);
  DataConfig data = config.data;
  const auto listed = pairs.ct.empty() ? find_pairs(data) : find_cts(data, pairs.ct);
  if (!pairs.ct.empty()) data.folder = pairs.ct;
  data.list = pairs.ct.empty() ? "the folder of each case" : "the folder of CTs";
  return make_index(data, seed, listed);
}

}  // namespace larmor::xray_to_ct
