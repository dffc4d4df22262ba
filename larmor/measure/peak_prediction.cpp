#include "larmor/measure/peak_prediction.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace larmor {
namespace {

// What backward holds for a moment at a block, beside what forward has kept: gradients as large as its
// output, and of its largest weight the gradient and copies in other layouts. Found by measuring on a CPU
// (oneDNN); the tests say how well they do.
constexpr double gradients_at_a_time = 3, copies_of_a_weight = 3;
// A measured step may say that samples take that much less or more than was counted.
constexpr double least_scale = 0.8, largest_scale = 1.3;

/// Bytes of an activation to those in fp32.
double width_of(Precision precision) {
  if (precision == Precision::fp64) return 2;
  return precision == Precision::fp32 ? 1 : 0.5;
}

/// What is held when backward is at one block.
struct BlockPeak {
  double of_sample, of_weight;
};

std::vector<BlockPeak> peaks_of(const ActivationCount& count, Precision precision) {
  const double width = width_of(precision);
  std::vector<BlockPeak> peaks;
  for (const BlockCount& block : count.blocks) {
    const double output = gradients_at_a_time * static_cast<double>(block.output);
    peaks.push_back({.of_sample = width * (static_cast<double>(block.held) + output),
                     .of_weight = width * copies_of_a_weight * static_cast<double>(block.weight)});
  }
  return peaks;
}

/// Backward begins with everything held, but the blocks with large weights may come where little is left.
double largest_of(const std::vector<BlockPeak>& peaks, double samples) {
  double largest = 0;
  for (const BlockPeak& peak : peaks) largest = std::max(largest, samples * peak.of_sample + peak.of_weight);
  return largest;
}

/// By how much samples take more than was counted, so that the measured step comes out right.
double scale_from(const std::vector<BlockPeak>& peaks, double taken, double samples) {
  if (samples <= 1) return 1;  // convolved in ways of its own, which say nothing of several
  double scale = largest_scale;
  for (const BlockPeak& peak : peaks) {
    if (peak.of_sample > 0) scale = std::min(scale, (taken - peak.of_weight) / (samples * peak.of_sample));
  }
  return std::max(scale, least_scale);
}

}  // namespace

int64_t predicted_peak(const MeasuredStep& measured, const ActivationCount& count, Precision precision,
                       int64_t micro_batch) {
  const auto taken = static_cast<double>(measured.backward_peak - measured.before);
  const auto known = static_cast<double>(measured.micro_batch), wanted = static_cast<double>(micro_batch);
  double predicted = taken * wanted / known;
  if (const auto peaks = peaks_of(count, precision); !peaks.empty()) {
    const double scale = scale_from(peaks, taken, known);
    predicted = taken + largest_of(peaks, scale * wanted) - largest_of(peaks, scale * known);
  }
  const auto above = static_cast<int64_t>(std::llround(std::max(predicted, 0.0)));
  return std::max(measured.before + above, measured.update_peak);
}

}  // namespace larmor
