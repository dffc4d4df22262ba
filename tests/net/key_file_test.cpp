#include "larmor/net/key_file.h"

#include <sys/stat.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class KeyFiles : public ::testing::Test {
 protected:
  fs::path runs() const { return scratch_.path() / "runs"; }
  KeyFile file(const std::string& address = "gpu-1", int port = 29500) const {
    return KeyFile::of_rendezvous(runs(), address, port);
  }
  static mode_t mode_of(const fs::path& path) {
    struct stat status{};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }
  static std::string why_not(const KeyFile& file) {
    try {
      file.read();
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::environment);
      EXPECT_THAT(error.message(), HasSubstr(file.path().string()));
      return error.message();
    }
    return "it was read";
  }
  /// A file as somebody might leave it.
  fs::path left(const std::string& name, const std::string& words, mode_t mode = 0600) const {
    const auto path = scratch_.path() / name;
    std::ofstream(path) << words;
    chmod(path.c_str(), mode);
    return path;
  }

 private:
  ScratchFolder scratch_;
};

const std::string digits(64, '5');

TEST_F(KeyFiles, ShowTheLeadersKeyToThoseWhoWereToldTheSameMaster) {
  const auto key = file().renew();
  EXPECT_EQ(file().read(), key);
  EXPECT_EQ(mode_of(file().path()), 0600U);
  EXPECT_EQ(mode_of(runs() / ".rendezvous"), 0700U);
  EXPECT_EQ(file().path().parent_path(), runs() / ".rendezvous");
  EXPECT_THAT(why_not(file("gpu-1", 29501)), HasSubstr("cannot be read"));
  EXPECT_THAT(why_not(file("gpu-2")), HasSubstr("cannot be read"));
}

TEST_F(KeyFiles, HoldAnotherKeyAtEachStartAndNothingElse) {
  const auto first = file().renew();
  const auto second = file().renew();
  EXPECT_NE(first, second);
  EXPECT_EQ(file().read(), second);
  EXPECT_EQ(std::distance(fs::directory_iterator(runs() / ".rendezvous"), fs::directory_iterator()), 1);
}

TEST_F(KeyFiles, GoWithTheirFolderWhenAllHaveMet) {
  const auto mine = file().renew(), other = file("gpu-2").renew();
  file().remove(other);
  EXPECT_EQ(file().read(), mine) << "a later start's";
  file().remove(mine);
  EXPECT_FALSE(fs::exists(file().path()));
  EXPECT_TRUE(fs::exists(file("gpu-2").path()));
  file("gpu-2").remove(other);
  EXPECT_FALSE(fs::exists(runs() / ".rendezvous"));
  file().remove(mine);
}

TEST_F(KeyFiles, AreOfOneHostWhereTheMasterIsLoopback) {
  // Two hosts that share a folder may both have a 127.0.0.1:29500.
  EXPECT_NE(file("127.0.0.1").path(), KeyFile::of_rendezvous(runs(), "127.0.0.2", 29500).path());
  EXPECT_EQ(file("127.0.0.1").path(), file("127.0.0.1").path());
}

TEST_F(KeyFiles, AreNotMadeWhereOthersMayWrite) {
  fs::create_directories(runs() / ".rendezvous");
  chmod((runs() / ".rendezvous").c_str(), 0770);
  try {
    file().renew();
    FAIL() << "the group could put its own key there";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), AllOf(HasSubstr(".rendezvous"), HasSubstr("alone can write in")));
  }
  fs::remove(runs() / ".rendezvous");
  fs::create_directories(runs() / "elsewhere");
  fs::create_directory_symlink("elsewhere", runs() / ".rendezvous");
  EXPECT_THROW(file().renew(), Error);
  fs::remove(runs() / ".rendezvous");
  std::ofstream(runs() / ".rendezvous") << "a file";
  EXPECT_THROW(file().renew(), Error);
}

TEST_F(KeyFiles, AreNotReadThroughALinkInTheMeetingsFolder) {
  file().renew();
  fs::remove(file().path());
  fs::create_symlink(left("theirs", digits), file().path());
  EXPECT_THAT(why_not(file()), HasSubstr("cannot be read"));
}

TEST_F(KeyFiles, AreReplacedWholeWhateverLiesThere) {
  fs::create_directories(runs() / ".rendezvous");
  chmod((runs() / ".rendezvous").c_str(), 0700);
  const auto theirs = left("theirs", digits);
  fs::create_symlink(theirs, file().path());
  const auto key = file().renew();
  EXPECT_EQ(file().read(), key);
  EXPECT_EQ(read_text(theirs), digits);
}

TEST_F(KeyFiles, AreTakenAsTheyAreWhereSomebodyNamesOne) {
  const auto file = KeyFile::named(left("named", digits + "\n", 0400));
  EXPECT_EQ(file.renew(), *RunKey::from_hex(digits));
  EXPECT_EQ(file.read(), *RunKey::from_hex(digits));
  file.remove(file.read());
  EXPECT_TRUE(fs::exists(file.path()));
  // As Kubernetes mounts a secret.
  fs::create_symlink(file.path(), runs().parent_path() / "link");
  EXPECT_EQ(KeyFile::named(runs().parent_path() / "link").read(), *RunKey::from_hex(digits));
}

TEST_F(KeyFiles, AreRefusedWhereOthersCanReadThemOrTheyHoldNoKey) {
  for (const mode_t mode : {0640U, 0604U, 0620U, 0644U}) {
    EXPECT_THAT(why_not(KeyFile::named(left("open", digits, mode))), HasSubstr("by others than its owner"))
        << mode;
  }
  for (const auto& words : {std::string(), std::string("key"), digits.substr(1), digits + "5",
                            digits + std::string(10000, '\n') + "5", std::string(64, 'x')}) {
    EXPECT_THAT(why_not(KeyFile::named(left("odd", words))), HasSubstr("does not hold a key"))
        << words.size();
  }
  EXPECT_THAT(why_not(KeyFile::named(runs().parent_path() / "absent")), HasSubstr("No such file"));
  EXPECT_THAT(why_not(KeyFile::named(runs().parent_path())), HasSubstr("is no file"));
  const auto fifo = runs().parent_path() / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(why_not(KeyFile::named(fifo)), HasSubstr("is no file"));
}

}  // namespace
}  // namespace larmor
