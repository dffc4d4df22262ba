// Ranks on emulated cards that another launcher has started, and agents of two hosts: the same values as
// where one agent starts all.
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/gpu_emulation/support/emulated_program.h"
#include "tests/processes/support/network_hosts.h"

namespace larmor::testing {
namespace {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

Words training(const std::string& run, const Words& more = {}) {
  Words words{"train",
              "survival",
              "-c",
              "tiny",
              "--device",
              "cuda",
              "--steps",
              "4",
              "--no-color",
              "train.precision=fp64",
              "run.deterministic=true",
              "plan.probe=false",
              "parallel.strategy=zero2",
              "run.name=" + run};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class LaunchersOfCards : public ::testing::Test {
 protected:
  std::filesystem::path folder() const { return scratch_.path(); }
  std::filesystem::path run(const std::string& name) const { return folder() / "runs" / name; }

  static Variables joined(Variables variables, const Variables& more) {
    variables.insert(more.begin(), more.end());
    return variables;
  }
  /// What torchrun tells a rank. The port is one that no other test has.
  static Variables of_torchrun(int rank, int local_rank, int local_size, const std::string& address,
                               int port) {
    return {{"RANK", text(rank)},
            {"WORLD_SIZE", "2"},
            {"LOCAL_RANK", text(local_rank)},
            {"LOCAL_WORLD_SIZE", text(local_size)},
            {"MASTER_ADDR", address},
            {"MASTER_PORT", text(port)},
            {"OMP_NUM_THREADS", "1"},
            {"LARMOR_START_LIMIT", "60s"}};
  }

  void expect_both_end_well(Running& first, Running& second) const {
    const auto end = first.wait(), other = second.wait();
    EXPECT_EQ(end.status, 0) << end.out << end.err;
    EXPECT_EQ(other.status, 0) << other.out << other.err;
  }
  void expect_values_of_our_launcher(const std::string& name) const {
    const auto own = run_on_gpus(training("own", {"--ranks", "2"}), folder());
    ASSERT_EQ(own.status, 0) << own.err;
    const auto expected = training_values(run("own"));
    ASSERT_EQ(expected.size(), 4U);
    EXPECT_EQ(training_values(run(name)), expected);
    EXPECT_EQ(read_json_plan(name).at("device"), "cuda");
  }
  Json read_json_plan(const std::string& name) const {
    return parse_json(read_text(run(name) / "plan.json"), "plan.json");
  }

 private:
  ScratchFolder scratch_;
};

TEST_F(LaunchersOfCards, ATorchrunOfTwoRanksTrainsAsOurOwnDoes) {
  const auto start = [&](int rank) {
    return start_on_gpus(training("adopted"), folder(),
                         {.environment = of_torchrun(rank, rank, 2, "127.0.0.1", 29511)});
  };
  auto first = start(0), second = start(1);
  expect_both_end_well(first, second);
  expect_values_of_our_launcher("adopted");
}

// As srun's --gpus-per-task=1 does.
TEST_F(LaunchersOfCards, TasksThatSeeOneCardEachTrainOnIt) {
  const auto start = [&](int rank) {
    return start_on_gpus(training("bound"), folder(),
                         {.environment = joined(of_torchrun(rank, rank, 2, "127.0.0.1", 29512),
                                                {{"CUDA_VISIBLE_DEVICES", text(rank)}})});
  };
  auto first = start(0), second = start(1);
  expect_both_end_well(first, second);
  expect_values_of_our_launcher("bound");
}

class HostsOfCards : public LaunchersOfCards {
 protected:
  void SetUp() override {
    if (const auto reason = NetworkHosts::obstacle(); !reason.empty()) GTEST_SKIP() << reason;
    hosts_.emplace();
  }
  /// Both are of one machine, as two containers are: each sees another of its cards.
  Running start(int host, Words words, const Variables& variables) const {
    words.insert(words.begin(), {on_emulated_gpus(), "2*H100", "--", "larmor"});
    const Variables own = joined(variables, {{"CUDA_VISIBLE_DEVICES", text(host)}});
    return hosts_->start(host, words, {.folder = folder(), .environment = own});
  }

  std::optional<NetworkHosts> hosts_;
};

TEST_F(HostsOfCards, OfACardEachTrainAsTwoCardsOfOne) {
  const auto agent = [&](int host) {
    return start(host,
                 training("hosts", {"--ranks", "2", "--nnodes", "2", "--node-rank", text(host),
                                    "--master-addr", NetworkHosts::addresses[0], "--master-port", "29513"}),
                 {{"LARMOR_START_LIMIT", "60s"}});
  };
  auto first = agent(0), second = agent(1);
  expect_both_end_well(first, second);
  expect_values_of_our_launcher("hosts");
}

TEST_F(HostsOfCards, UnderTorchrunDoTheSame) {
  const auto rank = [&](int host) {
    return start(host, training("adopted"), of_torchrun(host, 0, 1, NetworkHosts::addresses[0], 29514));
  };
  auto first = rank(0), second = rank(1);
  expect_both_end_well(first, second);
  expect_values_of_our_launcher("adopted");
}

}  // namespace
}  // namespace larmor::testing
