// Types of base that own something, made where they cannot be.
#include "tests/support/failing_starts.h"

#include <sys/file.h>

#include <string>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/fenced_storage.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/mapped_file.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/process/process.h"

namespace larmor {
namespace {

class FailingStarts : public ::testing::Test {
 protected:
  FailingStarts() { write_text(storage_, file_, "1\n"); }
  ProcessOptions program(const std::string& path) const {
    ProcessOptions options;
    options.program = path;
    options.standard_in = options.standard_out = options.standard_error = 2;
    return options;
  }

  ScratchFolder scratch_;
  DiskStorage storage_;
  const std::filesystem::path file_ = scratch_.path() / "file";
};

TEST_F(FailingStarts, OfProcessesLeaveNothing) {
  testing::expect_nothing_left_without_descriptors([&] { Process::start(program("/bin/true")).wait(); });
  testing::expect_nothing_left([&] { Process::start(program("/absent")); });
  auto elsewhere = program("/bin/true");
  elsewhere.cores = {4000};
  testing::expect_nothing_left([&] { Process::start(elsewhere); });
  auto broken = program("/bin/true");
  broken.standard_error = 4711;
  testing::expect_nothing_left([&] { Process::start(broken); });
}

TEST_F(FailingStarts, OfFilesLeaveNothing) {
  testing::expect_nothing_left_without_descriptors([&] { open_regular(file_); });
  testing::expect_nothing_left_without_descriptors([&] { MappedFile(file_, MappedFile::Use::in_order); });
  testing::expect_nothing_left_without_descriptors([&] { read_fence(file_); });
  for (const std::filesystem::path& path :
       {scratch_.path(), scratch_.path() / "absent", std::filesystem::path("/dev/null")}) {
    testing::expect_nothing_left([&] { open_regular(path); });
    testing::expect_nothing_left([&] { MappedFile(path, MappedFile::Use::in_order); });
  }
}

TEST_F(FailingStarts, OfLocksLeaveNothing) {
  testing::expect_nothing_left_without_descriptors([&] { FileLock(scratch_.path() / "lock"); });
  const FileLock held(file_);
  testing::expect_nothing_left([&] { FileLock{file_}; });
  testing::expect_nothing_left([&] { FileLock{scratch_.path()}; });
}

TEST_F(FailingStarts, OfTextsLeaveNoFile) {
  testing::expect_nothing_left_without_descriptors([&] { write_text(storage_, file_, "2\n"); });
  std::filesystem::create_directory(scratch_.path() / "folder");
  testing::expect_nothing_left([&] { write_text(storage_, scratch_.path() / "folder", "2\n"); });
  int items = 0;
  for ([[maybe_unused]] const auto& item : std::filesystem::directory_iterator(scratch_.path())) ++items;
  EXPECT_EQ(items, 2);
}

}  // namespace
}  // namespace larmor
