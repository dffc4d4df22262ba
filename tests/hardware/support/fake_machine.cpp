#include "tests/hardware/support/fake_machine.h"

#include <algorithm>
#include <fstream>

#include "larmor/base/text.h"

namespace larmor::testing {

FakeMachine::FakeMachine(int cores) {
  sources.root = folder_.path();
  sources.run_folder = folder_.path();
  sources.nvml_library = "libnothing-of-this-name.so";
  sources.environment.emplace();
  sources.affinity.emplace(static_cast<size_t>(cores));
  std::iota(sources.affinity->begin(), sources.affinity->end(), 0);
  sources.topology = text("node:1 core:", cores, " pu:1");

  std::string cpuinfo;
  for (int core = 0; core < cores; ++core) {
    cpuinfo +=
        text("processor\t: ", core, "\nmodel name\t: Invented CPU\nflags\t\t: fpu avx avx2 avx512f\n\n");
  }
  write("proc/cpuinfo", cpuinfo);
  write("proc/meminfo", "MemTotal:       67108864 kB\nMemFree:  1 kB\nMemAvailable:   33554432 kB\n");
  std::filesystem::create_directories(sources.root / "dev/shm");
}

void FakeMachine::write(const std::string& path, std::string_view content) const {
  const std::filesystem::path file = sources.root / path;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << content;
}

void FakeMachine::mount_version_2(const std::string& group) const {
  write("proc/self/mountinfo",
        "22 1 0:20 / /proc rw - proc proc rw\n"
        "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  write("proc/self/cgroup", text("0::", group, "\n"));
}

void FakeMachine::mount_version_1(const std::string& group) const {
  write("proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  write("proc/self/cgroup", text("4:memory:", group, "\n2:cpu,cpuacct:", group, "\n0::/\n"));
}

bool has_note(const Hardware& hardware, std::string_view note) {
  return std::find(hardware.notes.begin(), hardware.notes.end(), note) != hardware.notes.end();
}

}  // namespace larmor::testing
