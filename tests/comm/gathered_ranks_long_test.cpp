// What the thread of the ranks' store costs when thousands gather: counted in CPU seconds of a process of its
// own.
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/text.h"
#include "larmor/comm/keyed_store.h"
#include "larmor/comm/rank_store.h"
#include "larmor/comm/store_server.h"
#include "larmor/net/socket.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;

/// A store in a child process; how much CPU it took is known when it has ended.
class StoreProcess {
 public:
  explicit StoreProcess(const RunKey& key) {
    Listener listener("127.0.0.1", 0);
    port_ = listener.port();
    int ends[2];
    if (pipe(ends) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      close(ends[1]);
      {
        const StoreServer server(listener.take(), key);
        char byte = 0;
        while (read(ends[0], &byte, 1) > 0) {
        }
      }
      _exit(0);
    }
    close(ends[0]);
    stop_ = ends[1];
  }
  int port() const { return port_; }
  double cpu_seconds() const {
    close(stop_);
    rusage used{};
    int status = 0;
    if (wait4(child_, &status, 0, &used) != child_) return -1;
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
  }

 private:
  int port_ = 0, stop_ = -1;
  pid_t child_ = -1;
};

TEST(GatheredRanks, CostTheStoreLittle) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  for (const int count : {512, 4096}) {
    const auto key = RunKey::draw();
    const StoreProcess process(key);
    std::vector<std::jthread> ranks;
    std::atomic<int> came = 0;
    for (int index = 0; index < count; ++index)
      ranks.emplace_back([&, index] {
        constexpr milliseconds limit(300'000);
        KeyedStore store(StoreLocation{"127.0.0.1", process.port(), key}, limit, "rank");
        Rank rank;
        rank.index = index;
        rank.count = count;
        wait_for_all(store, rank, "group", limit);
        ++came;
      });
    ranks.clear();
    EXPECT_EQ(came, count);
    std::cout << count << " ranks: " << fixed(process.cpu_seconds(), 3) << " s of CPU\n";
  }
}

}  // namespace
}  // namespace larmor
