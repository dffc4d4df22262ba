#include "larmor/judge/paired_figures.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "larmor/base/hash.h"

namespace larmor {

namespace {

std::string hash_of_cases(const std::vector<int64_t>& examples, const Dataset& dataset) {
  Json cases = Json::array();
  for (const int64_t example : examples) cases.push_back({dataset.name(example), dataset.patient(example)});
  return sha256(cases.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::vector<double> values_of(const Json& draws) {
  std::vector<double> values;
  for (const auto& value : draws.at("values"))
    values.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  return values;
}

Better better_of(const Json& figure) {
  const auto word = figure.value("better", "");
  for (const auto better : {Better::higher, Better::lower}) {
    if (word == to_text(better)) return better;
  }
  return Better::neither;
}

bool is_number(const Json& figure) {
  return figure.is_object() && figure.contains("mean") && figure["mean"].is_number();
}

/// The reason that one of them has, or that they have no draws.
std::string why_no_interval(const Json& first, const Json& second) {
  for (const auto* figure : {&second, &first}) {
    if (const auto reason = figure->value("no_interval", ""); !reason.empty()) return reason;
  }
  return "larmor evaluate of both, without --quick, gives one";
}

}  // namespace

Json draws_json(const ValidationResult& result, const Dataset& dataset) {
  Json all = Json::object();
  std::map<std::vector<int64_t>, std::string> hashes;  // most figures are of the same cases
  for (const auto& [name, metric] : result.metrics) {
    const auto& draws = metric.draws;
    if (draws.values.empty()) continue;
    auto& hash = hashes[draws.examples];
    if (hash.empty()) hash = hash_of_cases(draws.examples, dataset);
    all[name] = {{"cases", hash}, {"patients", draws.patients}, {"values", draws.values}};
  }
  return all;
}

std::vector<Verdict> paired_figures(const KeptEvaluation& first, const KeptEvaluation& second,
                                    const std::string& name_of_first) {
  std::vector<Verdict> pairs;
  for (const auto& [name, figure] : second.figures.items()) {
    if (!is_number(figure) || !first.figures.contains(name) || !is_number(first.figures[name])) continue;
    const auto& other = first.figures[name];
    Verdict pair{.figure = name,
                 .unit = figure.value("unit", ""),
                 .better = better_of(figure),
                 .baseline = {.name = name_of_first},
                 .value = figure["mean"],
                 .baseline_value = other["mean"]};
    if (!first.draws.contains(name) || !second.draws.contains(name)) {
      pair.no_interval = why_no_interval(other, figure);
    } else if (first.draws[name].at("cases") != second.draws[name].at("cases")) {
      pair.no_interval = "the two are not of the same cases";
    } else {
      pair.patients = second.draws[name].at("patients");
      set_paired_interval(pair, values_of(second.draws[name]), values_of(first.draws[name]));
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace larmor
