#include "larmor/device/initialisation.h"

#include <string_view>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>

#include "larmor/base/hash.h"

namespace larmor {

namespace {
std::mutex initialisation_mutex;

at::Tensor generator_state() {
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> guard(generator.mutex());
  return generator.get_state();
}
}  // namespace

struct SeededInitialisation::Saved {
  at::Tensor state;
};

SeededInitialisation::SeededInitialisation(uint64_t seed)
    : lock_(initialisation_mutex), saved_(std::make_unique<Saved>(Saved{generator_state()})) {
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> guard(generator.mutex());
  generator.set_current_seed(seed);
}

SeededInitialisation::~SeededInitialisation() {
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> guard(generator.mutex());
  generator.set_state(saved_->state);
}

uint64_t default_generator_fingerprint() {
  const auto state = generator_state();
  return fast_hash({static_cast<const char*>(state.const_data_ptr()), state.nbytes()});
}

}  // namespace larmor
