// Types of data that own something, made where they cannot be.
#include "tests/support/failing_starts.h"

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/data/cache/shared_folder.h"
#include "larmor/data/table/table_writer.h"

namespace larmor {
namespace {

TEST(FailingStarts, OfSharedFoldersLeaveNothing) {
  const ScratchFolder scratch;
  testing::expect_nothing_left_without_descriptors(
      [&] { SharedFolder(scratch.path() / "user", "0123456789abcdef"); });
  testing::expect_nothing_left([&] { SharedFolder(scratch.path() / "absent" / "user", "0123456789abcdef"); });
}

TEST(FailingStarts, OfTablesLeaveNothing) {
  const ScratchFolder scratch;
  DiskStorage storage;
  const auto file = scratch.path() / "a.table";
  testing::expect_nothing_left_without_descriptors([&] {
    TableWriter writer(storage, file, {{"number", ColumnType::int64}});
    writer.finish();
  });
  testing::expect_nothing_left_without_descriptors([&] { RowTable{file}; });
  std::size_t items = 0;
  for ([[maybe_unused]] const auto& item : std::filesystem::directory_iterator(scratch.path())) ++items;
  EXPECT_EQ(items, 1U) << "the table alone, and nothing beside it";
}

}  // namespace
}  // namespace larmor
