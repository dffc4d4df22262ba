#include "larmor/judge/verdict.h"

#include <algorithm>
#include <cmath>

#include "larmor/base/text.h"
#include "larmor/judge/bootstrap.h"

namespace larmor {
namespace {

const SplitMetric* number_of(const std::map<std::string, SplitMetric>& figures, const std::string& name) {
  const auto found = figures.find(name);
  return found == figures.end() || !std::isfinite(found->second.value) ? nullptr : &found->second;
}

void compare(Verdict& verdict, const SplitMetric& figure, const SplitMetric* other) {
  verdict.no_interval = figure.draws.values.empty() ? figure.no_interval : "";
  if (figure.draws.values.empty()) return;
  verdict.patients = figure.draws.patients;
  if (other != nullptr && other->draws.examples != figure.draws.examples) {
    verdict.no_interval = "the two are not of the same cases";
    return;
  }
  const std::vector<double> fixed_value(other == nullptr ? figure.draws.values.size() : 0,
                                        verdict.baseline_value);
  set_paired_interval(verdict, figure.draws.values, other == nullptr ? fixed_value : other->draws.values);
}

/// Digits behind the point that tell such figures apart.
int decimals_for(const Verdict& verdict) {
  return std::max(std::abs(verdict.value), std::abs(verdict.baseline_value)) < 1 ? 3 : 2;
}

std::string with_unit(const std::string& number, const Verdict& verdict) {
  return verdict.unit.empty() ? number : text(number, " ", verdict.unit);
}

std::string interval_text(const Verdict& verdict, int decimals) {
  if (!verdict.interval)
    return verdict.no_interval.empty() ? "" : text(" (no interval: ", verdict.no_interval, ")");
  return text(" [", fixed(verdict.interval->first, decimals), ", ", fixed(verdict.interval->second, decimals),
              "] over ", verdict.patients, " patients");
}

std::string said_of_it(const std::string& words) { return words.empty() ? "" : "; " + words; }

}  // namespace

bool Verdict::holds_zero() const { return interval && interval->first <= 0 && interval->second >= 0; }

bool Verdict::is_better() const { return better == Better::lower ? difference() < 0 : difference() > 0; }

bool Verdict::is_worse() const { return better == Better::lower ? difference() > 0 : difference() < 0; }

void set_paired_interval(Verdict& verdict, std::vector<double> draws,
                         const std::vector<double>& of_baseline) {
  if (draws.size() != of_baseline.size()) {
    verdict.no_interval = "the two are not of as many draws";
    return;
  }
  for (std::size_t draw = 0; draw < draws.size(); ++draw) draws[draw] -= of_baseline[draw];
  const auto interval = percentile_interval(std::move(draws));
  if (interval && interval->low < interval->high)
    verdict.interval = {interval->low, interval->high};
  else
    verdict.no_interval = text("the same for whichever of ", verdict.patients, " patients are drawn");
}

std::vector<Verdict> verdicts_of(const DeclaredFigures& declared,
                                 const std::map<std::string, SplitMetric>& figures) {
  std::vector<Verdict> verdicts;
  for (const DeclaredFigure& one : declared) {
    const SplitMetric* const figure = number_of(figures, one.name);
    if (figure == nullptr || one.better == Better::neither) continue;
    for (const Baseline& baseline : one.baselines) {
      const SplitMetric* const other = baseline.value ? nullptr : number_of(figures, baseline.name);
      if (other == nullptr && !baseline.value) continue;
      Verdict verdict{.figure = one.name,
                      .unit = one.unit,
                      .better = one.better,
                      .baseline = baseline,
                      .value = figure->value,
                      .baseline_value = other == nullptr ? *baseline.value : other->value};
      compare(verdict, *figure, other);
      verdicts.push_back(std::move(verdict));
    }
  }
  return verdicts;
}

std::string sentence_of(const Verdict& verdict) {
  const int decimals = decimals_for(verdict);
  const auto number = [&](double value) { return with_unit(fixed(value, decimals), verdict); };
  const std::string figure = text(verdict.figure, " ", number(verdict.value));
  const std::string baseline =
      verdict.baseline.value
          ? text("its baseline ", fixed(verdict.baseline_value, decimals), " (", verdict.baseline.name, ")")
          : text("its baseline ", verdict.baseline.name, " ", number(verdict.baseline_value));
  const std::string interval = interval_text(verdict, decimals);
  if (verdict.holds_zero())
    return text(figure, " and ", baseline, " are not told apart: difference ", number(verdict.difference()),
                interval, said_of_it(verdict.baseline.if_not_told_apart));
  if (verdict.difference() == 0)
    return text(figure, " is the same as ", baseline, interval,
                said_of_it(verdict.baseline.if_not_told_apart));
  std::string words = text(figure, verdict.difference() > 0 ? " is above " : " is below ", baseline, " by ",
                           number(std::abs(verdict.difference())));
  // As long as the difference itself: the sentence says which of the two is above.
  Verdict shown = verdict;
  if (verdict.interval && verdict.difference() < 0)
    shown.interval = {-verdict.interval->second, -verdict.interval->first};
  words += interval_text(shown, decimals);
  if (verdict.better == Better::lower) words += ", and lower is better";
  return verdict.is_worse() && verdict.interval ? words + said_of_it(verdict.baseline.if_worse) : words;
}

Json to_json(const std::vector<Verdict>& verdicts) {
  Json list = Json::array();
  for (const Verdict& verdict : verdicts) {
    Json json;
    json["figure"] = verdict.figure;
    json["baseline"] = verdict.baseline.name;
    json["value"] = verdict.value;
    json["baseline_value"] = verdict.baseline_value;
    json["difference"] = verdict.difference();
    if (verdict.interval) json["interval"] = {verdict.interval->first, verdict.interval->second};
    if (!verdict.no_interval.empty()) json["no_interval"] = verdict.no_interval;
    if (verdict.patients > 0) json["patients"] = verdict.patients;
    const bool is_told_apart = !verdict.holds_zero() && verdict.difference() != 0;
    json["verdict"] = !is_told_apart ? "not told apart" : verdict.is_better() ? "better" : "worse";
    json["sentence"] = sentence_of(verdict);
    list.push_back(json);
  }
  return list;
}

}  // namespace larmor
