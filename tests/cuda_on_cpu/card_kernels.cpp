#include "tests/cuda_on_cpu/card_kernels.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>

namespace cuda_on_cpu {
namespace {

/// What libtorch hands out as new memory holds NaN, or the greatest integer.
class FilledMemory {
 public:
  FilledMemory() {
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
    at::globalContext().setDeterministicFillUninitializedMemory(true);
  }
  ~FilledMemory() { at::globalContext().setDeterministicAlgorithms(were_on_, only_warned_); }
  FilledMemory(const FilledMemory&) = delete;
  FilledMemory& operator=(const FilledMemory&) = delete;

 private:
  bool were_on_ = at::globalContext().deterministicAlgorithms();
  bool only_warned_ = at::globalContext().deterministicAlgorithmsWarnOnly();
};

void compute_as_card(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const FilledMemory filled;
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CUDA), stack);
}

std::vector<c10::OperatorHandle> operators_with_kernels() {
  std::vector<c10::OperatorHandle> found;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = name.name.starts_with("larmor::") ? dispatcher.findSchema(name) : std::nullopt;
    if (op && op->hasKernelForDispatchKey(c10::DispatchKey::CUDA) &&
        op->hasKernelForDispatchKey(c10::DispatchKey::CPU))
      found.push_back(*op);
  }
  return found;
}

class Silence : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

}  // namespace

struct CardKernels::Registrations {
  std::vector<c10::RegistrationHandleRAII> handles;
};

CardKernels::CardKernels(Order order) : registrations_(std::make_unique<Registrations>()) {
  set_order(order);
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard quiet(
      &silence);  // each registration warns that it replaces one
  static const std::vector<c10::OperatorHandle> operators = operators_with_kernels();
  for (const c10::OperatorHandle& op : operators) {
    registrations_->handles.push_back(c10::Dispatcher::singleton().registerImpl(
        op.operator_name(), c10::DispatchKey::CPU,
        c10::KernelFunction::makeFromBoxedFunction<&compute_as_card>(), std::nullopt, nullptr,
        "the kernels of cards"));
  }
}

CardKernels::~CardKernels() { set_order({}); }

}  // namespace cuda_on_cpu
