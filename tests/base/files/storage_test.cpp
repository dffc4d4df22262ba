#include "larmor/base/files/storage.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/fenced_storage.h"
#include "larmor/base/files/file.h"

#include "tests/support/faults/memory_folder.h"
#include "tests/support/faults/system_call_watch.h"

namespace larmor {
namespace {

using testing::open_descriptors;
using testing::SystemCall;
using testing::SystemCallWatch;

using ::testing::HasSubstr;

unsigned mode_of(const std::filesystem::path& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 0777U;
}

class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  ~Umask() { ::umask(before_); }
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;

 private:
  mode_t before_;
};

class DiskStorageTest : public ::testing::Test {
 protected:
  std::filesystem::path at(std::string_view name) const { return scratch_.path() / name; }

  ScratchFolder scratch_;
  DiskStorage storage_;
};

TEST_F(DiskStorageTest, MakesFoldersAndFilesForTheirOwnerAloneWhateverTheUmask) {
  for (const mode_t mask : {mode_t{0}, mode_t{0177}}) {
    const Umask umask(mask);
    const std::filesystem::path folder = at(std::to_string(mask)) / "a/b/";
    storage_.create_folders(folder);
    storage_.create(folder / "file")->close();
    EXPECT_EQ(mode_of(folder), 0700U);
    EXPECT_EQ(mode_of(folder.parent_path().parent_path()), 0700U);
    EXPECT_EQ(mode_of(folder / "file"), 0600U);
    EXPECT_NO_THROW(storage_.create_folders(folder));
  }
}

TEST_F(DiskStorageTest, KeepsTheModeOfAFileThatWasThere) {
  std::ofstream(at("shared")) << "old";
  std::filesystem::permissions(at("shared"), std::filesystem::perms(0640));
  storage_.append(at("shared"))->close();
  EXPECT_EQ(mode_of(at("shared")), 0640U);
  EXPECT_EQ(read_text(at("shared")), "old");
}

TEST_F(DiskStorageTest, CreatesWhatIsNotThereAndAppendsToWhatIs) {
  const auto created = storage_.create(at("file"));
  created->write(std::string_view("short"));
  created->sync();
  created->close();
  EXPECT_EQ(read_text(at("file")), "short");
  EXPECT_THROW(storage_.create(at("file")), Error) << "it may be another's";
  for (const auto* name : {"file", "new"}) {
    const auto appended = storage_.append(at(name));
    appended->write(std::string_view(" and more"));
    appended->close();
  }
  EXPECT_EQ(read_text(at("file")), "short and more");
  EXPECT_EQ(read_text(at("new")), " and more");
}

TEST_F(DiskStorageTest, RenamesAndRemovesFoldersWithWhatIsInThem) {
  storage_.create_folders(at("new/inner"));
  storage_.rename(at("new"), at("done"));
  storage_.sync_folder(scratch_.path());
  EXPECT_TRUE(std::filesystem::is_directory(at("done/inner")));
  storage_.remove_all(at("done"));
  EXPECT_FALSE(std::filesystem::exists(at("done")));
  EXPECT_NO_THROW(storage_.remove_all(at("done")));
}

TEST_F(DiskStorageTest, ExchangesTwoFoldersWithWhatIsInThem) {
  storage_.create_folders(at("one/first"));
  storage_.create_folders(at("other/second"));
  storage_.exchange(at("one"), at("other"));
  EXPECT_TRUE(std::filesystem::is_directory(at("one/second")));
  EXPECT_TRUE(std::filesystem::is_directory(at("other/first")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_.path()), {}), 2);
}

TEST_F(DiskStorageTest, ReplacesALinkInOneStep) {
  storage_.replace_link(at("last"), "step-1");
  storage_.replace_link(at("last"), "step-2");
  EXPECT_EQ(std::filesystem::read_symlink(at("last")), "step-2");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_.path()), {}), 1);
}

// Threads have one process number, as processes of two containers may have.
TEST_F(DiskStorageTest, ReplacesALinkForManyAtOnce) {
  constexpr int writers = 4, times = 1500;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&] {
      for (int i = 0; i < times; ++i) {
        try {
          DiskStorage().replace_link(at("last"), "step-1");
        } catch (const Error&) {
          ++failures;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0) << "of " << writers * times;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_.path()), {}), 1);
}

TEST_F(DiskStorageTest, SyncsTheFolderInWhichItHasMadeOne) {
  const SystemCallWatch watch(scratch_.path(), nullptr);
  storage_.create_folders(at("a/b"));
  storage_.create_folders(at("a/b"));
  std::vector<std::string> calls;
  for (const auto& call : watch.calls()) calls.push_back(call.name + " " + call.path);
  EXPECT_THAT(calls, ::testing::ElementsAre("mkdir a", "chmod a", "open .", "fsync .", "close .", "mkdir a/b",
                                            "chmod a/b", "open a", "fsync a", "close a"));
}

TEST_F(DiskStorageTest, WritesThroughNoLink) {
  std::ofstream(at("precious")) << "mine";
  std::filesystem::create_symlink("precious", at("link"));
  std::filesystem::create_symlink("absent", at("dangling"));
  for (const char* name : {"link", "dangling"}) {
    for (const bool append : {false, true}) {
      try {
        append ? storage_.append(at(name)) : storage_.create(at(name));
        ADD_FAILURE() << name;
      } catch (const Error& error) {
        EXPECT_THAT(error.message(), HasSubstr(at(name).string()));
        EXPECT_THAT(error.hint(), HasSubstr("stands where a f"));
      }
    }
  }
  EXPECT_EQ(read_text(at("precious")), "mine");
  EXPECT_FALSE(std::filesystem::exists(at("absent")));
}

// Everything that a start does with its folder, and a save.
void use(DiskStorage& storage, const std::filesystem::path& root) {
  storage.create_folders(root / "a/b");
  write_text(storage, root / "a/config.yaml", "new");
  raise_fence(storage, root / "a/.generation", 3);
  storage.replace_link(root / "latest", "a");
  const auto log = storage.append(root / "a/events.jsonl");
  log->write(std::string_view("line\n"));
  log->sync();
  log->close();
  static_cast<void>(storage.free_bytes(root));
  storage.rename(root / "a/b", root / "a/c");
  storage.sync_folder(root / "a");
  storage.remove_all(root / "a/c");
}

class DisturbedStorage : public ::testing::Test {
 protected:
  std::filesystem::path at(std::string_view name) const { return folder_.path() / name; }

  testing::MemoryFolder folder_;
  DiskStorage storage_;
};

TEST_F(DisturbedStorage, CallsAgainWhatASignalHasInterrupted) {
  std::vector<SystemCall> calls;
  {
    const SystemCallWatch watch(folder_.path(), nullptr);
    use(storage_, folder_.path());
    calls = watch.calls();
  }
  EXPECT_GT(calls.size(), 30U);
  for (const auto& interrupted : calls) {
    storage_.remove_all(at("a"));
    storage_.remove_all(at("latest"));
    const SystemCallWatch watch(folder_.path(), [&](const SystemCall& call) {
      const bool is_early = call.number < interrupted.number + 3 && call.number >= interrupted.number;
      return is_early && call.name == interrupted.name && call.path == interrupted.path ? EINTR : 0;
    });
    EXPECT_NO_THROW(use(storage_, folder_.path())) << interrupted.name << ' ' << interrupted.path;
    EXPECT_EQ(read_text(at("latest/config.yaml")), "new");
    EXPECT_EQ(read_fence(at("a/.generation")), 3);
    EXPECT_EQ(read_text(at("a/events.jsonl")), "line\n");
  }
}

TEST_F(DisturbedStorage, TellsOfEveryErrorAndKeepsNoDescriptor) {
  std::vector<SystemCall> calls;
  {
    const SystemCallWatch watch(folder_.path(), nullptr);
    use(storage_, folder_.path());
    calls = watch.calls();
  }
  for (const int error : {EIO, ENOSPC, EDQUOT, EROFS, EMFILE, ESTALE}) {
    for (const auto& failing : calls) {
      storage_.remove_all(at("a"));
      storage_.remove_all(at("latest"));
      const size_t descriptors = open_descriptors();
      std::string message;
      {
        const SystemCallWatch watch(folder_.path(),
                                    [&](const SystemCall& call) { return call == failing ? error : 0; });
        try {
          use(storage_, folder_.path());
        } catch (const Error& thrown) {
          EXPECT_EQ(thrown.exit(), Exit::environment);
          message = thrown.message();
        }
      }
      EXPECT_EQ(open_descriptors(), descriptors) << failing.name << ' ' << failing.path;
      // Modes are asked for, not required; a folder is closed after everything is done; what was in the way
      // of a link is replaced anyhow; a fence whose old content cannot be read is raised; and a quota that
      // cannot be asked for is none.
      const bool may_pass = failing.name == "chmod" || failing.name == "unlink" ||
                            (failing.name == "close" && std::filesystem::is_directory(at(failing.path))) ||
                            (failing.name == "open" && failing.path == ".") ||
                            failing.path == "a/.generation";
      if (!may_pass) {
        EXPECT_THAT(message, HasSubstr(std::strerror(error))) << failing.name << ' ' << failing.path;
      }
      if (!message.empty()) {
        EXPECT_THAT(message, HasSubstr(folder_.path().string()));
      }
    }
  }
}

TEST_F(DiskStorageTest, KnowsTheFreeSpace) { EXPECT_GT(storage_.free_bytes(scratch_.path()), 0U); }

TEST_F(DiskStorageTest, ThrowsWithThePathForEveryOperationThatCannotBeDone) {
  std::ofstream(at("file")) << "x";
  const std::filesystem::path nowhere = at("absent/file");
  const std::vector<std::function<void()>> attempts = {
      [&] { storage_.create_folders(at("file/folder")); },
      [&] { storage_.create_folders(at("file")); },
      [&] { storage_.create(nowhere); },
      [&] { storage_.append(nowhere); },
      [&] { storage_.append(scratch_.path()); },
      [&] { storage_.stream(nowhere); },
      [&] { storage_.stream(scratch_.path()); },
      [&] { storage_.stream(at("file")); },
      [&] { storage_.create(scratch_.path()); },
      [&] { storage_.rename(nowhere, at("b")); },
      [&] { storage_.exchange(nowhere, at("file")); },
      [&] { storage_.sync_folder(at("absent")); },
      [&] { storage_.sync_folder(at("file")); },
      [&] { storage_.remove_all(at("file/inner")); },
      [&] { storage_.replace_link(nowhere, "a"); },
      [&] { storage_.replace_link(scratch_.path(), "a"); },
      [&] { static_cast<void>(storage_.free_bytes(at("absent"))); },
  };
  for (size_t i = 0; i < attempts.size(); ++i) {
    try {
      attempts[i]();
      ADD_FAILURE() << "attempt " << i << " succeeded";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::environment);
      EXPECT_THAT(error.message(), HasSubstr(scratch_.path().string())) << i;
    }
  }
}

TEST_F(DiskStorageTest, SaysThatTheDiskIsFull) {
  const auto file = storage_.stream("/dev/full");
  try {
    file->write(std::string_view("x"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("/dev/full: No space left on device"));
    EXPECT_EQ(error.hint(), "free space, or write to another place (run.folder=, --output)");
  }
}

TEST_F(DiskStorageTest, ThrowsWhenOnlyPartOfTheBytesFits) {
  // The limit lets the first write end short; the next one is the error.
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{.rlim_cur = 1000, .rlim_max = old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto file = storage_.create(at("cut"));
  EXPECT_THROW(file->write(std::string(5000, 'x')), Error);
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(std::filesystem::file_size(at("cut")), 1000U);
}

TEST_F(DiskStorageTest, WritesEveryByteThoughSignalsCutTheWrites) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  struct sigaction action{}, before{};
  action.sa_handler = [](int) {};  // without SA_RESTART: write() comes back early
  ::sigaction(SIGALRM, &action, &before);
  const std::string content = std::string(300'000, 'a') + std::string(300'000, 'b');
  std::string received;
  std::thread reader([&] {
    sigset_t alarm;
    ::sigemptyset(&alarm);
    ::sigaddset(&alarm, SIGALRM);
    ::pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
    std::ifstream pipe(at("pipe"));
    std::string piece(20'000, '\0');
    while (pipe.read(piece.data(), static_cast<std::streamsize>(piece.size())) || pipe.gcount() > 0) {
      received.append(piece, 0, static_cast<size_t>(pipe.gcount()));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  std::unique_ptr<StorageFile> file;
  while (!file) {
    try {
      file = storage_.stream(at("pipe"));
    } catch (const Error&) {  // the reader is on its way
    }
  }
  const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 200},
                        .it_value = {.tv_sec = 0, .tv_usec = 200}};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  file->write(content);
  file->close();
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  reader.join();
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(received, content);
}

}  // namespace
}  // namespace larmor
