#include "larmor/measure/roofline.h"

#include <algorithm>

#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr double giga = 1e9;

std::string percent(double share) { return text(fixed(100 * share, 0), " %"); }

}  // namespace

double Roofline::arithmetic_floor() const {
  return count.convolution / peak.convolution + (count.product + count.attention) / peak.product;
}

double Roofline::memory_floor() const { return count.bytes / peak.bytes; }

Json to_json(const Roofline& roofline) {
  const auto& [count, peak, seconds] = roofline;
  return {{"convolution_gflop", count.convolution / giga},
          {"product_gflop", count.product / giga},
          {"attention_gflop", count.attention / giga},
          {"gbyte", count.bytes / giga},
          {"gflop_per_s", count.operations() / seconds / giga},
          {"gbyte_per_s", count.bytes / seconds / giga},
          {"peak_convolution_gflop_per_s", peak.convolution / giga},
          {"peak_product_gflop_per_s", peak.product / giga},
          {"peak_gbyte_per_s", peak.bytes / giga},
          {"share_of_peak", count.operations() / seconds / std::max(peak.convolution, peak.product)},
          {"arithmetic_floor_ms", roofline.arithmetic_floor() * 1e3},
          {"memory_floor_ms", roofline.memory_floor() * 1e3}};
}

std::string describe(const Roofline& roofline) {
  const auto& [count, peak, seconds] = roofline;
  const double operations = std::max(count.operations(), 1.0);
  return text("a step computes ", fixed(count.operations() / giga, 1), " GFLOP (",
              percent(count.convolution / operations), " of it convolutions) at ",
              fixed(count.operations() / seconds / giga, 0),
              " GFLOP/s: ", percent(count.operations() / seconds / std::max(peak.convolution, peak.product)),
              " of the peak here (convolutions ", fixed(peak.convolution / giga, 0),
              ", products of matrices ", fixed(peak.product / giga, 0), "); its operators move ",
              fixed(count.bytes / giga, 2), " GB at ", fixed(count.bytes / seconds / giga, 1), " GB/s of ",
              fixed(peak.bytes / giga, 1), "; at these peaks it would take ",
              fixed(roofline.arithmetic_floor() * 1e3, 0), " ms for the arithmetic and ",
              fixed(roofline.memory_floor() * 1e3, 0), " ms for the memory, and it takes ",
              fixed(seconds * 1e3, 0), " ms");
}

}  // namespace larmor
