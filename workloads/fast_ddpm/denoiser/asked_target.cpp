#include "workloads/fast_ddpm/denoiser/asked_target.h"

#include <algorithm>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

namespace larmor::fast_ddpm {
namespace {

void refuse_unseen(const std::string& wanted, const std::vector<std::string>& modalities,
                   const ModalityCounts& learnt) {
  const auto cases_with = [&](const std::string& modality) {
    const auto found = learnt.find(modality);
    return found == learnt.end() ? 0 : found->second;
  };
  if (cases_with(wanted) > 0) return;
  std::vector<std::string> seen;
  for (const std::string& modality : modalities) {
    const auto count = cases_with(modality);
    if (count > 0) seen.push_back(text(modality, " (", count, count == 1 ? " case)" : " cases)"));
  }
  fail(Exit::usage,
       text("no training case had ", wanted, ", so that it cannot be generated; training saw ",
            join(seen, ", ")),
       text("ask for one of those, or train with cases that have ", wanted));
}

}  // namespace

ModalityCounts count_modalities(const std::vector<std::string>& modalities, const Index& index,
                                const ModalityCounts& before) {
  ModalityCounts counts = before;
  for (const std::string& modality : modalities) {
    int64_t& count = counts[modality];
    for (const Case& entry : index.cases) {
      const bool has_it = index.is_invented() || entry.files.contains(name_of_modality(modality));
      count += entry.split == Split::train && has_it ? 1 : 0;
    }
  }
  return counts;
}

ModalityCounts read_modality_counts(const std::filesystem::path& file) {
  const Json json = read_json(file);
  const bool is_of_counts = json.is_object() && std::ranges::all_of(json, [](const Json& count) {
                              return count.is_number_integer();
                            });
  if (!is_of_counts)
    fail(Exit::checkpoint, text(file.string(), " holds no counts of modalities"),
         "restore the run folder, or start the run again");
  return json.get<ModalityCounts>();
}

std::optional<ModalityCounts> kept_modality_counts(const std::map<std::string, std::filesystem::path>& kept) {
  const auto found = kept.find(modality_counts_file);
  if (found == kept.end()) return std::nullopt;
  return read_modality_counts(found->second);
}

std::function<void(const std::map<std::string, std::string>&)> check_of_target(
    const std::vector<std::string>& modalities, const std::optional<ModalityCounts>& learnt) {
  return [=](const std::map<std::string, std::string>& given) {
    const auto asked = given.find(target_input);
    asked_target(
        modalities, [&](const std::string& name) { return given.contains(name); },
        asked == given.end() ? std::nullopt : std::optional(asked->second), learnt);
  };
}

int64_t asked_target(const std::vector<std::string>& modalities,
                     const std::function<bool(const std::string&)>& is_given,
                     const std::optional<std::string>& asked, const std::optional<ModalityCounts>& learnt) {
  std::vector<std::string> missing;
  for (const std::string& modality : modalities) {
    if (!is_given(modality)) missing.push_back(modality);
  }
  if (missing.size() == modalities.size())
    fail(Exit::usage, "no modality is given",
         text("give some of ", join(modalities, ", "), " with --input NAME=FILE"));
  if (!asked && missing.size() != 1)
    fail(Exit::usage,
         missing.empty() ? "all modalities are given" : text("these are missing: ", join(missing, ", ")),
         "say which one is wanted: --input target=NAME");
  const std::string wanted = asked ? *asked : missing.front();
  const auto found = std::ranges::find(modalities, wanted);
  if (found == modalities.end())
    fail(Exit::usage, text("target=", wanted, " is none of ", join(modalities, ", ")), "name one of them");
  if (learnt) refuse_unseen(wanted, modalities, *learnt);
  return found - modalities.begin();
}

}  // namespace larmor::fast_ddpm
