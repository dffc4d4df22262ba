#include "larmor/watch/memory_kills.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"

namespace larmor {
namespace {

/// The files of a machine, below a folder.
class MachineFiles {
 public:
  const std::filesystem::path& root() const { return scratch_.path(); }
  void put(const std::string& name, const std::string& content) const {
    const auto file = root() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }

 private:
  ScratchFolder scratch_;
};

TEST(MemoryKills, CountsThoseOfVersionTwoFromItsStartOn) {
  const MachineFiles machine;
  machine.put("proc/self/cgroup", "0::/system.slice/job_7\n");
  const std::string events = "sys/fs/cgroup/system.slice/job_7/memory.events";
  machine.put(events, "low 0\nhigh 4\nmax 9\noom 2\noom_kill 2\noom_group_kill 0\n");
  const MemoryKills kills(machine.root());
  EXPECT_EQ(kills.since_start(), 0);
  machine.put(events, "low 0\nhigh 4\nmax 12\noom 3\noom_kill 5\noom_group_kill 0\n");
  EXPECT_EQ(kills.since_start(), 3);
}

TEST(MemoryKills, CountsThoseOfVersionOne) {
  const MachineFiles machine;
  machine.put("proc/self/cgroup", "9:cpu,cpuacct:/slurm/uid_0\n4:memory:/slurm/uid_0/job_7\n0::/\n");
  const std::string control = "sys/fs/cgroup/memory/slurm/uid_0/job_7/memory.oom_control";
  machine.put(control, "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  const MemoryKills kills(machine.root());
  machine.put(control, "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  EXPECT_EQ(kills.since_start(), 1);
}

TEST(MemoryKills, FindsItsGroupWhereAContainerShowsNothingElse) {
  const MachineFiles machine;
  machine.put("proc/self/cgroup", "0::/../docker/1f\n");
  machine.put("sys/fs/cgroup/memory.events", "oom_kill 1\n");
  const MemoryKills kills(machine.root());
  machine.put("sys/fs/cgroup/memory.events", "oom_kill 2\n");
  EXPECT_EQ(kills.since_start(), 1);
}

TEST(MemoryKills, AreNoneWhereNothingCountsThem) {
  const MachineFiles machine;
  EXPECT_EQ(MemoryKills(machine.root()).since_start(), 0);
  machine.put("proc/self/cgroup", "0::/job\n");
  EXPECT_EQ(MemoryKills(machine.root()).since_start(), 0);
  machine.put("sys/fs/cgroup/job/memory.events", "oom_kill many\n");
  EXPECT_EQ(MemoryKills(machine.root()).since_start(), 0);
}

TEST(MemoryKills, AreNoneWhenTheCounterGoesAway) {
  const MachineFiles machine;
  machine.put("proc/self/cgroup", "0::/job\n");
  machine.put("sys/fs/cgroup/job/memory.events", "oom_kill 4\n");
  const MemoryKills kills(machine.root());
  machine.put("sys/fs/cgroup/job/memory.events", "");
  EXPECT_EQ(kills.since_start(), 0);
}

}  // namespace
}  // namespace larmor
