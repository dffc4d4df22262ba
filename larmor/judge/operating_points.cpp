#include "larmor/judge/operating_points.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>

#include "larmor/base/hash.h"
#include "larmor/base/text.h"
#include "larmor/formats/csv.h"
#include "larmor/judge/bootstrap.h"

namespace larmor {

namespace {

using Rows = std::vector<ScoredTruths::Row>;

std::optional<double> share(int64_t part, int64_t all) {
  if (all == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(all);
}

/// Rows called yes, by what they are.
struct Called {
  int64_t right = 0, wrong = 0;
};

OperatingPoint point_of(double threshold, const Called& called, const Called& all) {
  return {.threshold = threshold,
          .sensitivity = share(called.right, all.right),
          .specificity = share(all.wrong - called.wrong, all.wrong),
          .precision = share(called.right, called.right + called.wrong)};
}

Called count_called(std::span<const ScoredTruths::Row> rows, double threshold) {
  Called called;
  for (const auto& row : rows) {
    if (row.score < threshold) continue;
    ++(row.truth ? called.right : called.wrong);
  }
  return called;
}

Called count_all(std::span<const ScoredTruths::Row> rows) {
  Called all;
  for (const auto& row : rows) ++(row.truth ? all.right : all.wrong);
  return all;
}

/// The patients who choose, where there is nobody else who could.
std::set<std::string> choosing_half(const Rows& rows, const PatientOf& patient_of) {
  std::vector<std::pair<std::string, std::string>> order;
  std::set<std::string> patients;
  for (const auto& row : rows) patients.insert(patient_of(row.example));
  for (const std::string& patient : patients) order.emplace_back(sha256(patient), patient);
  std::ranges::sort(order);
  std::set<std::string> half;
  for (std::size_t i = 0; i < order.size() / 2; ++i) half.insert(order[i].second);
  return half;
}

std::string why_no_curve(const Rows& rows, const std::string& whose) {
  const auto all = count_all(rows);
  if (rows.empty()) return text("there is nobody to choose it on in ", whose);
  return text("all ", all.right + all.wrong, " of ", whose, all.right == 0 ? " are without it" : " have it");
}

using Measure = std::optional<double> OperatingPoint::*;

JudgedThreshold::Interval interval_of(const Rows& rows, const PatientOf& patient_of, double threshold,
                                      Measure measure) {
  std::map<std::string, std::vector<std::size_t>> by_patient;
  for (std::size_t row = 0; row < rows.size(); ++row)
    by_patient[patient_of(rows[row].example)].push_back(row);
  if (by_patient.size() < 2) return std::nullopt;
  RowsOfPatients patients;
  for (const auto& [patient, places] : by_patient) patients.push_back(places);
  const auto interval = bootstrap_interval(patients, {}, [&](std::span<const std::size_t> drawn) {
    Rows some;
    for (const std::size_t row : drawn) some.push_back(rows[row]);
    return operating_point(some, threshold).*measure;
  });
  if (!interval || interval->low >= interval->high) return std::nullopt;
  return std::pair(interval->low, interval->high);
}

void judge(JudgedThreshold& threshold, const Rows& chosen_on, const std::string& chosen_name,
           const Rows& judged, const ThresholdRule& rule, const PatientOf& patient_of) {
  threshold.chosen_rows = std::ssize(chosen_on);
  threshold.judged_rows = std::ssize(judged);
  threshold.judged_yes = count_all(judged).right;
  std::set<std::string> patients;
  for (const auto& row : judged) patients.insert(patient_of(row.example));
  threshold.judged_patients = std::ssize(patients);
  const auto chosen = choose_threshold(roc_curve(chosen_on), rule);
  if (!chosen) {
    threshold.reason = why_no_curve(chosen_on, chosen_name);
    return;
  }
  threshold.point = operating_point(judged, *chosen);
  threshold.sensitivity = interval_of(judged, patient_of, *chosen, &OperatingPoint::sensitivity);
  threshold.specificity = interval_of(judged, patient_of, *chosen, &OperatingPoint::specificity);
  threshold.precision = interval_of(judged, patient_of, *chosen, &OperatingPoint::precision);
}

std::string cell_of(const std::optional<double>& value) { return value ? text(*value) : std::string(); }

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

struct Share {
  const char* name;
  Measure measure;
  JudgedThreshold::Interval JudgedThreshold::* interval;
};
constexpr Share shares[] = {{"sensitivity", &OperatingPoint::sensitivity, &JudgedThreshold::sensitivity},
                            {"specificity", &OperatingPoint::specificity, &JudgedThreshold::specificity},
                            {"precision", &OperatingPoint::precision, &JudgedThreshold::precision}};

}  // namespace

OperatingPoint operating_point(std::span<const ScoredTruths::Row> rows, double threshold) {
  return point_of(threshold, count_called(rows, threshold), count_all(rows));
}

std::vector<ScoredTruths::Row> usable_rows(const ScoredTruths& scores) {
  Rows some = scores.rows;
  std::erase_if(some, [](const auto& row) { return !std::isfinite(row.score); });
  return some;
}

std::vector<OperatingPoint> roc_curve(std::span<const ScoredTruths::Row> rows) {
  const auto all = count_all(rows);
  if (all.right == 0 || all.wrong == 0) return {};
  Rows sorted(rows.begin(), rows.end());
  std::ranges::sort(sorted, std::ranges::greater(), &ScoredTruths::Row::score);
  std::vector<OperatingPoint> curve;
  Called called;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    ++(sorted[i].truth ? called.right : called.wrong);
    if (i + 1 < sorted.size() && sorted[i + 1].score == sorted[i].score) continue;
    curve.push_back(point_of(sorted[i].score, called, all));
  }
  return curve;
}

double area_under(const std::vector<OperatingPoint>& curve) {
  double area = 0, false_positives = 0, sensitivity = 0;
  for (const OperatingPoint& point : curve) {
    const double more = 1 - *point.specificity;
    area += (more - false_positives) * (*point.sensitivity + sensitivity) / 2;
    false_positives = more;
    sensitivity = *point.sensitivity;
  }
  return area;
}

std::vector<ThresholdRule> threshold_rules() {
  constexpr double asked = 0.9;
  return {{.name = "youden"}, {.name = text("sensitivity ", asked), .least_sensitivity = asked}};
}

std::optional<double> choose_threshold(const std::vector<OperatingPoint>& curve, const ThresholdRule& rule) {
  std::optional<double> chosen;
  double best = 0;
  for (const OperatingPoint& point : curve) {
    if (rule.least_sensitivity) {
      if (*point.sensitivity >= *rule.least_sensitivity) return point.threshold;
      continue;
    }
    const double youden = *point.sensitivity + *point.specificity - 1;
    if (chosen && youden <= best) continue;
    chosen = point.threshold;
    best = youden;
  }
  return chosen;
}

std::vector<JudgedThreshold> judge_thresholds(const std::vector<ScoredTruths>& judged,
                                              const std::string& judged_name, const PatientOf& patient_of,
                                              const std::vector<ScoredTruths>& chosen_on,
                                              const std::string& chosen_name) {
  std::vector<JudgedThreshold> all;
  for (const ScoredTruths& one : judged) {
    Rows rows = usable_rows(one), chooses;
    std::string name = chosen_name;
    if (chosen_on.empty()) {
      const auto half = choosing_half(rows, patient_of);
      const auto is_in_half = [&](const auto& row) { return half.contains(patient_of(row.example)); };
      std::ranges::copy_if(rows, std::back_inserter(chooses), is_in_half);
      std::erase_if(rows, is_in_half);
      name = text("half of the patients of ", judged_name);
    } else if (const auto found = std::ranges::find(chosen_on, one.name, &ScoredTruths::name);
               found != chosen_on.end()) {
      chooses = usable_rows(*found);
    }
    for (const ThresholdRule& rule : threshold_rules()) {
      auto& threshold = all.emplace_back();
      threshold.name = one.name;
      threshold.rule = rule.name;
      threshold.chosen_on = name;
      judge(threshold, chooses, name, rows, rule, patient_of);
    }
  }
  return all;
}

std::string roc_table(const std::vector<ScoredTruths>& judged) {
  std::string table = "name,threshold,sensitivity,false_positive_rate,precision\n";
  for (const ScoredTruths& one : judged) {
    for (const OperatingPoint& point : roc_curve(usable_rows(one)))
      table += text(csv_words(one.name), ",", point.threshold, ",", cell_of(point.sensitivity), ",",
                    1 - *point.specificity, ",", cell_of(point.precision), "\n");
  }
  return table;
}

std::string thresholds_table(const std::vector<JudgedThreshold>& thresholds) {
  std::string table = "name,rule,threshold,chosen_on,chosen_rows,judged_rows,judged_yes,judged_patients";
  for (const Share& one : shares) table += text(",", one.name, ",", one.name, "_low,", one.name, "_high");
  table += ",reason\n";
  for (const JudgedThreshold& one : thresholds) {
    table += text(csv_words(one.name), ",", one.rule, ",", one.point ? text(one.point->threshold) : "", ",",
                  csv_words(one.chosen_on), ",", one.chosen_rows, ",", one.judged_rows, ",", one.judged_yes,
                  ",", one.judged_patients);
    for (const Share& share : shares) {
      const auto& interval = one.*share.interval;
      table += text(",", one.point ? cell_of((*one.point).*share.measure) : "", ",",
                    interval ? text(interval->first) : "", ",", interval ? text(interval->second) : "");
    }
    table += text(",", csv_words(one.reason), "\n");
  }
  return table;
}

Json to_json(const std::vector<JudgedThreshold>& thresholds) {
  Json all = Json::array();
  for (const JudgedThreshold& one : thresholds) {
    Json json{{"name", one.name},
              {"rule", one.rule},
              {"threshold", one.point ? Json(one.point->threshold) : Json(nullptr)},
              {"chosen_on", one.chosen_on},
              {"chosen_rows", one.chosen_rows},
              {"judged_rows", one.judged_rows},
              {"judged_yes", one.judged_yes},
              {"judged_patients", one.judged_patients}};
    for (const Share& share : shares) {
      const auto& interval = one.*share.interval;
      json[share.name] = one.point ? or_null((*one.point).*share.measure) : Json(nullptr);
      if (interval) json[std::string(share.name) + "_interval"] = {interval->first, interval->second};
    }
    if (!one.reason.empty()) json["reason"] = one.reason;
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace larmor
