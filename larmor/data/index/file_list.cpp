#include "larmor/data/index/file_list.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/text.h"
#include "larmor/formats/csv.h"

namespace larmor {

Json list_of_files(const Index& index) {
  std::map<std::string, Json> rows;
  if (index.is_invented()) return Json::array();
  std::map<std::string, const Case*> cases;
  for (const Case& entry : index.cases) {
    for (const auto& [name, file] : entry.files) cases[file] = &entry;
  }
  const auto row_of = [](const std::string& file, const Case& entry) {
    return Json{
        {"path", file}, {"case", entry.name()}, {"patient", entry.patient}, {"split", to_text(entry.split)}};
  };
  std::set<std::string> series;
  static const FileAccount none;
  const FileAccount& account = index.account == nullptr ? none : *index.account;
  for (const auto& [file, name] : account.parts) {
    const auto found = cases.find(name);
    if (found == cases.end()) {
      rows[file] = {{"path", file}, {"reason", text("of ", name, ", which is passed over")}};
      continue;
    }
    rows[file] = row_of(file, *found->second);
    if (is_named_after_slices(name)) series.insert(name);
  }
  for (const auto& [file, entry] : cases)
    if (!series.contains(file)) rows[file] = row_of(file, *entry);
  for (const auto& [reason, files] : account.passed_over)
    for (const std::string& file : files) rows.try_emplace(file, Json{{"path", file}, {"reason", reason}});
  Json list = Json::array();
  for (auto& [file, row] : rows) list.push_back(std::move(row));
  return list;
}

Lines lines_of_files(const Json& rows) {
  Lines lines;
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const auto& [key, value] : row.items()) cells.push_back(csv_cell(value.get<std::string>()));
    lines.add(join(cells, row.contains("reason") ? ",,,," : ","));
  }
  return lines;
}

}  // namespace larmor
