#include "larmor/train/peak_prediction.h"

namespace larmor {
namespace {

// What backward holds for a moment at a block, beside what forward has kept: gradients as large as its
// output, and of its largest weight the gradient and copies in other layouts. Found by measuring on a CPU
// (oneDNN); the tests say how well they do.
constexpr double gradients_at_a_time = 4, copies_of_a_weight = 5;

/// Bytes of an activation to those in fp32.
double width_of(Precision precision) {
  if (precision == Precision::fp64) return 2;
  return precision == Precision::fp32 ? 1 : 0.5;
}

/// Backward begins with everything held, but the blocks with large weights may come where little is left.
double counted_peak(const ActivationCount& count, Precision precision, int64_t samples) {
  const double width = width_of(precision);
  double peak = 0;
  for (const BlockCount& block : count.blocks) {
    const double of_sample =
        static_cast<double>(block.held) + gradients_at_a_time * static_cast<double>(block.output);
    const double of_weight = copies_of_a_weight * static_cast<double>(block.weight);
    peak = std::max(peak, width * (static_cast<double>(samples) * of_sample + of_weight));
  }
  return peak;
}

}  // namespace

int64_t predicted_peak(const MeasuredStep& measured, const ActivationCount& count, Precision precision,
                       int64_t micro_batch) {
  const auto taken = static_cast<double>(measured.backward_peak - measured.before);
  const double ratio = static_cast<double>(micro_batch) / static_cast<double>(measured.micro_batch);
  double predicted = taken * ratio;
  if (!count.blocks.empty()) {
    predicted = taken + counted_peak(count, precision, micro_batch) -
                counted_peak(count, precision, measured.micro_batch);
  }
  return std::max(measured.before + static_cast<int64_t>(std::max(predicted, 0.0)), measured.update_peak);
}

}  // namespace larmor
