#include "larmor/data/bad_file.h"

#include <algorithm>

#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"

namespace larmor {

Json to_json(const std::vector<BadFile>& files) {
  Json json = Json::array();
  for (const BadFile& file : files) {
    json.push_back({{"path", file.path}, {"reason", file.reason}});
    if (!file.sha256.empty()) json.back()["sha256"] = file.sha256;
  }
  return json;
}

std::vector<BadFile> bad_files_from(const Json& json) {
  std::vector<BadFile> files;
  for (const auto& row : json) {
    files.push_back({row.at("path").get<std::string>(), row.at("reason").get<std::string>(),
                     row.value("sha256", std::string())});
  }
  return files;
}

int64_t bad_file_budget(int64_t allowed, int64_t cases) { return std::max(allowed, cases / 1000); }

bool are_too_many(int64_t bad, int64_t budget, int64_t files) {
  return budget != any_number_of_files && (bad > budget || 2 * bad > files);
}

void fail_over_budget(const std::vector<BadFile>& files, int64_t allowed) {
  fail(Exit::data,
       text(files.size(), files.size() == 1 ? " file" : " files", " cannot be used; data.bad_files allows ",
            allowed, ":", listing(files)),
       "repair or remove them (data.exclude), or raise data.bad_files");
}

bool holds(const std::vector<BadFile>& files, const std::string& path) {
  return std::any_of(files.begin(), files.end(), [&](const BadFile& file) { return file.path == path; });
}

std::string listing(const std::vector<BadFile>& files, size_t most) {
  std::vector<std::string> lines;
  for (const BadFile& file : files) lines.push_back(text(file.path, ": ", file.reason));
  return items(lines, most);
}

std::string reason_behind(const std::string& name, const std::string& message) {
  const std::string prefix = bounded(name) + ": ";  // as an Error shows it
  const size_t found = name.empty() ? std::string::npos : message.find(prefix);
  return found == std::string::npos ? message : message.substr(found + prefix.size());
}

}  // namespace larmor
