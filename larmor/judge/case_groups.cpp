#include "larmor/judge/case_groups.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

constexpr std::size_t most_numbers = 10, parts = 4;
constexpr const char* nothing_said = "(nothing)";

std::optional<double> number_in_words(const std::string& word) {
  double number = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
  if (read.ec != std::errc() || read.ptr != word.data() + word.size() || !std::isfinite(number))
    return std::nullopt;
  return number;
}

/// The numbers of a column, where all that it says are numbers.
std::optional<std::map<int64_t, double>> numbers_of(const CaseColumn& column,
                                                    std::span<const int64_t> examples) {
  std::map<int64_t, double> numbers;
  for (const int64_t example : examples) {
    if (const auto known = column.numbers.find(example); known != column.numbers.end()) {
      if (std::isfinite(known->second)) numbers.emplace(*known);
      continue;
    }
    const auto word = column.words.find(example);
    if (word == column.words.end() || word->second.empty()) continue;
    const auto number = number_in_words(word->second);
    if (!number) return std::nullopt;
    numbers.emplace(example, *number);
  }
  return numbers;
}

/// What ends each part but the last: the values at the quarters of all, each once.
std::vector<double> quartiles(const std::map<int64_t, double>& numbers) {
  std::vector<double> sorted;
  for (const auto& [example, number] : numbers) sorted.push_back(number);
  std::ranges::sort(sorted);
  std::vector<double> ends;
  for (std::size_t part = 1; part < parts; ++part) {
    const double end = sorted[(sorted.size() * part - 1) / parts];
    if ((ends.empty() || end > ends.back()) && end < sorted.back()) ends.push_back(end);
  }
  return ends;
}

CaseGroups groups_at_quartiles(const CaseColumn& column, const std::map<int64_t, double>& numbers) {
  const auto ends = quartiles(numbers);
  CaseGroups groups(ends.size() + 1);
  double least = numbers.begin()->second, most = least;
  for (const auto& [example, number] : numbers) {
    const auto part = std::ranges::lower_bound(ends, number) - ends.begin();
    groups[static_cast<std::size_t>(part)].examples.insert(example);
    least = std::min(least, number);
    most = std::max(most, number);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].by = column.name;
    const double end = i < ends.size() ? ends[i] : most;
    groups[i].name = i == 0 ? text(least, " to ", end) : text("above ", ends[i - 1], " to ", end);
  }
  return groups;
}

template <class Value>
CaseGroups group_each(const CaseColumn& column, const std::map<Value, std::set<int64_t>>& cases_of) {
  CaseGroups groups;
  for (const auto& [value, examples] : cases_of)
    groups.push_back({.by = column.name, .name = text(value), .examples = examples});
  return groups;
}

CaseGroups groups_of_numbers(const CaseColumn& column, const std::map<int64_t, double>& numbers) {
  std::map<double, std::set<int64_t>> cases_of;
  for (const auto& [example, number] : numbers) cases_of[number].insert(example);
  return cases_of.size() > most_numbers ? groups_at_quartiles(column, numbers) : group_each(column, cases_of);
}

CaseGroups groups_of_words(const CaseColumn& column, std::span<const int64_t> examples) {
  std::map<std::string, std::set<int64_t>> cases_of;
  for (const int64_t example : examples) {
    const auto word = column.words.find(example);
    if (word != column.words.end() && !word->second.empty()) cases_of[word->second].insert(example);
  }
  if (std::ssize(cases_of) > most_groups) {
    fail(Exit::usage,
         text("--by ", column.name, ": the column says ", cases_of.size(), " different things of ",
              examples.size(), " cases, which would be as many groups"),
         text("name a column of at most ", most_groups,
              " words, or add one that puts them together: --columns FILE.csv"));
  }
  return group_each(column, cases_of);
}

}  // namespace

CaseGroups groups_by(const CaseColumn& column, std::span<const int64_t> examples) {
  const auto numbers = numbers_of(column, examples);
  CaseGroups groups =
      numbers && !numbers->empty() ? groups_of_numbers(column, *numbers) : groups_of_words(column, examples);
  CaseGroup others{.by = column.name, .name = nothing_said, .examples = {examples.begin(), examples.end()}};
  for (const CaseGroup& group : groups) {
    for (const int64_t example : group.examples) others.examples.erase(example);
  }
  if (!others.examples.empty()) groups.push_back(std::move(others));
  return groups;
}

const CaseColumn& column_to_part_by(const CaseColumns& columns, const std::string& name) {
  if (const CaseColumn* const found = column_named(columns, name)) {
    if (found->fault.empty()) return *found;
    fail(Exit::usage, text("--by ", name, ": ", found->fault), "correct the table, or name another column");
  }
  std::vector<std::string> names;
  for (const CaseColumn& column : columns) names.push_back(column.name);
  const auto near = nearest(name, names);
  const std::string remedy =
      "add --columns FILE.csv with a column of patients or files, and what is known of them";
  fail(Exit::usage,
       names.empty() ? text("--by ", name, ": these data come without columns")
                     : text("--by ", name, ": there is no such column, only ", join(names, ", ")),
       near.empty() ? remedy : text("did you mean ", near, "? Or ", remedy));
}

CaseValues values_of_group(const CaseValues& values, const CaseGroup& group) {
  CaseValues some;
  for (const auto& [name, per_case] : values) {
    for (const auto& one : per_case) {
      if (group.examples.contains(one.first)) some[name].push_back(one);
    }
  }
  return some;
}

}  // namespace larmor
