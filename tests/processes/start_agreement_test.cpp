// Ranks that somebody started with different files beside each other.
#include <netinet/in.h>
#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/files/storage.h"
#include "larmor/base/text.h"

#include "tests/processes/support/small_training.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A port of loopback that nobody listens on.
int free_port() {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(descriptor, any, length), 0);
  EXPECT_EQ(getsockname(descriptor, any, &length), 0);
  close(descriptor);
  return ntohs(address.sin_port);
}

class StartAgreement : public ::testing::Test {
 protected:
  fs::path run(const std::string& name) const { return scratch_.path() / "runs" / name; }

  /// A run of two ranks, and a copy of it in which `from` has become `to` in that file.
  void make_runs(const std::string& file, const std::string& from, const std::string& to) {
    auto words = small_training("one", 2);
    words.insert(words.end(), {"--steps", "1"});
    ASSERT_EQ(larmor_program(words, {.folder = scratch_.path()}).status, 0);
    using fs::copy_options;
    fs::copy(run("one"), run("other"), copy_options::recursive | copy_options::copy_symlinks);
    auto content = read_text(run("other") / file);
    const auto place = content.find(from);
    ASSERT_NE(place, std::string::npos) << content;
    content.replace(place, from.size(), to);
    DiskStorage disk;
    write_text(disk, run("other") / file, content);
  }

  Running rank(int index, const std::string& name, int port) const {
    ProgramOptions options{.folder = scratch_.path()};
    options.environment = {{"LARMOR_RANK", text(index)},       {"LARMOR_WORLD_SIZE", "2"},
                           {"LARMOR_LOCAL_RANK", text(index)}, {"LARMOR_LOCAL_WORLD_SIZE", "2"},
                           {"LARMOR_GENERATION", "0"},         {"LARMOR_MASTER_ADDR", "127.0.0.1"},
                           {"LARMOR_MASTER_PORT", text(port)}, {"OMP_NUM_THREADS", "1"}};
    return Running({"train", run(name).string(), "--resume", (run("one") / "checkpoints" / "last").string()},
                   options);
  }

  void expect_both_say(const std::string& words) {
    const int port = free_port();
    Running first = rank(0, "one", port), second = rank(1, "other", port);
    for (auto* one : {&first, &second}) {
      const auto end = one->wait();
      EXPECT_EQ(end.status, 2) << end.err;
      EXPECT_THAT(end.err, HasSubstr(text("rank 1 on ", host_name(), words)));
    }
  }

  ScratchFolder scratch_;
};

TEST_F(StartAgreement, NamesTheKeyOfAConfigThatDiffers) {
  make_runs("config.yaml", "ema_decay: 0.9", "ema_decay: 0.5");
  expect_both_say(" has config.optim.");
}

TEST_F(StartAgreement, NamesTheKeyOfAPlanThatDiffers) {
  make_runs("plan.json", "\"bucket_bytes\": ", "\"bucket_bytes\": 1");
  expect_both_say(" has plan.bucket_bytes 1");
}

}  // namespace
}  // namespace larmor::testing
