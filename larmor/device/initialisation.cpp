#include "larmor/device/initialisation.h"

#include <string_view>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/init.h>

#include "larmor/base/hash.h"

namespace larmor {

namespace {
std::recursive_mutex initialisation_mutex;
thread_local SkippedInitialisation* skipped_here = nullptr;

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

SkippedInitialisation::SkippedInitialisation() : outer_(std::exchange(skipped_here, this)) {}

SkippedInitialisation::~SkippedInitialisation() { skipped_here = outer_; }

DrawnInitialisation::DrawnInitialisation() : skipped_(std::exchange(skipped_here, nullptr)) {}

DrawnInitialisation::~DrawnInitialisation() { skipped_here = skipped_; }

bool is_skipped(const at::Tensor& weight) {
  if (weight.is_meta()) return true;
  if (skipped_here == nullptr) return false;
  const at::NoGradGuard no_gradient;
  weight.zero_();
  skipped_here->undrawn_.push_back(weight);
  return true;
}

void initialise_normal(const at::Tensor& weight, double mean, double deviation) {
  if (!is_skipped(weight)) torch::nn::init::normal_(weight, mean, deviation);
}

void initialise_uniform(const at::Tensor& weight, double low, double high) {
  if (!is_skipped(weight)) torch::nn::init::uniform_(weight, low, high);
}

void initialise_kaiming_uniform(const at::Tensor& weight, double slope) {
  if (!is_skipped(weight)) torch::nn::init::kaiming_uniform_(weight, slope);
}

void initialise_xavier_uniform(const at::Tensor& weight) {
  if (!is_skipped(weight)) torch::nn::init::xavier_uniform_(weight);
}

uint64_t default_generator_fingerprint() {
  const auto state = generator_state();
  return fast_hash({static_cast<const char*>(state.const_data_ptr()), state.nbytes()});
}

}  // namespace larmor
