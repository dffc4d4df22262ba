// Cox's negative log partial likelihood of a batch: whoever has the event next should have been the one most
// at risk.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor::survival {

/// How patients with the event at the same time share their risk set.
enum class CoxTies { breslow, efron };

/// log_risk [N], of any floating type and on any device; time [N] and event [N], best on the CPU, since their
/// order is found there. A scalar, divided by the number of events, in float32 or, for float64, in float64;
/// the gradient reaches log_risk. A batch without events gives 0 with a gradient of 0. A patient is at risk
/// at each time up to their own. Sums of exponentials are kept as logarithms, so log-risks may lie as far
/// apart as their type allows. Source: Cox 1975; Breslow 1974; Efron 1977. Throws Error (data): lengths that
/// differ, times that are not finite or negative, events other than 0 and 1.
at::Tensor cox_loss(const at::Tensor& log_risk, const at::Tensor& time, const at::Tensor& event,
                    CoxTies ties = CoxTies::breslow);

}  // namespace larmor::survival
