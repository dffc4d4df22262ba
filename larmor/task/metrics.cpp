#include "larmor/task/metrics.h"

#include "larmor/base/text.h"

namespace larmor {

std::string Metrics::patient(int64_t example) const { return text(example); }

std::string Metrics::case_name(int64_t example) const { return text(example); }

const CaseValues& Metrics::reference() const {
  static const CaseValues none;
  return none;
}

std::optional<int64_t> Metrics::shown_as(int64_t example) const {
  constexpr int64_t first_ones = 4;
  if (!wants_pictures() || example >= first_ones) return std::nullopt;
  return example;
}

std::vector<double> Metrics::shared_out(int64_t count, const std::function<double(int64_t)>& work) {
  std::vector<double> results;
  for (int64_t i = 0; i < count; ++i) results.push_back(work(i));
  return results;
}

}  // namespace larmor
