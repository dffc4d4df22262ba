#include "larmor/base/files/fenced_storage.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

class Fence : public ::testing::Test {
 protected:
  std::filesystem::path fence() const { return scratch_.path() / ".generation"; }
  void raise_to(int64_t generation) { raise_fence(disk_, fence(), generation); }
  FencedStorage storage_of(int64_t generation) const {
    return {std::make_unique<DiskStorage>(), fence(), generation};
  }

  ScratchFolder scratch_;
  DiskStorage disk_;
};

/// The error's exit status; done where there was none.
Exit outcome_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.exit();
  }
  return Exit::done;
}

TEST_F(Fence, IsOpenWhereThereIsNone) {
  auto storage = storage_of(0);
  write_text(storage, scratch_.path() / "file", "content");
  EXPECT_EQ(read_text(scratch_.path() / "file"), "content");
  EXPECT_EQ(read_fence(fence()), std::nullopt);
}

TEST_F(Fence, LetsItsOwnGenerationAndLaterOnesThrough) {
  raise_to(3);
  EXPECT_EQ(read_fence(fence()), 3);
  for (const int64_t generation : {3, 4}) {
    auto storage = storage_of(generation);
    write_text(storage, scratch_.path() / "file", "content");
  }
}

TEST_F(Fence, TellsAnEarlierGenerationWhereTheRunIs) {
  raise_to(4);
  try {
    storage_of(3).remove_all(scratch_.path() / "file");
    FAIL() << "it got through";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::rank_lost);
    EXPECT_EQ(error.message(),
              "this rank belongs to generation 3 of the run, which is at 4 by now: it writes nothing");
  }
}

TEST_F(Fence, StopsEveryOperationThatChangesSomething) {
  const auto folder = scratch_.path() / "folder";
  disk_.create_folders(folder);
  write_text(disk_, folder / "file", "content");
  auto storage = storage_of(0);
  raise_to(1);
  const std::vector<std::function<void()>> operations{
      [&] { storage.create_folders(folder / "new"); },
      [&] { storage.create(folder / "file"); },
      [&] { storage.append(folder / "file"); },
      [&] { storage.stream("/dev/null"); },
      [&] { storage.rename(folder / "file", folder / "other"); },
      [&] { storage.sync_folder(folder); },
      [&] { storage.remove_all(folder / "file"); },
      [&] { storage.replace_link(folder / "last", "file"); },
      [&] { static_cast<void>(storage.free_bytes(folder)); }};
  for (size_t i = 0; i < operations.size(); ++i) EXPECT_EQ(outcome_of(operations[i]), Exit::rank_lost) << i;
  size_t items = 0;
  for ([[maybe_unused]] const auto& item : std::filesystem::directory_iterator(folder)) ++items;
  EXPECT_EQ(items, 1U);
  EXPECT_EQ(read_text(folder / "file"), "content");
}

TEST_F(Fence, StopsFilesThatWereOpenedBeforeItWasRaised) {
  auto storage = storage_of(0);
  const auto file = storage.append(scratch_.path() / "log");
  file->write(std::string_view("before"));
  raise_to(1);
  EXPECT_EQ(outcome_of([&] { file->write(std::string_view("after")); }), Exit::rank_lost);
  EXPECT_EQ(outcome_of([&] { file->sync(); }), Exit::rank_lost);
  EXPECT_EQ(outcome_of([&] { file->close(); }), Exit::done);
  EXPECT_EQ(read_text(scratch_.path() / "log"), "before");
}

TEST_F(Fence, IsNeverLowered) {
  raise_to(5);
  EXPECT_EQ(outcome_of([&] { raise_to(4); }), Exit::rank_lost);
  raise_to(5);
  EXPECT_EQ(read_fence(fence()), 5);
}

TEST_F(Fence, ThatIsDamagedKeepsEverybodyOutUntilTheNextStart) {
  for (const char* content : {"", "four", "-1", "3 4", "99999999999999999999999999999999"}) {
    write_text(disk_, fence(), content);
    auto storage = storage_of(3);
    EXPECT_EQ(outcome_of([&] { storage.create_folders(scratch_.path() / "new"); }), Exit::environment)
        << content;
    raise_to(3);
    EXPECT_EQ(outcome_of([&] { storage.create_folders(scratch_.path() / "new"); }), Exit::done) << content;
    disk_.remove_all(scratch_.path() / "new");
  }
}

TEST_F(Fence, PassesItsOperationsOn) {
  auto inner = std::make_unique<FaultyStorage>([](const FaultyStorage::Operation&) {});
  const auto& recorded = inner->operations();
  FencedStorage storage(std::move(inner), fence(), 0);
  storage.point("a point");
  const auto folder = scratch_.path() / "folder";
  storage.create_folders(folder);
  const auto file = storage.create(folder / "file");
  file->write(std::string_view("x"));
  file->sync();
  file->close();
  storage.sync_folder(folder);
  storage.replace_link(folder / "last", "file");
  storage.rename(folder / "file", folder / "other");
  storage.append(folder / "other")->close();
  storage.stream("/dev/null")->close();
  static_cast<void>(storage.free_bytes(folder));
  storage.remove_all(folder);
  std::string names;
  for (const auto& operation : recorded) names += operation.name + " ";
  EXPECT_THAT(names,
              HasSubstr("a point create_folders create write sync close sync_folder link rename append close "
                        "stream close free_bytes remove_all"));
}

}  // namespace
}  // namespace larmor
