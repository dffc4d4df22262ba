#include "workloads/survival/risk/horizons.h"

#include <cmath>
#include <cstddef>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::survival {

void check_horizons(std::span<const double> horizons) {
  for (std::size_t i = 0; i < horizons.size(); ++i) {
    if (!std::isfinite(horizons[i]) || horizons[i] < 0)
      fail(Exit::data, text("a horizon of ", horizons[i]),
           "horizons are times of the table: finite, from 0 on");
    if (i > 0 && horizons[i] <= horizons[i - 1])
      fail(Exit::data, text("the horizon ", horizons[i], " comes after ", horizons[i - 1]),
           "name each horizon once, the earliest first");
  }
}

}  // namespace larmor::survival
