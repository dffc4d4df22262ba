// pair_index(): the cases of a config, whichever way they are told.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
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

/// Each kind passes over the files of the others.
FileAccount account_of_all(std::vector<FoundCases> kinds) {
  std::set<std::string> taken;
  for (const FoundCases& found : kinds) {
    for (const FoundCase& entry : found.cases) taken.insert(entry.files.begin()->second);
    for (const auto& [file, name] : found.account.parts) taken.insert(file);
  }
  // What a file is that none takes, the last kind says, whose files may be called anything.
  FileAccount account = std::move(kinds.back().account);
  kinds.pop_back();
  for (auto& [reason, files] : account.passed_over)
    std::erase_if(files, [&](const std::string& file) { return taken.contains(file); });
  std::erase_if(account.passed_over, [](const auto& entry) { return entry.second.empty(); });
  for (const FoundCases& found : kinds)
    account.parts.insert(account.parts.end(), found.account.parts.begin(), found.account.parts.end());
  return account;
}

FoundPairs find_cts(const DataConfig& data, const std::string& folder) {
  FoundPairs all;
  std::vector<FoundCases> kinds;
  for (const char* kind : {"nifti", "nrrd", "metaimage", "dicom"}) {
    auto found = cts_of_kind(data, folder, kind);
    if (!found) continue;
    for (const FoundCase& entry : found->cases) {
      const std::string path = entry.files.begin()->second;
      all.listed.push_back({.place = path,
                            .files = {{"image", path}},
                            .patient = entry.patient,
                            .label = {},
                            .split = entry.split});
    }
    kinds.push_back(*std::move(found));
  }
  if (all.listed.empty())
    fail(Exit::data, text("no CTs in ", folder),
         "data.ct names a folder of DICOM series, NIfTI, NRRD or MetaImage files");
  all.account = account_of_all(std::move(kinds));
  return all;
}

}  // namespace

Index pair_index(const RunConfig& config, const PairConfig& pairs) {
  const auto seed = static_cast<uint64_t>(config.run.seed);
  if (config.data.kind == "phantom") return make_index(config.data, seed);
  DataConfig data = config.data;
  FoundPairs found = pairs.ct.empty() ? find_pairs(data) : find_cts(data, pairs.ct);
  if (!pairs.ct.empty()) data.folder = pairs.ct;
  data.list = pairs.ct.empty() ? "the folder of each case" : "the folder of CTs";
  return make_index(data, seed, found.listed, std::move(found.account));
}

}  // namespace larmor::xray_to_ct
