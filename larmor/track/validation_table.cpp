#include "larmor/track/validation_table.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "larmor/base/text.h"
#include "larmor/track/progress.h"

namespace larmor {
namespace {

constexpr std::string_view validation_prefix = "val/";

std::string without_prefix(const std::string& name) {
  return name.starts_with(validation_prefix) ? name.substr(validation_prefix.size()) : name;
}

/// Letters as a terminal counts them: the bytes that begin one in UTF-8.
size_t letters_in(std::string_view words) {
  return static_cast<size_t>(std::ranges::count_if(words, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string padded(const std::string& words, size_t letters) {
  return words + std::string(letters - std::min(letters, letters_in(words)), ' ');
}

struct Row {
  std::string name, value, change, mark;
};

size_t widest(const std::vector<Row>& rows, std::string Row::* column) {
  size_t most = 0;
  for (const Row& row : rows) most = std::max(most, letters_in(row.*column));
  return most;
}

std::string change_of(double value, double before) {
  if (!std::isfinite(value) || !std::isfinite(before)) return {};
  const double change = value - before;
  return change == 0 ? "=" : text(change > 0 ? "+" : "", short_number(change));
}

}  // namespace

ValidationTable::ValidationTable(const ConsoleOptions& options)
    : figures_(options.figures),
      metric_(options.metric),
      lower_is_better_(options.lower_is_better),
      best_(options.best) {}

bool ValidationTable::is_best(const std::string& name, double value) {
  if (name != metric_ || !std::isfinite(value)) return false;
  if (best_ && (lower_is_better_ ? value >= *best_ : value <= *best_)) return false;
  best_ = value;
  return true;
}

std::vector<std::string> ValidationTable::lines(const Values& values) {
  std::vector<std::string> names;
  for (const DeclaredFigure& figure : figures_) names.push_back(std::string(validation_prefix) + figure.name);
  for (const auto& [name, value] : values) {
    if (find_figure(figures_, without_prefix(name)) == nullptr) names.push_back(name);
  }
  std::vector<Row> rows;
  for (const std::string& name : names) {
    const auto value = values.find(name);
    if (value == values.end() || name.find('@') != std::string::npos) continue;
    Row row{.name = without_prefix(name), .value = short_number(value->second), .change = {}, .mark = {}};
    if (const auto* const figure = find_figure(figures_, row.name)) {
      if (figure->better != Better::neither) row.name += " " + arrow_of(figure->better);
      if (!figure->unit.empty()) row.value += " " + figure->unit;
    }
    if (const auto before = last_.find(name); before != last_.end())
      row.change = change_of(value->second, before->second);
    if (is_best(name, value->second)) row.mark = "best so far";
    rows.push_back(std::move(row));
  }
  last_ = values;
  const size_t name_width = widest(rows, &Row::name), value_width = widest(rows, &Row::value),
               change_width = widest(rows, &Row::change);
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    std::string line = text("  ", padded(row.name, name_width), "  ", padded(row.value, value_width), "  ",
                            padded(row.change, change_width), "  ", row.mark);
    lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return lines;
}

}  // namespace larmor
