#include "larmor/judge/paired_figures.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
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
  std::vector<int64_t> cases(static_cast<std::size_t>(dataset.size()));
  std::iota(cases.begin(), cases.end(), int64_t{0});
  Json draws_of = Json::object();
  std::map<std::vector<int64_t>, std::string> hashes;  // most figures are of the same cases
  for (const auto& [name, metric] : result.metrics) {
    const auto& draws = metric.draws;
    if (draws.values.empty()) continue;
    auto& hash = hashes[draws.examples];
    if (hash.empty()) hash = hash_of_cases(draws.examples, dataset);
    draws_of[name] = {{"cases", hash}, {"patients", draws.patients}, {"values", draws.values}};
  }
  return {{"cases", hash_of_cases(cases, dataset)}, {"figures", std::move(draws_of)}};
}

std::vector<Verdict> paired_figures(const KeptEvaluation& first, const KeptEvaluation& second,
                                    const std::string& name_of_first) {
  const bool are_alike = first.draws.at("cases") == second.draws.at("cases");
  const Json &draws_of_first = first.draws.at("figures"), &draws_of_second = second.draws.at("figures");
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
    const bool have_draws = draws_of_first.contains(name) && draws_of_second.contains(name);
    if (!are_alike || (have_draws && draws_of_first[name].at("cases") != draws_of_second[name].at("cases"))) {
      pair.no_interval = "the two are not of the same cases";
    } else if (!have_draws) {
      pair.no_interval = why_no_interval(other, figure);
    } else {
      pair.patients = draws_of_second[name].at("patients");
      set_paired_interval(pair, values_of(draws_of_second[name]), values_of(draws_of_first[name]));
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace larmor
