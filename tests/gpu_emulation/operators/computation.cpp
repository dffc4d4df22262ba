#include "tests/gpu_emulation/operators/computation.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>

#include "tests/gpu_emulation/operators/hollow.h"
#include "tests/gpu_emulation/operators/host_views.h"
#include "tests/gpu_emulation/runtime/counters.h"

namespace emulated {
namespace {

using Stack = torch::jit::Stack;

bool is_generator(const c10::Argument& argument) {
  const auto optional = argument.type()->cast<c10::OptionalType>();
  const auto type = optional ? optional->getElementType() : argument.type();
  return type->kind() == c10::TypeKind::GeneratorType;
}

/// A number that a kernel of a graph reads when it runs, and not when it was captured.
uint64_t number_at(const int64_t* place, Work& work) {
  work.reads(place, sizeof *place);
  uint64_t number = 0;
  std::memcpy(&number, host_address(place), sizeof number);
  return number;
}

/// A generator of the host, seeded by the state of the card's. Its numbers are not a card's.
at::Generator generator_for(const at::PhiloxCudaState& state, Work& work) {
  constexpr uint64_t most_calls = uint64_t{1} << 32;
  uint64_t seed = state.seed_.val, offset = state.offset_.val;
  if (state.captured_) {
    seed = number_at(state.seed_.ptr, work);
    offset = number_at(state.offset_.ptr, work) + state.offset_intragraph_;
  }
  return at::make_generator<at::CPUGeneratorImpl>(seed * most_calls + offset);
}

}  // namespace

bool has_own_kernels(const c10::OperatorHandle& op) {
  static const char* const asked = std::getenv("EMULATED_KERNELS");
  static const bool are_asked = asked != nullptr && std::string_view(asked) == "own";
  return are_asked && op.operator_name().name.starts_with("larmor::") &&
         op.hasKernelForDispatchKey(c10::DispatchKey::CUDA);
}

void take_draws(Call& call) {
  constexpr uint64_t numbers_of_a_call = 4;
  const auto& parameters = call.op.schema().arguments();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!is_generator(parameters[i])) continue;
    const c10::IValue& given = call.arguments[i];
    at::Generator own =
        given.isNone() ? at::globalContext().defaultGenerator(call.device) : given.toGenerator();
    TORCH_CHECK(!own.device().is_cpu(), "Expected a 'cuda' device type for generator but found 'cpu'");
    const std::lock_guard lock(own.mutex());
    auto* const state = at::check_generator<at::CUDAGeneratorImpl>(own);
    call.draws.push_back(state->philox_cuda_state(numbers_of_a_call));
  }
}

Stack perform(const Call& call, Work& work, Results& results) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  if (is_hollow() && !is_computed(call.op, call.arguments)) return give_shapes(call, work, results);
  const auto& parameters = call.op.schema().arguments();
  HostViews views(work, results, call.in_float32);
  Stack inner;
  auto draw = call.draws.begin();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto* const alias = parameters[i].alias_info();
    const bool is_written = alias != nullptr && alias->isWrite();
    inner.push_back(is_generator(parameters[i]) ? c10::IValue(generator_for(*draw++, work))
                                                : views.to_host(call.arguments[i], is_written));
  }
  if (has_own_kernels(call.op)) {
    call.op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CUDA), &inner);
    ++counters().own_kernels;
  } else {
    call.op.callBoxed(&inner);
  }
  views.write_back();
  for (c10::IValue& result : inner) result = views.to_device(result);
  return inner;
}

}  // namespace emulated
