#include "larmor/judge/figure_watch.h"

#include "larmor/base/text.h"

namespace larmor {

std::vector<Telling> tellings_of(const ValidationResult& result, double share, std::set<std::string>& told) {
  std::vector<Telling> tellings;
  const auto tell = [&](const std::string& key, const char* kind, const std::string& words) {
    if (told.insert(key).second) tellings.push_back({.kind = kind, .words = words});
  };
  for (const auto& [name, metric] : result.metrics) {
    if (!metric.undefined.empty()) {
      tell("undefined/" + name, "warning", text("val/", name, " is no number: ", metric.undefined));
      continue;
    }
    if (const auto missing = missing_message(metric); !missing.empty())
      tell("without/" + name, "note", text("val/", name, " is without ", missing));
  }
  constexpr double half = 0.5;
  if (share < half) return tellings;
  for (const Verdict& verdict : result.verdicts) {
    if (!verdict.is_worse()) continue;
    tell(text("worse/", verdict.figure, "/", verdict.baseline.name), "warning",
         text("half of the run is over, and in validation ", sentence_of(verdict)));
  }
  return tellings;
}

}  // namespace larmor
