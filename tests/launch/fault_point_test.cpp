#include "larmor/launch/fault_point.h"

#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

/// How a child process ends that does this; it exits with 7 when it gets to the end.
int ending_of(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);  // sanitizers have a handler for it
    work();
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, WUNTRACED);
  if (WIFSTOPPED(status)) {
    const int signal = WSTOPSIG(status);
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 7) << "it goes on once it is continued";
    return signal;
  }
  return WIFSIGNALED(status) ? WTERMSIG(status) : 1000 + WEXITSTATUS(status);
}

FaultPoint point(const char* setting) { return FaultPoint(parse_fault(setting)); }

TEST(Fault, IsReadInAnyOrder) {
  const Fault fault = parse_fault("step=5 rank=1  do=full_disk phase=waiting_for_data generation=2");
  EXPECT_EQ(fault.rank, 1);
  EXPECT_EQ(fault.step, 5);
  EXPECT_EQ(fault.generation, 2);
  EXPECT_EQ(fault.phase, Phase::waiting_for_data);
  EXPECT_EQ(fault.action, Fault::Action::full_disk);
  EXPECT_EQ(parse_fault("rank=any phase=computing do=stop").rank, Fault::any_rank);
  const Fault shortest = parse_fault("rank=0 phase=starting do=hang");
  EXPECT_EQ(shortest.step, 0);
  EXPECT_EQ(shortest.generation, 0);
}

TEST(Fault, ThatIsMalformedIsRefusedWithTheWord) {
  const std::pair<const char*, const char*> cases[] = {
      {"rank=0 phase=saving", "do= is missing"},
      {"phase=saving do=kill", "rank= is missing"},
      {"rank=0 do=kill", "phase= is missing"},
      {"rank=x phase=saving do=kill", "rank=x is not understood"},
      {"rank=-1 phase=saving do=kill", "rank=-1"},
      {"rank=0 phase=dreaming do=kill", "there is no phase dreaming"},
      {"rank=0 phase=saving do=die", "nothing is called die"},
      {"rank=0 phase=saving do=kill when=now", "when=now is not understood"},
      {"rank=0 rank=1 phase=saving do=kill", "rank is there twice"},
      {"kill", "kill is not understood"}};
  for (const auto& [setting, words] : cases) {
    try {
      parse_fault(setting);
      ADD_FAILURE() << setting;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
      EXPECT_THAT(error.message(), HasSubstr(words));
      EXPECT_THAT(error.hint(), HasSubstr("do=kill|segfault"));
    }
  }
}

TEST(FaultPoint, IsMetInItsPhaseFromItsStepOn) {
  const auto meet = [](Phase phase, int64_t step) {
    return ending_of([&] { point("rank=0 phase=saving step=5 do=exit").reach(phase, step); });
  };
  EXPECT_EQ(meet(Phase::saving, 4), 1007);
  EXPECT_EQ(meet(Phase::computing, 5), 1007);
  EXPECT_EQ(meet(Phase::saving, 5), 1001);
  EXPECT_EQ(meet(Phase::saving, 8), 1001);
}

TEST(FaultPoint, EndsOrStopsTheProcessAsItsNameSays) {
  const auto met = [](const char* setting) {
    return ending_of([&] { point(setting).reach(Phase::computing, 0); });
  };
  EXPECT_EQ(met("rank=0 phase=computing do=kill"), SIGKILL);
  EXPECT_EQ(met("rank=0 phase=computing do=segfault"), SIGSEGV);
  EXPECT_EQ(met("rank=0 phase=computing do=stop"), SIGSTOP);
  EXPECT_EQ(met("rank=0 phase=computing do=exit"), 1001);
}

TEST(FaultPoint, KnowsBeforehandWhereItStopsTheProcess) {
  const FaultPoint stop = point("rank=0 phase=saving step=3 do=stop");
  EXPECT_FALSE(stop.stops_at(Phase::saving, 2));
  EXPECT_FALSE(stop.stops_at(Phase::computing, 3));
  EXPECT_TRUE(stop.stops_at(Phase::saving, 3));
  EXPECT_FALSE(point("rank=0 phase=saving do=kill").stops_at(Phase::saving, 3));
  EXPECT_FALSE(FaultPoint().stops_at(Phase::starting, 0));
}

TEST(FaultPoint, ThatHangsStaysForEver) {
  EXPECT_EQ(ending_of([] {
              alarm(1);  // ends the process by its signal
              point("rank=0 phase=computing do=hang").reach(Phase::computing, 0);
            }),
            SIGALRM);
}

TEST(FaultPoint, FillsTheDiskFromItsPhaseOn) {
  const ScratchFolder scratch;
  auto fault = point("rank=0 phase=validating do=full_disk");
  const auto storage = fault.storage();
  const auto early = storage->create(scratch.path() / "early");
  early->write(std::string_view("x"));
  fault.reach(Phase::validating, 0);
  try {
    early->write(std::string_view("y"));
    ADD_FAILURE() << "there was room";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), HasSubstr("No space left"));
  }
  EXPECT_THROW(storage->create(scratch.path() / "late"), Error);
  storage->remove_all(scratch.path() / "early");
}

TEST(FaultPoint, ThatIsSlowPausesEachTime) {
  auto fault = point("rank=0 phase=saving step=2 do=slow");
  SystemClock clock;
  const double before = clock.steady_seconds();
  fault.reach(Phase::saving, 1);
  EXPECT_LT(clock.steady_seconds() - before, 0.25);
  fault.reach(Phase::saving, 2);
  fault.reach(Phase::saving, 3);
  EXPECT_GE(clock.steady_seconds() - before, 0.6);
}

TEST(FaultPoint, BelongsToOneRankOfOneGeneration) {
  setenv("LARMOR_FAULT", "rank=1 phase=computing do=exit generation=2", 1);
  const auto met_by = [](int index, int64_t generation) {
    Rank rank;
    rank.index = index;
    rank.count = 3;
    rank.generation = generation;
    return ending_of([&] { FaultPoint::from_environment(rank).reach(Phase::computing, 0); });
  };
  EXPECT_EQ(met_by(1, 2), 1001);
  EXPECT_EQ(met_by(0, 2), 1007);
  EXPECT_EQ(met_by(1, 1), 1007);
  EXPECT_EQ(met_by(1, 3), 1007);
  unsetenv("LARMOR_FAULT");
  EXPECT_EQ(met_by(1, 2), 1007);
}

}  // namespace
}  // namespace larmor
