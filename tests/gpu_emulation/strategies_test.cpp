// Training on emulated cards gives, in double precision, what it gives on CPUs: under every strategy, with
// all that a strategy goes with. Both compute by the CPU's kernels, so that equal values say nothing about a
// card's arithmetic: they say that placement, order, waiting, resizing and communication are right.
#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_emulation/support/emulated_program.h"

namespace larmor::testing {
namespace {

using Words = std::vector<std::string>;
using Steps = std::vector<std::map<std::string, double>>;

struct Case {
  std::string name;
  int ranks = 1;
  Words settings = {};
  std::map<std::string, std::string> environment = {};  // of the emulation
};
void PrintTo(const Case& tried, std::ostream* out) { *out << tried.name; }

constexpr int steps = 4;
constexpr const char* tiny_batch = "train.global_batch=4";

Words training(const Case& tried, const std::string& device) {
  Words words{"train",
              "latent_diffusion",
              "-c",
              "tiny",
              "--no-color",
              "--device",
              device,
              "--ranks",
              std::to_string(tried.ranks),
              "--steps",
              std::to_string(steps),
              "run.name=" + device,
              "train.precision=fp64",
              "run.deterministic=true",
              "loss.adversarial_start=1"};
  words.insert(words.end(), tried.settings.begin(), tried.settings.end());
  return words;
}

Steps values_of(const Finished& end) {
  EXPECT_EQ(end.status, 0) << end.out << end.err;
  return end.status == 0 ? training_values(end.run_folder()) : Steps();
}

/// Cases of other environments share what the CPU gives.
const Steps& on_cpu(const Case& tried) {
  static auto& known = *new std::map<Words, Steps>;
  const Words words = training(tried, "cpu");
  const auto found = known.find(words);
  if (found != known.end()) return found->second;
  const ScratchFolder scratch;
  return known[words] = values_of(larmor_program(words, {.folder = scratch.path()}));
}

class Strategies : public ::testing::TestWithParam<Case> {};

TEST_P(Strategies, GiveTheValuesOfCpus) {
  const Case& tried = GetParam();
  const ScratchFolder scratch;
  const EmulatedMachine machine{.cards = std::to_string(std::max(tried.ranks, 2)) + "*H100",
                                .environment = tried.environment};
  const Steps on_gpus = values_of(run_on_gpus(training(tried, "cuda"), scratch.path(), machine));
  ASSERT_EQ(on_gpus.size(), static_cast<size_t>(steps));
  EXPECT_EQ(on_gpus, on_cpu(tried));
}

const std::map<std::string, std::string> late{{"EMULATED_NCCL_DELAY_MS", "20"}};

Words plain(const std::string& strategy, const Words& more = {}) {
  Words words{tiny_batch, "train.micro_batch=2", "plan.probe=false", "parallel.strategy=" + strategy};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Processes on CPUs add up over more than two ranks in the order of Gloo's ring; threads in that of the
// ranks.
const std::map<std::string, std::string> ring{{"EMULATED_NCCL_SUMS", "ring"}};
const std::map<std::string, std::string> late_ring{{"EMULATED_NCCL_SUMS", "ring"},
                                                   {"EMULATED_NCCL_DELAY_MS", "20"}};

/// Two micro-batches of one example a rank.
Words on_four(const std::string& strategy, const Words& more = {}) {
  Words words{"train.global_batch=8", "train.micro_batch=1", "plan.probe=false",
              "parallel.strategy=" + strategy};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const std::string offload = "parallel.offload=optimizer";
const std::string blocks = "train.activation_checkpointing=blocks";
const std::string everything = "train.activation_checkpointing=all";
const std::string average = "optim.ema_decay=0.9";
const std::string compressed = "parallel.compression=bf16";

INSTANTIATE_TEST_SUITE_P(
    Of, Strategies,
    ::testing::Values(
        Case{"single", 1, plain("single")}, Case{"zero1_offload_alone", 1, plain("zero1", {offload})},
        Case{"single_blocks", 1, plain("single", {blocks})},
        Case{"single_everything", 1, plain("single", {everything})},
        Case{"single_average", 1, plain("single", {average})},
        // The probe's steps come first, of few samples and then of all six.
        Case{"single_probed", 1, {"train.global_batch=12", "train.micro_batch=6"}},
        Case{"ddp", 2, plain("ddp")}, Case{"ddp_late", 2, plain("ddp"), late},
        Case{"ddp_blocks", 2, plain("ddp", {blocks})}, Case{"ddp_average", 2, plain("ddp", {average})},
        Case{"ddp_compressed", 2, plain("ddp", {compressed})},
        Case{"ddp_probed", 2, {"train.global_batch=12", "train.micro_batch=6", "parallel.strategy=ddp"}},
        Case{"dp", 2, plain("dp")}, Case{"dp_late", 2, plain("dp"), late},
        Case{"dp_everything", 2, plain("dp", {everything})}, Case{"zero1", 2, plain("zero1")},
        Case{"zero1_offload", 2, plain("zero1", {offload})},
        Case{"zero1_average", 2, plain("zero1", {average})}, Case{"zero2", 2, plain("zero2")},
        Case{"zero2_offload_late", 2, plain("zero2", {offload}), late},
        Case{"zero2_everything", 2, plain("zero2", {everything})},
        Case{"zero2_average_late", 2, plain("zero2", {average}), late}, Case{"zero3", 2, plain("zero3")},
        Case{"zero3_late", 2, plain("zero3"), late}, Case{"zero3_offload", 2, plain("zero3", {offload})},
        Case{"zero3_blocks", 2, plain("zero3", {blocks})},
        Case{"zero3_everything_late", 2, plain("zero3", {everything}), late},
        Case{"zero3_average", 2, plain("zero3", {average})}, Case{"ddp_on_four", 4, on_four("ddp"), ring},
        Case{"dp_on_four", 4, on_four("dp")}, Case{"zero1_on_four", 4, on_four("zero1"), ring},
        Case{"zero2_on_four_late", 4, on_four("zero2"), late_ring},
        Case{"zero3_on_four", 4, on_four("zero3"), ring},
        Case{"zero3_offload_on_four", 4, on_four("zero3", {offload}), ring}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace larmor::testing
