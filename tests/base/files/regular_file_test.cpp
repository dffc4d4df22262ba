#include "larmor/base/files/regular_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/files/file.h"
#include "larmor/base/hash.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class OpenRegular : public ::testing::Test {
 protected:
  fs::path make(const std::string& name, const std::string& content) {
    std::ofstream(scratch_.path() / name) << content;
    return scratch_.path() / name;
  }
  fs::path make_fifo() {
    const fs::path path = scratch_.path() / "fifo";
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    return path;
  }
  fs::path make_socket() {
    const fs::path path = scratch_.path() / "socket";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(static_cast<char*>(address.sun_path), sizeof(address.sun_path) - 1);
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ::close(descriptor);
    return path;
  }
  static Error refusal(const fs::path& path, Exit exit = Exit::data) {
    try {
      open_regular(path, exit);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << path << " was opened";
    return Error(Exit::done, "");
  }

  ScratchFolder scratch_;
};

TEST_F(OpenRegular, ReadsFromAnyPlaceUpToTheEnd) {
  const RegularFile file = open_regular(make("file", "0123456789"));
  EXPECT_EQ(file.size(), 10U);
  std::array<std::byte, 4> part{};
  EXPECT_EQ(file.read_at(3, part), 4U);
  EXPECT_EQ(part[0], std::byte{'3'});
  EXPECT_EQ(file.read_at(8, part), 2U);
  EXPECT_EQ(part[1], std::byte{'9'});
  EXPECT_EQ(file.read_at(10, part), 0U);
}

TEST_F(OpenRegular, RefusesAtOnceWhatIsNoRegularFile) {
  EXPECT_THAT(refusal(make_fifo()).message(), HasSubstr("is a FIFO"));
  EXPECT_THAT(refusal(make_socket()).message(), HasSubstr("is a socket"));
  EXPECT_THAT(refusal("/dev/zero").message(), HasSubstr("is a device"));
  EXPECT_THAT(refusal(scratch_.path()).message(), HasSubstr("is a folder"));
  EXPECT_THAT(refusal(scratch_.path() / "absent").message(), HasSubstr("no such file"));
  EXPECT_THAT(refusal(make("file", "") / "below").message(), HasSubstr("no such file"));
}

TEST_F(OpenRegular, FollowsLinksAndNamesOneThatLeadsNowhere) {
  fs::create_symlink(make("file", "abc"), scratch_.path() / "good");
  EXPECT_EQ(open_regular(scratch_.path() / "good").size(), 3U);
  fs::create_symlink("nowhere", scratch_.path() / "dangling");
  EXPECT_THAT(refusal(scratch_.path() / "dangling").message(), HasSubstr("is a link to a file that is not"));
  fs::create_symlink(make_fifo(), scratch_.path() / "to-fifo");
  EXPECT_THAT(refusal(scratch_.path() / "to-fifo").message(), HasSubstr("is a FIFO"));
}

TEST_F(OpenRegular, GivesTheExitThatItsCallerAsksForAndLeavesThePathToIt) {
  EXPECT_EQ(refusal("/absent").exit(), Exit::data);
  EXPECT_EQ(refusal("/absent", Exit::checkpoint).exit(), Exit::checkpoint);
  EXPECT_THAT(refusal("/absent").message(), Not(HasSubstr("/absent")));
  EXPECT_THAT(refusal("/absent").hint(), Not(HasSubstr("run.folder")));
}

TEST_F(OpenRegular, ReadsTheFileThatItOpenedWhateverTakesItsNameMeanwhile) {
  const fs::path path = make("file", "old");
  const RegularFile file = open_regular(path);
  fs::rename(make("other", "newer"), path);
  std::array<std::byte, 8> part{};
  EXPECT_EQ(file.read_at(0, part), 3U);
  EXPECT_EQ(part[0], std::byte{'o'});
}

// As a file server holds it for its clients.
TEST_F(OpenRegular, WaitsForALeaseToBeGivenUp) {
  const fs::path path = make("file", "abc");
  const auto before = std::signal(SIGIO, SIG_IGN);
  const int holder = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (::fcntl(holder, F_SETLEASE, F_WRLCK) != 0) {
    ::close(holder);
    GTEST_SKIP() << "this file system gives no leases";
  }
  std::jthread giver([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::fcntl(holder, F_SETLEASE, F_UNLCK);
  });
  EXPECT_EQ(open_regular(path).size(), 3U);
  giver.join();
  ::close(holder);
  std::signal(SIGIO, before);
}

// Before open_regular() each of these waited for a writer for ever.
TEST_F(OpenRegular, KeepsTextsAndHashesFromWaitingForAFifo) {
  const fs::path fifo = make_fifo();
  for (const auto& read :
       std::vector<void (*)(const fs::path&)>{[](const fs::path& path) { read_text(path); },
                                              [](const fs::path& path) { sha256_of_file(path); }}) {
    try {
      read(fifo);
      ADD_FAILURE() << "a FIFO was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::environment);
      EXPECT_THAT(error.message(), HasSubstr(fifo.string()));
      EXPECT_THAT(error.message(), HasSubstr("is a FIFO"));
    }
  }
}

}  // namespace
}  // namespace larmor
