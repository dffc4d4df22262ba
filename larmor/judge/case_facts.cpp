#include "larmor/judge/case_facts.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/judge/fact_table.h"

namespace larmor {

namespace {

namespace fs = std::filesystem;

using Examples = std::set<int64_t>;

/// Whose rows are meant by a cell.
struct Keys {
  std::map<std::string, Examples> of_files, of_patients;
};

Keys keys_of(const Index& index, const Dataset& dataset) {
  std::map<std::string, const Case*> case_of;
  for (const Case& entry : index.cases) case_of.emplace(entry.name(), &entry);
  Keys keys;
  for (int64_t example = 0; example < dataset.size(); ++example) {
    const std::string name = dataset.name(example);
    keys.of_files[name].insert(example);
    keys.of_patients[dataset.patient(example)].insert(example);
    const auto entry = case_of.find(name);
    if (entry == case_of.end()) continue;
    for (const auto& [key, file] : entry->second->files) keys.of_files[file].insert(example);
  }
  return keys;
}

/// Where the paths of a table may start from.
std::vector<fs::path> bases_of(const fs::path& table, const DataConfig& data, const Index& index) {
  std::vector<fs::path> bases{fs::absolute(table).parent_path(), index.folder};
  if (!data.folder.empty()) bases.push_back(fs::absolute(data.folder));
  return bases;
}

/// One column as the one that says whose a row is.
struct KeyColumn {
  std::vector<Examples> of_rows;
  std::size_t found = 0;  // cases
  bool is_of_files = false;
};

Examples examples_of_file(const std::string& cell, const Keys& keys, const std::vector<fs::path>& bases,
                          const fs::path& folder) {
  if (const auto plain = keys.of_files.find(cell); plain != keys.of_files.end()) return plain->second;
  for (const fs::path& base : bases) {
    const auto path = (base / cell).lexically_normal().lexically_relative(folder).generic_string();
    if (const auto found = keys.of_files.find(path); found != keys.of_files.end()) return found->second;
  }
  return {};
}

template <class Find>
KeyColumn key_column(const FactTable& table, std::size_t column, bool is_of_files, const Find& find) {
  KeyColumn key{.of_rows = {}, .is_of_files = is_of_files};
  Examples all;
  for (const FactTable::Row& row : table.rows) {
    key.of_rows.push_back(row.cells[column].empty() ? Examples() : find(row.cells[column]));
    all.insert(key.of_rows.back().begin(), key.of_rows.back().end());
  }
  key.found = all.size();
  return key;
}

KeyColumn best_key(const FactTable& table, const fs::path& path, const DataConfig& data, const Index& index,
                   const Keys& keys) {
  const auto bases = bases_of(path, data, index);
  const auto of_file = [&](const std::string& cell) {
    return examples_of_file(cell, keys, bases, index.folder);
  };
  const auto of_patient = [&](const std::string& cell) {
    const auto found = keys.of_patients.find(cell);
    return found == keys.of_patients.end() ? Examples() : found->second;
  };
  KeyColumn best;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    for (const bool is_of_files : {true, false}) {
      auto key = is_of_files ? key_column(table, column, true, of_file)
                             : key_column(table, column, false, of_patient);
      const bool is_better =
          key.found > best.found || (key.found == best.found && key.is_of_files && !best.is_of_files);
      if (is_better) best = std::move(key);
    }
  }
  return best;
}

CaseColumn facts_of_column(const FactTable& table, std::size_t column, const KeyColumn& key,
                           const std::string& place) {
  CaseColumn facts{.name = table.columns[column], .meaning = text("as ", place, " says")};
  std::map<int64_t, std::size_t> row_of;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string& cell = table.rows[row].cells[column];
    if (cell.empty()) continue;
    for (const int64_t example : key.of_rows[row]) {
      const auto [known, is_new] = facts.words.emplace(example, cell);
      const std::string& first = table.rows[row_of.emplace(example, row).first->second].place;
      if (known->second != cell && facts.fault.empty())
        facts.fault = text(first, " and ", table.rows[row].place, " of ", place, " say ", known->second,
                           " and ", cell, " of the same case");
    }
  }
  return facts;
}

}  // namespace

CaseColumns facts_of_table(const fs::path& path, const DataConfig& data, const Index& index,
                           const Dataset& dataset) {
  const auto place = path.filename().string();
  const FactTable table = read_fact_table(path);
  const auto key = best_key(table, path, data, index, keys_of(index, dataset));
  if (2 * key.found < static_cast<std::size_t>(dataset.size())) {
    fail(Exit::usage, text(place, " tells of ", key.found, " of ", dataset.size(), " cases"),
         text("give it a column with their files or their patients, written as the run has them: ",
              dataset.name(0), " of ", dataset.patient(0)));
  }
  CaseColumns facts;
  for (std::size_t column = 0; column < table.columns.size(); ++column)
    facts.push_back(facts_of_column(table, column, key, place));
  return facts;
}

std::vector<fs::path> tables_of_data(const DataConfig& data, const Index& index) {
  std::vector<fs::path> tables;
  tables.emplace_back(data.list);
  if (!index.is_invented()) tables.push_back(index.folder / "participants.tsv");
  std::error_code unknown;
  std::erase_if(tables, [&](const fs::path& table) { return !fs::is_regular_file(table, unknown); });
  return tables;
}

CaseColumns known_facts(const std::vector<std::string>& own_tables, const DataConfig& data,
                        const Index& index, const Dataset& dataset, CaseColumns of_stage) {
  CaseColumns all;
  const auto add = [&all](CaseColumns more) {
    for (CaseColumn& column : more) {
      const auto known = std::ranges::find(all, column.name, &CaseColumn::name);
      if (known == all.end())
        all.push_back(std::move(column));
      else if (!known->fault.empty())
        *known = std::move(column);
    }
  };
  for (const std::string& table : own_tables) {
    std::error_code unknown;
    if (!fs::is_regular_file(table, unknown))
      fail(Exit::usage, text("there is no table ", table), "check --columns");
    add(facts_of_table(table, data, index, dataset));
  }
  for (const fs::path& table : tables_of_data(data, index)) {
    try {
      add(facts_of_table(table, data, index, dataset));
    } catch (const Error& error) {
      if (error.exit() != Exit::usage) throw;
    }
  }
  add(std::move(of_stage));
  return all;
}

}  // namespace larmor
