#include "larmor/data/index/exclude_list.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/data/index/data_folder.h"
#include "larmor/data/index/index.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

constexpr const char* reason = "left out by data.exclude_list";

struct ListedName {
  std::size_t line = 0;
  std::string name;
};

std::vector<ListedName> names_in(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    fail(Exit::data, text("data.exclude_list ", path, " is not there, or is no file"),
         text("relative paths start from ", fs::current_path(error).string()));
  }
  std::vector<ListedName> names;
  std::size_t line = 0;
  for (const std::string& row : split(read_text(path), '\n')) {
    ++line;
    const std::string_view name = trim(row);
    if (!name.empty() && !name.starts_with('#')) names.push_back({line, std::string(name)});
  }
  return names;
}

/// Which cases a name stands for, by their numbers; none for a file that is in no case anyway.
using CasesByName = std::map<std::string, std::set<std::size_t>>;

CasesByName names_of(const FoundCases& found) {
  CasesByName names;
  std::map<std::string, std::size_t> by_file;
  for (std::size_t i = 0; i < found.cases.size(); ++i) {
    names[found.cases[i].patient].insert(i);
    for (const auto& [name, file] : found.cases[i].files) {
      names[file].insert(i);
      by_file.emplace(file, i);
    }
  }
  for (const auto& [file, name] : found.account.parts) {
    const auto of = by_file.find(name);
    if (of != by_file.end()) names[file].insert(of->second);
  }
  for (const auto& [why, files] : found.account.passed_over)
    for (const std::string& file : files) names[file];
  return names;
}

/// As paths of an index are written.
std::string from_folder(const std::string& name, const fs::path& folder) {
  const fs::path path = fs::path(name).lexically_normal();
  std::string below = (path.is_absolute() ? path.lexically_relative(folder) : path).generic_string();
  while (below.size() > 1 && below.ends_with('/')) below.pop_back();
  return below;
}

[[noreturn]] void refuse(const std::vector<ListedName>& strange, const CasesByName& names,
                         const std::string& list) {
  std::vector<std::string> known;
  for (const auto& [name, cases] : names) known.push_back(name);
  const std::string near = nearest(strange.front().name, known);
  const std::size_t others = strange.size() - 1;
  fail(Exit::data,
       text(fs::path(list).filename().string(), ':', strange.front().line, ": ", strange.front().name,
            " is no path, case or patient of the data",
            others == 0 ? ""
                        : text("; nor ", others == 1 ? "is" : "are", " what stands in ", others,
                               " other line", others == 1 ? "" : "s")),
       near.empty() ? "`larmor prepare WORKLOAD --list` shows paths, cases and patients"
                    : text("did you mean ", near, "?"));
}

/// Into the account, with the slices and voxels that belong to them.
void account_for(FoundCases& found, const std::set<std::size_t>& left_out) {
  std::set<std::string> gone;
  for (const std::size_t i : left_out)
    for (const auto& [name, file] : found.cases[i].files) gone.insert(file);
  std::set<std::string> files = gone;
  for (const auto& [file, name] : found.account.parts) {
    if (!gone.contains(name)) continue;
    if (is_named_after_slices(name)) files.erase(name);
    files.insert(file);
  }
  std::erase_if(found.account.parts, [&](const auto& part) { return gone.contains(part.second); });
  for (const std::string& file : files) found.account.pass_over(reason, file);
}

}  // namespace

void leave_out_listed(FoundCases& found, const DataConfig& data) {
  if (data.exclude_list.empty()) return;
  const CasesByName names = names_of(found);
  const fs::path folder = found.folder.empty() ? fs::path() : absolute_path(found.folder);
  std::set<std::size_t> left_out;
  std::vector<ListedName> strange;
  for (const ListedName& one : names_in(data.exclude_list)) {
    auto fit = names.find(one.name);
    if (fit == names.end()) fit = names.find(from_folder(one.name, folder));
    if (fit == names.end()) {
      strange.push_back(one);
    } else {
      left_out.insert(fit->second.begin(), fit->second.end());
    }
  }
  if (!strange.empty() && data.bad_files != any_number_of_files) refuse(strange, names, data.exclude_list);
  account_for(found, left_out);
  std::vector<FoundCase> kept;
  for (std::size_t i = 0; i < found.cases.size(); ++i)
    if (!left_out.contains(i)) kept.push_back(std::move(found.cases[i]));
  found.cases = std::move(kept);
  if (found.cases.empty())
    fail(Exit::data, text("data.exclude_list ", data.exclude_list, " leaves out every case"),
         "take lines out of it");
}

}  // namespace larmor
