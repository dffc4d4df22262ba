#include "larmor/base/files/mapped_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

namespace larmor {
namespace {

TEST(MappedFile, HasTheBytesOfTheFile) {
  const ScratchFolder scratch;
  std::ofstream(scratch.path() / "a") << "twelve bytes";
  MappedFile file(scratch.path() / "a", MappedFile::Use::anywhere);
  EXPECT_EQ(file.bytes(), "twelve bytes");
  const MappedFile moved = std::move(file);
  EXPECT_EQ(moved.bytes(), "twelve bytes");
}

TEST(MappedFile, OfAnEmptyFileHasNone) {
  const ScratchFolder scratch;
  std::ofstream(scratch.path() / "a") << "";
  EXPECT_TRUE(MappedFile(scratch.path() / "a", MappedFile::Use::in_order).bytes().empty());
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  const ScratchFolder scratch;
  EXPECT_THROW(MappedFile(scratch.path(), MappedFile::Use::anywhere), Error);
  EXPECT_THROW(MappedFile(scratch.path() / "absent", MappedFile::Use::anywhere), Error);
}

}  // namespace
}  // namespace larmor
