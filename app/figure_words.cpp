#include "app/figure_words.h"

#include <vector>

#include "larmor/base/text.h"

#include "app/program.h"

namespace larmor::app {

namespace {

Json metric_json(const MetricResult& metric, const DeclaredFigure* declared, const Dataset& dataset) {
  Json json;
  json["mean"] = number_or_null(metric.mean);
  if (!metric.undefined.empty()) json["undefined"] = metric.undefined;
  if (declared != nullptr) {
    if (declared->better != Better::neither) json["better"] = to_text(declared->better);
    if (!declared->unit.empty()) json["unit"] = declared->unit;
    if (!declared->meaning.empty()) json["meaning"] = declared->meaning;
  }
  if (metric.interval) json["interval"] = {metric.interval->first, metric.interval->second};
  if (!metric.no_interval.empty()) json["no_interval"] = metric.no_interval;
  if (!metric.parts.empty()) {
    auto& parts = json["per_" + metric.parts_by] = Json::object();
    for (const auto& [part, value] : metric.parts) parts[part] = number_or_null(value);
  }
  if (!metric.undefined_parts.empty()) json["undefined_per_" + metric.parts_by] = metric.undefined_parts;
  if (metric.per_case.empty()) return json;
  json["per_case"] = Json::array();
  for (const auto& [example, value] : metric.per_case) {
    Json row;
    row["case"] = dataset.name(example);
    row["value"] = number_or_null(value);
    json["per_case"].push_back(row);
  }
  return json;
}

std::string metric_line(const std::string& name, const MetricResult& metric, const DeclaredFigure* declared) {
  auto line = text("  ", name);
  if (declared != nullptr && declared->better != Better::neither) line += " " + arrow_of(declared->better);
  line += text("  ", fixed(metric.mean, 5));
  if (!metric.undefined.empty()) line += text(" (", metric.undefined, ")");
  if (declared != nullptr && !declared->unit.empty() && metric.undefined.empty())
    line += " " + declared->unit;
  if (metric.interval)
    line += text(" [", fixed(metric.interval->first, 5), ", ", fixed(metric.interval->second, 5), "]");
  if (!metric.no_interval.empty()) line += text(" (no interval: ", metric.no_interval, ")");
  for (const auto& [part, value] : metric.parts) {
    if (!metric.undefined_parts.contains(part)) line += text("  ", part, " ", fixed(value, 4));
  }
  const auto missing = missing_message(metric);
  return missing.empty() ? line : text(line, "  (without ", missing, ")");
}

/// Those declared in their order, then the others by name.
std::vector<std::string> in_order(const ValidationResult& result, const DeclaredFigures& declared) {
  std::vector<std::string> names;
  for (const DeclaredFigure& one : declared) {
    if (result.metrics.contains(one.name)) names.push_back(one.name);
  }
  for (const auto& [name, metric] : result.metrics) {
    if (find_figure(declared, name) == nullptr) names.push_back(name);
  }
  return names;
}

}  // namespace

void add_figures(Json& json, const ValidationResult& result, const DeclaredFigures& declared,
                 const Dataset& dataset) {
  for (const auto& [name, metric] : result.metrics)
    json[name] = metric_json(metric, find_figure(declared, name), dataset);
  if (!result.remarks.empty()) json["remarks"] = result.remarks;
  if (!result.verdicts.empty()) json["verdicts"] = to_json(result.verdicts);
}

Lines figure_lines(const ValidationResult& result, const DeclaredFigures& declared) {
  Lines lines;
  for (const std::string& name : in_order(result, declared))
    lines.add(metric_line(name, result.metrics.at(name), find_figure(declared, name)));
  for (const std::string& sentence : result.remarks) lines.add(text("  ", sentence));
  return lines;
}

Json groups_json(const ValidationResult& result, const DeclaredFigures& declared, const Dataset& dataset) {
  Json groups = Json::array();
  for (const ValidationResult& part : result.groups) {
    Json json;
    json["by"] = part.of.by;
    json["group"] = part.of.name;
    json["n"] = part.of.examples.size();
    json["patients"] = part.patients;
    add_figures(json, part, declared, dataset);
    for (auto& figure : json) {
      if (figure.is_object()) figure.erase("per_case");
    }
    groups.push_back(std::move(json));
  }
  return groups;
}

Lines group_lines(const ValidationResult& result, const DeclaredFigures& declared) {
  Lines lines;
  std::string by;
  for (const ValidationResult& part : result.groups) {
    if (part.of.by != by) lines.add(text("by ", part.of.by));
    by = part.of.by;
    const auto cases = part.of.examples.size();
    lines.add(text("  ", part.of.name, ", ", cases, cases == 1 ? " case, " : " cases, ", part.patients,
                   part.patients == 1 ? " patient" : " patients"));
    for (const std::string& name : in_order(part, declared))
      lines.add("  " + metric_line(name, part.metrics.at(name), find_figure(declared, name)));
  }
  return lines;
}

}  // namespace larmor::app
