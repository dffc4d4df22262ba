#include "larmor/data/cache/source_hashes.h"

#include <sys/stat.h>

#include <chrono>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/hash.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SourceHashesTest : public ::testing::Test {
 protected:
  fs::path file(const std::string& name, const std::string& bytes) {
    fs::create_directories((scratch_.path() / name).parent_path());
    testing::write_file(scratch_.path() / name, bytes);
    return scratch_.path() / name;
  }
  fs::path index() const { return scratch_.path() / "sources"; }
  std::string remembered() const { return fs::exists(index()) ? testing::read_whole(index()) : ""; }

  ScratchFolder scratch_;
  DiskStorage storage_;
};

// A file that was not touched for long is one of the machine's own: the change time cannot be set back.
const fs::path old_file = "/etc/passwd";

TEST_F(SourceHashesTest, AreThoseOfTheContents) {
  SourceHashes hashes(storage_, index());
  EXPECT_EQ(hashes.of(file("a", "one")), sha256("one"));
  EXPECT_EQ(hashes.of(file("a", "two")), sha256("two"));
}

TEST_F(SourceHashesTest, AreRememberedForFilesThatStayAsTheyAre) {
  if (!fs::exists(old_file)) GTEST_SKIP() << "there is no old file on this machine";
  const std::string hash = SourceHashes(storage_, index()).of(old_file);
  ASSERT_THAT(remembered(), HasSubstr(old_file.string()));
  // Told apart from hashing by a wrong hash that nobody could have computed.
  std::string line = remembered();
  const std::string wrong(64, '0');
  line.replace(line.find(hash), 64, wrong);
  line = std::to_string(
             fast_hash(std::string_view(line).substr(line.find(' '), line.size() - line.find(' ') - 1))) +
         line.substr(line.find(' '));
  testing::write_file(index(), line);
  EXPECT_EQ(SourceHashes(storage_, index()).of(old_file), wrong);
  // A line that was changed without its check is not believed.
  line.replace(line.find(wrong), 1, "1");
  testing::write_file(index(), line);
  EXPECT_EQ(SourceHashes(storage_, index()).of(old_file), hash);
}

TEST_F(SourceHashesTest, ForgetAFileOfOtherSizeTimeOrInode) {
  if (!fs::exists(old_file)) GTEST_SKIP() << "there is no old file on this machine";
  SourceHashes(storage_, index()).of(old_file);
  const std::string line = remembered();
  std::string hash = line.substr(line.find(' ') + 1, 64);
  std::string lying = line;
  lying.replace(lying.find(hash), 64, std::string(64, '0'));
  for (int word = 2; word <= 5; ++word) {
    std::string changed = lying;
    std::size_t at = 0;
    for (int i = 0; i < word; ++i) at = changed.find(' ', at) + 1;
    changed[at] = changed[at] == '9' ? '8' : '9';
    const std::string rest = changed.substr(changed.find(' '));
    testing::write_file(index(), std::to_string(fast_hash(rest.substr(0, rest.size() - 1))) + rest);
    EXPECT_EQ(SourceHashes(storage_, index()).of(old_file), hash) << "word " << word;
  }
}

TEST_F(SourceHashesTest, AreNotRememberedOfAFileThatMayStillBeWritten) {
  const fs::path fresh = file("fresh", "one");
  SourceHashes(storage_, index()).of(fresh);
  EXPECT_EQ(remembered(), "");
}

TEST_F(SourceHashesTest, PassOverTornLines) {
  if (!fs::exists(old_file)) GTEST_SKIP() << "there is no old file on this machine";
  const std::string hash = SourceHashes(storage_, index()).of(old_file);
  const std::string line = remembered();
  testing::write_file(index(),
                      line.substr(0, 40) + "\n\n \n\xff\xff\n" + line + line.substr(0, line.size() / 2));
  EXPECT_EQ(SourceHashes(storage_, index()).of(old_file), hash);
}

TEST_F(SourceHashesTest, CoverBothFilesOfAPairAndAllOfAFolder) {
  SourceHashes hashes(storage_, index());
  const fs::path header = file("pair.hdr", "header"), series = file("series/a.dcm", "a").parent_path();
  file("pair.img", "voxels");
  file("series/b.dcm", "b");
  const std::string pair = hashes.of(header), folder = hashes.of(series);
  EXPECT_EQ(hashes.of(scratch_.path() / "pair.img"), pair);
  EXPECT_NE(hashes.of(series.string() + "#1.2"), hashes.of(series.string() + "#1.3"));
  file("pair.img", "VOXELS");
  EXPECT_NE(hashes.of(header), pair);
  file("series/b.dcm", "B");
  const std::string changed = hashes.of(series);
  EXPECT_NE(changed, folder);
  fs::rename(series / "b.dcm", series / "c.dcm");
  EXPECT_NE(hashes.of(series), changed);
}

TEST_F(SourceHashesTest, RefuseWhatCannotBeRead) {
  SourceHashes hashes(storage_, index());
  const auto error = testing::error_of([&] { hashes.of(scratch_.path() / "absent.nii"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("absent.nii"));
}

TEST_F(SourceHashesTest, AreGivenWhereNothingCanBeRemembered) {
  FaultyStorage full(
      [](const FaultyStorage::Operation&) { fail(Exit::environment, "read-only file system"); });
  SourceHashes hashes(full, index());
  EXPECT_EQ(!fs::exists(old_file) || hashes.of(old_file) == sha256_of_file(old_file), true);
  EXPECT_EQ(hashes.of(file("a", "one")), sha256("one"));
}

}  // namespace
}  // namespace larmor
