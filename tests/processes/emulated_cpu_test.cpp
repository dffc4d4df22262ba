// The program on CPUs that are not here, emulated by qemu: it plans each stage and trains on them, with the
// losses of the real one, and what it cannot do it says.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/every_stage.h"
#include "tests/processes/support/program_run.h"
#include "tests/support/rounding.h"

namespace larmor::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

constexpr const char* emulator = "/usr/bin/qemu-x86_64";
/// With AVX2 and FMA, and without AVX-512: by two makers, since libraries choose by maker, too.
constexpr std::array<const char*, 2> with_avx2{"Haswell", "EPYC-Rome"};
constexpr const char *without_avx = "Nehalem", *without_sse41 = "core2duo";

class EmulatedCpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(emulator))
      GTEST_SKIP() << "no qemu-x86_64: install qemu-user, as script/setup --test does";
  }

  /// As if nobody had limited the real CPU. The spin is said, because a program that starts itself again
  /// would no longer be emulated.
  static Environment unlimited(Environment more = {}) {
    more.insert({{"ONEDNN_MAX_CPU_ISA", "DEFAULT"}, {"OMP_NUM_THREADS", "2"}, {"GOMP_SPINCOUNT", "1000"}});
    return more;
  }
  void start_on(std::list<Running>& running, const std::string& cpu, const Words& words) const {
    Words whole{"-cpu", cpu, std::getenv("LARMOR_PROGRAM")};
    whole.insert(whole.end(), words.begin(), words.end());
    running.emplace_back(
        whole,
        ProgramOptions{.folder = scratch_.path(),
                       .environment = unlimited({{"LD_PRELOAD", EMULATED_START}, {"EMULATED_CPU", cpu}}),
                       .program = emulator});
  }
  Finished call(const Words& words, const Environment& limits = {}) const {
    Environment environment = limits;
    environment.merge(unlimited());
    return larmor_program(words, {.folder = scratch_.path(), .environment = environment});
  }
  /// On each of `cpus` at once.
  template <class Cpus>
  std::vector<Finished> call_on(const Cpus& cpus, const Words& words) const {
    std::list<Running> running;
    for (const char* const cpu : cpus) start_on(running, cpu, words);
    std::vector<Finished> ends;
    for (Running& one : running) ends.push_back(one.wait());
    return ends;
  }
  std::filesystem::path folder() const { return scratch_.path(); }
  std::filesystem::path run(const std::string& name) const { return scratch_.path() / "runs" / name; }

 private:
  ScratchFolder scratch_;
};

TEST_F(EmulatedCpu, IsPlannedForInFp32AtEachStage) {
  const auto stages = words_of_every_stage(folder());
  ASSERT_EQ(stages.size(), 9U);
  // Two stages at once, each on a CPU of its own: an emulated start takes as long as twenty others.
  for (size_t first = 0; first < stages.size(); first += with_avx2.size()) {
    std::list<Running> running;
    for (size_t i = first; i < std::min(first + with_avx2.size(), stages.size()); ++i) {
      Words words = stages[i];
      words.insert(words.begin(), "plan");
      words.insert(words.end(), {"train.precision=auto", "--json"});
      start_on(running, with_avx2[i - first], words);
    }
    for (Running& one : running) {
      const Finished end = one.wait();
      ASSERT_EQ(end.status, 0) << end.err;
      EXPECT_EQ(end.json().at("precision"), "fp32") << end.out;
      EXPECT_THAT(end.json().at("reasons").get<Words>(), Contains(HasSubstr("does not compute in bf16")))
          << end.out;
    }
  }
}

TEST_F(EmulatedCpu, IsJudgedByDoctor) {
  const auto ends = call_on(std::array{"Haswell", "EPYC-Rome", without_avx}, {"doctor", "--json"});
  for (const Finished& end : ends) {
    ASSERT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(end.json().at("hardware").at("computes_bf16"), false);
  }
  EXPECT_EQ(ends.front().json().at("hardware").at("cpu_kernels"), "AVX2");
  EXPECT_EQ(ends.back().json().at("hardware").at("cpu_kernels"), "DEFAULT");
  const auto said = call_on(std::array{without_avx}, {"doctor"}).front();
  EXPECT_THAT(said.out, HasSubstr("kernels for any CPU, several times as slow as with AVX2"));
}

TEST_F(EmulatedCpu, IsRefusedWhereLibtorchCannotConvolve) {
  for (const Words& words : {Words{"list"}, Words{"train", "survival", "-c", "tiny"}}) {
    const auto end = call_on(std::array{without_sse41}, words).front();
    EXPECT_EQ(end.status, 4) << end.err;
    EXPECT_THAT(end.err, HasSubstr("this CPU lacks SSE4.1, without which libtorch cannot convolve"));
  }
}

/// A loss after the other.
std::vector<double> losses_of(const std::filesystem::path& run) {
  std::vector<double> losses;
  for (const Json& step : events_of(run, "step"))
    losses.push_back(step.at("values").at("train/loss").get<double>());
  return losses;
}

/// The farthest of `losses` from those in float64, as a part of them.
double farthest(const std::vector<double>& losses, const std::vector<double>& exact) {
  EXPECT_EQ(losses.size(), exact.size());
  double most = 0;
  for (size_t i = 0; i < std::min(losses.size(), exact.size()); ++i)
    most = std::max(most, std::abs(losses[i] / exact[i] - 1));
  return most;
}

// Rounding differs from CPU to CPU, and a network makes more of it or less. How much is seen on the real CPU:
// it trains in float64 and, with the vectors of several CPUs and either layout, in float32; what is farthest
// from float64 tells how far float32 may be from it. An emulated CPU is one more draw of the same kind, and
// has three bits of room.
class EmulatedTraining : public EmulatedCpu {
 protected:
  void expect_losses_of_the_real_cpu(const Words& words, const Words& cpus) {
    trained(words, "exact", {"train.precision=fp64"});
    const auto exact = losses_of(run("exact"));
    ASSERT_EQ(exact.size(), 2U);
    double most = 0;
    for (const char* const isa : {"DEFAULT", "AVX2", "SSE41"}) {
      for (const char* const layout : {"contiguous", "channels_last"}) {
        const std::string name = std::string(isa) + layout;
        Environment limits{{"ONEDNN_MAX_CPU_ISA", isa}};
        if (isa != std::string("DEFAULT")) limits.emplace("ATEN_CPU_CAPABILITY", "default");
        trained(words, name, {std::string("train.layout=") + layout}, limits);
        most = std::max(most, farthest(losses_of(run(name)), exact));
      }
    }
    EXPECT_GT(most, 0);
    EXPECT_LT(most, 1e-3) << "float32 is worth nothing here";
    std::list<Running> running;
    for (const std::string& cpu : cpus)
      start_on(running, cpu, train_words(words, cpu, {"train.precision=auto"}));
    for (const std::string& cpu : cpus) {
      const auto end = running.front().wait();
      running.pop_front();
      ASSERT_EQ(end.status, 0) << end.err;
      EXPECT_LE(farthest(losses_of(run(cpu)), exact), rounding_room * most) << cpu;
      EXPECT_EQ(read_json(run(cpu) / "plan.json").at("precision"), "fp32");
    }
  }

 private:
  static Words train_words(const Words& words, const std::string& name, const Words& more) {
    Words whole{"train"};
    whole.insert(whole.end(), words.begin(), words.end());
    whole.insert(whole.end(),
                 {"-c", "tiny", "--ranks", "1", "--steps", "2", "run.seed=1", "run.name=" + name});
    whole.insert(whole.end(), more.begin(), more.end());
    return whole;
  }
  void trained(const Words& words, const std::string& name, const Words& more,
               const Environment& limits = {}) const {
    const auto end = call(train_words(words, name, more), limits);
    ASSERT_EQ(end.status, 0) << end.err;
  }
};

TEST_F(EmulatedTraining, OfSurvivalHasTheLossesOfTheRealCpu) {
  expect_losses_of_the_real_cpu({"survival"}, {"Haswell", "EPYC-Rome", without_avx});
}

TEST_F(EmulatedTraining, OfTheAutoencoderHasTheLossesOfTheRealCpu) {
  expect_losses_of_the_real_cpu({"latent_diffusion", "--stage", "autoencoder"}, {"Haswell", "EPYC-Rome"});
}

}  // namespace
}  // namespace larmor::testing
