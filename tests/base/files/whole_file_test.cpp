#include "larmor/base/files/whole_file.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/program_start.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

unsigned mode_at(const fs::path& path) {
  struct stat status{};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777U;
}

class WholeFiles : public ::testing::Test {
 protected:
  fs::path at(std::string_view name) const { return scratch_.path() / name; }
  void put(std::string_view name, std::string_view content) const { std::ofstream(at(name)) << content; }
  /// Names in the folder, in order.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& item : fs::directory_iterator(scratch_.path())) all.push_back(item.path().filename());
    std::ranges::sort(all);
    return all;
  }
  /// What the output is refused with.
  Error refusal(const fs::path& path) {
    try {
      write_output(storage_, path, "new");
    } catch (const Error& error) {
      return error;
    }
    return {Exit::done, "it was written"};
  }

  ScratchFolder scratch_;
  DiskStorage storage_;
};

TEST_F(WholeFiles, StandUnderTheirNameFromTheirCloseOn) {
  put("file", "old");
  const auto file = create_whole(storage_, at("file"));
  file->write(std::string_view("n"));
  file->sync();
  file->write(std::string_view("ew"));
  EXPECT_EQ(read_text(at("file")), "old");
  EXPECT_EQ(names().size(), 2U);
  file->close();
  EXPECT_EQ(read_text(at("file")), "new");
  EXPECT_THAT(names(), ElementsAre("file"));
}

TEST_F(WholeFiles, LeaveNothingWithoutTheirClose) {
  put("file", "old");
  create_whole(storage_, at("file"))->write(std::string_view("half"));
  try {
    const auto file = open_output(storage_, at("file"));
    file->write(std::string_view("half"));
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
  }
  EXPECT_EQ(read_text(at("file")), "old");
  EXPECT_THAT(names(), ElementsAre("file"));
}

TEST_F(WholeFiles, AreSyncedBeforeTheyAreRenamedWhoeverForgetsIt) {
  for (const bool syncs : {false, true}) {
    FaultyStorage storage({});
    const auto file = create_whole(storage, at("file"));
    file->write(std::string_view("x"));
    if (syncs) file->sync();
    file->close();
    std::vector<std::string> calls;
    for (const auto& operation : storage.operations()) calls.push_back(operation.name);
    EXPECT_THAT(calls, ElementsAre("create", "write", "sync", "close", "rename", "sync_folder"));
  }
}

TEST_F(WholeFiles, SayWhichFileIsNotWritten) {
  for (const auto* failing : {"create", "write", "sync", "close", "rename"}) {
    FaultyStorage storage([&](const FaultyStorage::Operation& operation) {
      if (operation.name == failing) fail(Exit::environment, "on purpose");
    });
    try {
      write_output(storage, at("file"), "new");
      ADD_FAILURE() << failing;
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), text(at("file").string(), " is not written: on purpose"));
    }
  }
  EXPECT_TRUE(names().empty());
}

TEST_F(WholeFiles, ReplaceALinkOfARunFolderAndNotWhatItLeadsTo) {
  put("precious", "mine");
  fs::create_symlink("precious", at("file"));
  write_text(storage_, at("file"), "new");
  EXPECT_EQ(read_text(at("precious")), "mine");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(at("file"))));
}

TEST_F(WholeFiles, MayHaveTheLongestName) {
  const std::string name(255, 'n');
  write_text(storage_, at(name), "new");
  EXPECT_THAT(names(), ElementsAre(name));
}

class Outputs : public WholeFiles {};

TEST_F(Outputs, KeepTheModeOfTheFileThatTheyReplace) {
  write_output(storage_, at("file"), "old");
  EXPECT_EQ(mode_at(at("file")), 0600U);
  for (const unsigned mode : {0640U, 0644U, 0664U, 0755U}) {
    fs::permissions(at("file"), static_cast<fs::perms>(mode));
    write_output(storage_, at("file"), "new");
    EXPECT_EQ(mode_at(at("file")), mode);
  }
}

TEST_F(Outputs, LeaveAFileThatMayNotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write every file";
  put("file", "old");
  fs::permissions(at("file"), fs::perms::owner_read);
  EXPECT_EQ(refusal(at("file")).exit(), Exit::environment);
  EXPECT_EQ(read_text(at("file")), "old");
}

TEST_F(Outputs, GoToWhereALinkOfTheUsersLeads) {
  fs::create_directory(at("elsewhere"));
  put("elsewhere/there", "old");
  fs::create_symlink("elsewhere/there", at("relative"));
  fs::create_symlink(at("elsewhere/there"), at("absolute"));
  fs::create_symlink("relative", at("chain"));
  fs::create_symlink("elsewhere/absent", at("dangling"));
  const std::map<std::string, std::string> target{
      {"relative", "there"}, {"absolute", "there"}, {"chain", "there"}, {"dangling", "absent"}};
  for (const auto& [link, name] : target) {
    write_output(storage_, at(link), "by " + link);
    EXPECT_EQ(read_text(at("elsewhere") / name), "by " + link);
    EXPECT_TRUE(fs::is_symlink(at(link))) << link;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(at("elsewhere")), {}), 2);
}

TEST_F(Outputs, SayThatLinksLeadNowhere) {
  fs::create_symlink("b", at("a"));
  fs::create_symlink("a", at("b"));
  fs::create_symlink("nowhere/file", at("lost"));
  EXPECT_THAT(refusal(at("a")).message(), AllOf(HasSubstr(at("a").string()), HasSubstr("symbolic links")));
  EXPECT_THAT(refusal(at("lost")).message(), HasSubstr("nowhere/file"));
  EXPECT_EQ(refusal(at("a")).exit(), Exit::environment);
}

TEST_F(Outputs, FollowNoLinkOfAnotherUserInAFolderOfAll) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a link of another user's";
  constexpr uid_t another = 4242;
  put("precious", "mine");
  fs::create_directory(at("of_all"));
  fs::permissions(at("of_all"), fs::perms::all | fs::perms::sticky_bit);
  fs::create_symlink(at("precious"), at("of_all/link"));
  ASSERT_EQ(::lchown(at("of_all/link").c_str(), another, another), 0);
  ASSERT_EQ(::mkfifo(at("of_all/pipe").c_str(), 0666), 0);
  ASSERT_EQ(::chown(at("of_all/pipe").c_str(), another, another), 0);
  const Descriptor reader(::open(at("of_all/pipe").c_str(), O_RDONLY | O_NONBLOCK));
  for (const auto* name : {"of_all/link", "of_all/pipe"}) {
    const auto refused = refusal(at(name));
    EXPECT_EQ(refused.exit(), Exit::environment);
    EXPECT_THAT(refused.message(), HasSubstr("belongs to another user"));
  }
  EXPECT_EQ(read_text(at("precious")), "mine");
}

TEST_F(Outputs, AreNoFoldersAndNoSockets) {
  const auto socket_at = at("socket");
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(socket_at.string().size(), sizeof(address.sun_path));
  std::ranges::copy(socket_at.string(), address.sun_path);
  ASSERT_EQ(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const std::map<fs::path, std::string> kinds{{scratch_.path(), "is a folder"},
                                              {scratch_.path() / "", "is no name of a file"},
                                              {"", "is no name of a file"},
                                              {socket_at, "is a socket"}};
  for (const auto& [path, words] : kinds) {
    EXPECT_EQ(refusal(path).exit(), Exit::usage) << path;
    EXPECT_THAT(refusal(path).message(), HasSubstr(words));
    EXPECT_FALSE(refusal(path).hint().empty());
  }
}

TEST_F(Outputs, DoNotWaitForAReader) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal(at("pipe")).exit(), Exit::environment);
  EXPECT_THAT(refusal(at("pipe")).message(), HasSubstr("a FIFO that nobody reads"));
  EXPECT_THROW(storage_.append(at("pipe")), Error) << "a log neither";
  EXPECT_THROW(storage_.create(at("pipe")), Error);
}

TEST_F(Outputs, FlowIntoAFifoThatIsRead) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", at("link"));
  for (const auto* name : {"pipe", "link"}) {
    Descriptor reader(::open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK));
    const std::string content(1'000'000, 'x');  // more than a pipe holds
    std::string read;
    std::thread writer([&] { write_output(storage_, at(name), content); });
    std::array<char, 4096> block{};
    while (read.size() < content.size()) {
      const auto count = ::read(reader.number(), block.data(), block.size());
      if (count > 0) read.append(block.data(), static_cast<size_t>(count));
    }
    writer.join();
    EXPECT_EQ(read, content);
    EXPECT_TRUE(fs::is_fifo(at("pipe")));
  }
  EXPECT_THAT(names(), ElementsAre("link", "pipe"));
}

TEST_F(Outputs, FlowIntoDevices) {
  EXPECT_NO_THROW(write_output(storage_, "/dev/null", "new"));
  EXPECT_THAT(refusal("/dev/full").message(), HasSubstr("No space left on device"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(Outputs, FlowIntoWhatAShellHandsOverWithoutAName) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Descriptor reader(ends[0]), writer(ends[1]);
  write_output(storage_, text("/dev/fd/", writer.number()), "new");
  std::array<char, 4> block{};
  EXPECT_EQ(::read(reader.number(), block.data(), block.size()), 3);
  EXPECT_EQ(std::string(block.data()), "new");
}

TEST_F(Outputs, ReplaceAFileThatIsHandedOverUnlessItHasNoName) {
  put("file", "old");
  const Descriptor file(::open(at("file").c_str(), O_WRONLY));
  const fs::path handed = text("/proc/self/fd/", file.number());
  write_output(storage_, handed, "new");
  EXPECT_EQ(read_text(at("file")), "new");
  fs::remove(at("file"));
  const auto refused = refusal(handed);
  EXPECT_EQ(refused.exit(), Exit::usage);
  EXPECT_THAT(refused.message(), HasSubstr("a file without a name"));
  EXPECT_TRUE(names().empty());
}

// What open_output() does in a process whose stdout is `out`.
int status_with_stdout(int out, const fs::path& output) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(out, STDOUT_FILENO);
    DiskStorage storage;
    int status = 0;
    try {
      open_output(storage, output);
    } catch (const Error& error) {
      status = static_cast<int>(error.exit());
    }
    ::_exit(status);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WEXITSTATUS(status);
}

TEST_F(Outputs, AreNotTheProgramsOwnStdout) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Descriptor reader(ends[0]), pipe(ends[1]);
  const Descriptor file(::open(at("file").c_str(), O_WRONLY | O_CREAT, 0600));
  const Descriptor nothing(::open("/dev/null", O_WRONLY));
  EXPECT_EQ(status_with_stdout(pipe.number(), "/dev/stdout"), static_cast<int>(Exit::usage));
  EXPECT_EQ(status_with_stdout(file.number(), "/dev/stdout"), static_cast<int>(Exit::usage));
  EXPECT_EQ(status_with_stdout(file.number(), at("file")), static_cast<int>(Exit::usage));
  EXPECT_EQ(status_with_stdout(nothing.number(), "/dev/null"), 0);
}

TEST_F(Outputs, ThatOutgrowTheLimitOfAFilesSizeLeaveTheOldFile) {
  put("file", "old");
  const pid_t child = ::fork();
  if (child == 0) {
    begin_program();
    const rlimit small{.rlim_cur = 1000, .rlim_max = 1000};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto refused = [&] {
      try {
        write_output(storage_, at("file"), std::string(2000, 'n'));
      } catch (const Error& error) {
        return error.exit() == Exit::environment && error.hint().find("ulimit -f") != std::string::npos;
      }
      return false;
    };
    ::_exit(refused() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_text(at("file")), "old");
  EXPECT_THAT(names(), ElementsAre("file"));
}

TEST_F(Outputs, OfManyWritersAtOnceAreEachWhole) {
  constexpr int writers = 4, times = 50;
  const std::string content(100'000, 'x');
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      DiskStorage storage;
      for (int i = 0; i < times; ++i)
        write_output(storage, at("file"), content + static_cast<char>('0' + writer));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(read_text(at("file")).size(), content.size() + 1);
  EXPECT_THAT(names(), ElementsAre("file"));
}

}  // namespace
}  // namespace larmor
