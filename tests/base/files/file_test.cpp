#include "larmor/base/files/file.h"

#include <sys/file.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"

#include "tests/support/faults/memory_folder.h"
#include "tests/support/faults/system_call_watch.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ReadText, ReadsFilesThatDoNotSayTheirSize) {
  EXPECT_THAT(read_text("/proc/self/status"), HasSubstr("Pid:"));
}

TEST(ReadText, RefusesFilesOverTheLimit) {
  const ScratchFolder scratch;
  std::ofstream(scratch.path() / "file") << std::string(1000, 'x');
  EXPECT_EQ(read_text(scratch.path() / "file", 1000).size(), 1000U);
  EXPECT_THROW(read_text(scratch.path() / "file", 999), Error);
  EXPECT_THROW(read_text("/dev/zero", 100'000), Error);
}

TEST(ReadText, NamesThePathOfWhatCannotBeRead) {
  for (const char* path : {"/absent/file", "/tmp"}) {
    try {
      read_text(path);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::environment);
      EXPECT_THAT(error.message(), HasSubstr(path));
    }
  }
}

TEST(WriteText, LeavesTheOldOrTheNewTextAtEveryFaultAndNothingElse) {
  const std::string old_text = "old", new_text(100'000, 'n');
  int faults = 0;
  for (bool done = false; !done; ++faults) {
    const ScratchFolder scratch;
    const std::filesystem::path path = scratch.path() / "status.json";
    std::ofstream(path) << old_text;
    int seen = 0;
    FaultyStorage storage([&](const FaultyStorage::Operation&) {
      if (seen++ == faults) fail(Exit::environment, "on purpose");
    });
    try {
      write_text(storage, path, new_text);
      done = true;
    } catch (const Error&) {
    }
    const std::string content = read_text(path);
    EXPECT_TRUE(content == new_text || (content == old_text && !done)) << "fault " << faults;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1)
        << "fault " << faults;
  }
  EXPECT_EQ(faults, 7);  // create, write, sync, close, rename, sync_folder, and none
}

TEST(WriteText, LeavesTheOldOrTheNewTextWhenTheProcessIsKilled) {
  for (int killed_at = 0; killed_at < 6; ++killed_at) {
    const ScratchFolder scratch;
    const std::filesystem::path path = scratch.path() / "status.json";
    std::ofstream(path) << "old";
    const pid_t child = ::fork();
    if (child == 0) {
      int seen = 0;
      FaultyStorage storage([&](const FaultyStorage::Operation&) {
        if (seen++ == killed_at) ::raise(SIGKILL);
      });
      write_text(storage, path, "new");
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << killed_at;
    EXPECT_EQ(read_text(path), killed_at < 5 ? "old" : "new");
  }
}

TEST(WriteText, SyncsTheFileBeforeTheRenameAndTheFolderAfterIt) {
  const ScratchFolder scratch;
  FaultyStorage storage({});
  write_text(storage, scratch.path() / "a", "x");
  std::vector<std::string> names;
  for (const auto& operation : storage.operations()) names.push_back(operation.name);
  EXPECT_THAT(names, ::testing::ElementsAre("create", "write", "sync", "close", "rename", "sync_folder"));
}

TEST(WriteText, WritesIntoTheCurrentFolder) {
  const ScratchFolder scratch;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(scratch.path());
  DiskStorage storage;
  write_text(storage, "bare", "x");
  std::filesystem::current_path(before);
  EXPECT_EQ(read_text(scratch.path() / "bare"), "x");
}

TEST(ScratchFolder, IsGoneWithWhatWasInItAtTheEndOfLife) {
  std::filesystem::path path;
  {
    const ScratchFolder scratch;
    path = scratch.path();
    std::ofstream(path / "file") << "x";
    EXPECT_TRUE(std::filesystem::is_directory(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

// The refusal that another process gets, or "" when it gets the lock.
std::string refusal_elsewhere(const std::filesystem::path& path) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string said;
    try {
      const FileLock lock(path);
    } catch (const Error& error) {
      said = error.message();
    }
    const ssize_t written = ::write(ends[1], said.data(), said.size());
    ::_exit(written < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  std::array<char, 1000> buffer;
  const ssize_t count = ::read(ends[0], buffer.data(), buffer.size());
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return {buffer.data(), static_cast<size_t>(count)};
}

TEST(FileLock, RefusesASecondProcessAndNamesTheHolder) {
  const ScratchFolder scratch;
  const std::filesystem::path path = scratch.path() / "lock";
  {
    const FileLock lock(path);
    EXPECT_THAT(refusal_elsewhere(path),
                HasSubstr(text("held by process ", ::getpid(), " on ", host_name())));
  }
  EXPECT_EQ(refusal_elsewhere(path), "");
}

TEST(WriteText, LeavesTheOldTextOrTheNewOneWhicheverCallFails) {
  const testing::MemoryFolder scratch;
  DiskStorage storage;
  const auto file = scratch.path() / "config.yaml";
  std::vector<testing::SystemCall> calls;
  {
    const testing::SystemCallWatch watch(scratch.path(), nullptr);
    write_text(storage, file, "old");
    calls = watch.calls();
  }
  for (const auto& failing : calls) {
    for (const int error : {EIO, ENOSPC, EDQUOT, EROFS, EMFILE, ESTALE}) {
      write_text(storage, file, "old");
      const size_t descriptors = testing::open_descriptors();
      bool refused = false;
      {
        const testing::SystemCallWatch watch(
            scratch.path(), [&](const testing::SystemCall& call) { return call == failing ? error : 0; });
        try {
          write_text(storage, file, "new");
        } catch (const Error& thrown) {
          refused = true;
          EXPECT_EQ(thrown.exit(), Exit::environment);
        }
      }
      const auto text = read_text(file);
      EXPECT_TRUE(text == "new" || (refused && text == "old")) << failing.name << ' ' << failing.path;
      EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
      EXPECT_EQ(testing::open_descriptors(), descriptors);
    }
  }
}

TEST(WriteText, UsesAFileOfItsOwnWhoseNameNobodyCanGuess) {
  const ScratchFolder scratch;
  FaultyStorage storage({});
  for (int i = 0; i < 2; ++i) write_text(storage, scratch.path() / "a", "x");
  std::set<std::string> names;
  for (const auto& operation : storage.operations()) {
    if (operation.name == "create") names.insert(operation.path.filename().string());
  }
  ASSERT_EQ(names.size(), 2U);
  for (const auto& name : names) EXPECT_THAT(name, ::testing::MatchesRegex("\\.a\\.partial-[0-9a-f]{16}"));
}

// A link of somebody else could lead to any file of ours, which the lock would empty.
TEST(FileLock, IsNoLinkAndNoSecondNameOfAnotherFile) {
  const ScratchFolder scratch;
  std::ofstream(scratch.path() / "precious") << "mine";
  std::filesystem::create_symlink("precious", scratch.path() / "link");
  std::filesystem::create_hard_link(scratch.path() / "precious", scratch.path() / "name");
  for (const char* lock : {"link", "name"}) {
    try {
      const FileLock held(scratch.path() / lock);
      ADD_FAILURE() << lock;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::environment);
      EXPECT_THAT(error.message(), HasSubstr((scratch.path() / lock).string()));
    }
  }
  EXPECT_EQ(read_text(scratch.path() / "precious"), "mine");
}

// Who holds it takes the file away before it lets go, as a start does that gives its folder up.
TEST(FileLock, IsOfTheFileThatHasTheName) {
  const ScratchFolder scratch;
  const auto path = scratch.path() / "lock";
  std::atomic<int> holders = 0, most = 0;
  const auto hold_often = [&] {
    for (int i = 0; i < 2000; ++i) {
      try {
        const FileLock lock(path);
        most = std::max<int>(most, ++holders);
        --holders;
        std::filesystem::remove(path);
      } catch (const Error&) {
        continue;  // is held
      }
    }
  };
  std::vector<std::thread> all;
  for (int thread = 0; thread < 4; ++thread) all.emplace_back(hold_often);
  for (auto& thread : all) thread.join();
  EXPECT_EQ(most, 1);
}

TEST(FileLock, RefusesASecondHolderInTheSameProcess) {
  const ScratchFolder scratch;
  std::optional<FileLock> lock(scratch.path() / "lock");
  EXPECT_THROW(FileLock(scratch.path() / "lock"), Error);
  std::optional<FileLock> moved(std::move(*lock));
  lock.reset();
  EXPECT_THROW(FileLock(scratch.path() / "lock"), Error);
  moved.reset();
  EXPECT_NO_THROW(FileLock(scratch.path() / "lock"));
}

TEST(FileLock, ShowsTheNewHolderAndNothingOfALongerOldOne) {
  const ScratchFolder scratch;
  std::ofstream(scratch.path() / "lock") << "process 99999999999 on an old host with a long name\n";
  const FileLock lock(scratch.path() / "lock");
  EXPECT_EQ(read_text(scratch.path() / "lock"), text("process ", ::getpid(), " on ", host_name(), "\n"));
}

// The time between taking the lock and writing one's name is short, and starts of one second meet in it.
TEST(FileLock, WaitsUntilANewHolderHasWrittenItsName) {
  const ScratchFolder scratch;
  const auto path = scratch.path() / "lock";
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(ended, nullptr, 0), ended);
  for (const auto& before : {std::string(), text("process ", ended, " on ", host_name(), "\n")}) {
    std::ofstream(path) << before;
    const Descriptor holder(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::flock(holder.number(), LOCK_EX | LOCK_NB), 0);
    std::thread writer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      std::ofstream(path) << "process 7 on another host\n";
    });
    EXPECT_THAT([&] { FileLock{path}; },
                ThrowsMessage<Error>(HasSubstr("is held by process 7 on another host")))
        << before;
    writer.join();
  }
}

TEST(FileLock, NamesAnotherProcessWhereTheHolderNeverWritesItsName) {
  const ScratchFolder scratch;
  const auto path = scratch.path() / "lock";
  const Descriptor holder(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(holder.number(), LOCK_EX | LOCK_NB), 0);
  EXPECT_THAT([&] { FileLock{path}; }, ThrowsMessage<Error>(HasSubstr("is held by another process")));
}

TEST(FileLock, IsLetGoWhenTheHolderIsKilled) {
  const ScratchFolder scratch;
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock lock(scratch.path() / "lock");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_NO_THROW(FileLock(scratch.path() / "lock"));
}

}  // namespace
}  // namespace larmor
