// Which agent starts which rank: this host's ranks are real processes, the other agents are played.
#include "larmor/launch/fleet.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"

#include "tests/launch/support/acting.h"
#include "tests/launch/support/agents.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// "3:1 4:2 of 3" for ranks 3 and 4 in places 1 and 2 of a host's three, "3:1[0 1] of 2" with their cores.
std::string places(const GroupStart& start) {
  std::string words;
  for (const auto& place : start.ranks) {
    words += text(words.empty() ? "" : " ", place.rank, ":", place.local_index);
    if (place.cores.empty()) continue;
    std::vector<std::string> cores;
    for (const int core : place.cores) cores.push_back(text(core));
    words += text("[", join(cores, " "), "]");
  }
  return text(words, " of ", start.local_count);
}

/// A member that plays along: its ranks end as soon as they are started.
class PlayedMember {
 public:
  PlayedMember(Descriptor socket, Ending ending)
      : thread_([this, socket = std::move(socket), ending]() mutable {
          Channel leader = members_end(std::move(socket));
          const auto next = [&] { return leader.receive_within(milliseconds(10'000)); };
          for (Json message = next(); !message.is_null(); message = next()) {
            if (message.contains("over")) over = message.at("over").value("status", -1);
            if (!message.contains("start")) continue;
            starts.push_back(group_start_from_json(message.at("start")));
            for (const auto& place : starts.back().ranks)
              leader.send({{"ended", to_json(RankEnding{.rank = place.rank, .ending = ending})}});
          }
        }) {}
  ~PlayedMember() { join(); }
  /// After the fleet is gone.
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  std::vector<GroupStart> starts;
  int over = -1;

 private:
  std::thread thread_;
};

/// Agents on hosts of these names, in ranks' places where `local_index` says so, the first of them here.
class Fleets : public ::testing::Test {
 protected:
  void add(const std::string& host, int local_index = -1, Json hardware = nullptr, Ending ending = {},
           const std::string& machine = "") {
    Hello hello = hello_of(static_cast<int>(played_.size()) + 1, 99);
    hello.host = host;
    hello.machine = machine;
    hello.local_index = local_index;
    hello.hardware = std::move(hardware);
    auto [here, there] = connect_ends();
    members_.push_back(
        {hello, std::make_unique<RemoteHost>(leaders_end(std::move(here)), host, milliseconds(60'000))});
    played_.push_back(std::make_unique<PlayedMember>(std::move(there), ending));
  }
  void make(int own_local_index = -1, const std::string& machine = "", Json hardware = nullptr) {
    Hello own = hello_of(0, static_cast<int>(members_.size()) + 1);
    own.local_index = own_local_index;
    own.machine = machine;
    own.hardware = std::move(hardware);
    AgentPlace place;
    place.master_address = master;
    fleet_.emplace(place, std::move(own), std::move(members_));
  }
  static Plan plan(int ranks, int hosts) {
    Plan plan = plan_for(ranks);
    plan.hosts = hosts;
    return plan;
  }
  static Plan gpu_plan(int ranks, int hosts) {
    Plan on_gpus = plan(ranks, hosts);
    on_gpus.device = DeviceKind::cuda;
    return on_gpus;
  }
  static Json gpu(const char* uuid) {
    return {{"cores", Json::array()}, {"gpus", Json::array({Json{{"uuid", uuid}}})}};
  }
  /// Ranks of this host say how they were started.
  GroupEnding run(const Plan& plan, const std::string& script =
                                        "echo $LARMOR_LOCAL_RANK of "
                                        "$LARMOR_LOCAL_WORLD_SIZE") {
    LaunchOptions options;
    options.program = "/bin/sh";
    options.arguments = {"-c", script};
    options.log_folder = logs();
    options.console = false;
    options.generation = 4;
    // As where another launcher keeps the store; nobody here uses it.
    options.master_address = master;
    options.master_port = 29500;
    return fleet_->run(plan, options);
  }
  std::filesystem::path logs() const { return scratch_.path() / "logs"; }
  std::string log_of(int rank) const { return read_text(logs() / text("rank-", rank, ".log")); }
  Fleet& fleet() { return *fleet_; }
  /// What the agent was told, after which the fleet is gone.
  std::vector<std::string> told(size_t member) {
    fleet_.reset();
    played_.at(member)->join();
    std::vector<std::string> words;
    for (const auto& start : played_[member]->starts) words.push_back(places(start));
    return words;
  }
  PlayedMember& played(size_t member) { return *played_.at(member); }

 private:
  static constexpr const char* master = "192.0.2.1";
  ScratchFolder scratch_;
  std::vector<Member> members_;
  std::vector<std::unique_ptr<PlayedMember>> played_;
  std::optional<Fleet> fleet_;  // its end is what the played members wait for
};

TEST_F(Fleets, GiveEachHostItsShareOfTheRanks) {
  add("node-b");
  add("node-c");
  make();
  EXPECT_EQ(run(plan(6, 3)).exit, Exit::done);
  EXPECT_EQ(log_of(0), "0 of 2\n");
  EXPECT_EQ(log_of(1), "1 of 2\n");
  EXPECT_THAT(told(0), ElementsAre("2:0 3:1 of 2"));
  EXPECT_THAT(told(1), ElementsAre("4:0 5:1 of 2"));
}

TEST_F(Fleets, LeaveTheLastHostTheRest) {
  add("node-b");
  make();
  EXPECT_EQ(run(plan(5, 2)).exit, Exit::done);
  EXPECT_EQ(log_of(2), "2 of 3\n");
  EXPECT_THAT(told(0), ElementsAre("3:0 4:1 of 2"));
}

TEST_F(Fleets, StartNothingOnAHostThatIsNotNeeded) {
  add("node-b");
  add("node-c");
  make();
  EXPECT_EQ(run(plan(2, 2)).exit, Exit::done);
  EXPECT_THAT(told(0), ElementsAre("1:0 of 1"));
  EXPECT_THAT(told(1), IsEmpty());
}

TEST_F(Fleets, CountPlacesOfOneHostAcrossTheAgentsThatShareIt) {
  add(host_name(), 1);
  add("node-b", 0);
  add("node-b", 1);
  make(/*own_local_index=*/0);
  EXPECT_EQ(run(plan(4, 2)).exit, Exit::done);
  EXPECT_EQ(log_of(0), "0 of 2\n");
  EXPECT_THAT(told(0), ElementsAre("1:1 of 2"));
  EXPECT_THAT(told(1), ElementsAre("2:0 of 2"));
  EXPECT_THAT(told(2), ElementsAre("3:1 of 2"));
}

TEST_F(Fleets, TakeAgentsOfOursForHostsWhateverTheseAreCalled) {
  add(host_name());
  make();
  EXPECT_EQ(run(plan(2, 2)).exit, Exit::done);
  EXPECT_EQ(log_of(0), "0 of 1\n");
  EXPECT_THAT(told(0), ElementsAre("1:0 of 1"));
}

TEST_F(Fleets, CountTheRanksOfAMachineAcrossAgentsOfOursInItsNamespaces) {
  add("left", -1, nullptr, {}, "one boot");
  add("right", -1, nullptr, {}, "another boot");
  make(-1, "one boot");
  EXPECT_EQ(run(plan(6, 2)).exit, Exit::done);
  EXPECT_EQ(log_of(1), "1 of 4\n");
  EXPECT_THAT(told(0), ElementsAre("2:2 3:3 of 4"));
  EXPECT_THAT(told(1), ElementsAre("4:0 5:1 of 2"));
}

TEST_F(Fleets, RefuseMoreRanksThanTheHostHasGpusInThePlan) {
  add("node-b", 0);
  add("node-b", 1);
  make(/*own_local_index=*/0);
  Plan uneven = plan(3, 3);
  uneven.device = DeviceKind::cuda;
  EXPECT_THROW(run(uneven), Error);
}

TEST_F(Fleets, CountDevicesApartWhereAgentsOfOneMachineSeeOtherGpus) {
  add("left", -1, gpu("GPU-2"), {}, "one boot");
  make(-1, "one boot", gpu("GPU-1"));
  EXPECT_EQ(run(gpu_plan(2, 2)).exit, Exit::done);
  EXPECT_EQ(log_of(0), "0 of 1\n");
  EXPECT_THAT(told(0), ElementsAre("1:0 of 1"));
}

TEST_F(Fleets, CountDevicesOnceWhereAgentsOfOneMachineSeeTheSameGpus) {
  add("left", -1, gpu("GPU-1"), {}, "one boot");
  make(-1, "one boot", gpu("GPU-1"));
  EXPECT_EQ(run(gpu_plan(2, 1)).exit, Exit::done);
  EXPECT_EQ(log_of(0), "0 of 2\n");
  EXPECT_THAT(told(0), ElementsAre("1:1 of 2"));
}

// As in containers to which another launcher gives a rank and a GPU each.
TEST_F(Fleets, CountDevicesApartWhereEachOfTwoAgentsIsTheFirstRankOfOneHost) {
  add(host_name(), 0);
  make(/*own_local_index=*/0);
  EXPECT_EQ(run(gpu_plan(2, 2)).exit, Exit::done);
  EXPECT_EQ(log_of(0), "0 of 1\n");
  EXPECT_THAT(told(0), ElementsAre("1:0 of 1"));
}

TEST_F(Fleets, CountRanksOnCpusOfOneHostWhateverTheirLaunchersCallThem) {
  add(host_name(), 0, gpu("GPU-2"));
  make(/*own_local_index=*/0, "", gpu("GPU-1"));
  EXPECT_EQ(run(plan(2, 1)).exit, Exit::done);
  EXPECT_EQ(log_of(0), "0 of 2\n");
  EXPECT_THAT(told(0), ElementsAre("1:1 of 2"));
}

TEST_F(Fleets, BindRanksToCoresThatTheirHostHas) {
  add("same", -1, {{"cores", {0, 1, 2, 3}}});
  add("other", -1, {{"cores", {64, 65}}});
  make();
  Plan bound = plan(6, 3);
  for (size_t rank = 0; rank < 6; ++rank) bound.ranks[rank].cores = {rank % 2 == 0 ? 0 : 1};
  EXPECT_EQ(run(bound).exit, Exit::done);
  EXPECT_THAT(told(0), ElementsAre("2:0[0] 3:1[1] of 2"));
  EXPECT_THAT(told(1), ElementsAre("4:0 5:1 of 2")) << "these cores are none of its";
}

TEST_F(Fleets, StartOneProcessWhereRanksAreThreads) {
  make();
  Plan threads = plan(3, 1);
  threads.strategy = Strategy::dp;
  EXPECT_EQ(run(threads, "echo $LARMOR_RANK of $LARMOR_WORLD_SIZE, $LARMOR_LOCAL_WORLD_SIZE here").exit,
            Exit::done);
  EXPECT_EQ(log_of(0), "0 of 3, 3 here\n");
  EXPECT_FALSE(std::filesystem::exists(logs() / "rank-1.log"));
  EXPECT_THAT(read_text(logs() / "launcher.log"),
              ::testing::AllOf(
                  HasSubstr(text("ranks 0 to 2 of 3 start on ", host_name(), " as threads of one process")),
                  HasSubstr("the process of ranks 0 to 2 is done")));
}

TEST_F(Fleets, BindAProcessToTheCoresOfAllItsThreads) {
  make();
  Plan threads = plan(2, 1);
  threads.strategy = Strategy::dp;
  threads.ranks[0].cores = threads.ranks[1].cores = {0};
  EXPECT_EQ(run(threads, "taskset -cp $$ | sed 's/.*: //'").exit, Exit::done);
  EXPECT_EQ(log_of(0), "0\n");
  if (std::thread::hardware_concurrency() < 2) return;
  threads.ranks[0].cores = {1};
  EXPECT_EQ(run(threads, "true").exit, Exit::done);
  EXPECT_THAT(read_text(logs() / "launcher.log"), HasSubstr("as threads of one process, cores 0 1\n"));
}

TEST_F(Fleets, StartAgainAndSayWhichStartItIs) {
  add("node-b");
  make();
  EXPECT_EQ(run(plan(2, 2)).exit, Exit::done);
  EXPECT_EQ(run(plan(2, 2)).exit, Exit::done);
  fleet().dismiss(0, "");
  EXPECT_THAT(told(0), ElementsAre("1:0 of 1", "1:0 of 1"));
  EXPECT_EQ(played(0).starts[1].generation, 4);
  EXPECT_EQ(played(0).starts[1].log_folder, "") << "each agent says itself where its logs are";
  EXPECT_EQ(played(0).over, 0);
  EXPECT_THAT(read_text(logs() / "launcher.log"), HasSubstr("rank 1 of 2 starts on node-b"));
}

TEST_F(Fleets, NameTheRankOfAnotherHostThatFailed) {
  add("node-b", -1, nullptr, {.status = 0, .signal = 9});
  make();
  const GroupEnding ending = run(plan(2, 2), "sleep 600");
  EXPECT_EQ(ending.first_rank, 1);
  EXPECT_EQ(ending.message, "rank 1 was killed by SIGKILL while starting");
}

TEST_F(Fleets, LeaveOutAHostThatIsLost) {
  add("node-b");
  add("node-c");
  make();
  EXPECT_THAT(fleet().agents(), SizeIs(3));
  EXPECT_EQ(run(plan(3, 3)).exit, Exit::done);
  fleet().dismiss(3, "over");
}

TEST_F(Fleets, AreThisHostAloneByThemselves) {
  make();
  EXPECT_THAT(fleet().agents(), SizeIs(1));
  EXPECT_EQ(fleet().agents()[0].host, host_name());
  EXPECT_EQ(fleet().signal_within(0), 0);
  EXPECT_EQ(run(plan(2, 1), "exit 3").exit, Exit::data);
}

}  // namespace
}  // namespace larmor
