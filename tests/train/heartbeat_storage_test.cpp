#include "larmor/train/heartbeat_storage.h"

#include <string>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

namespace larmor {
namespace {

class LivingStorageTest : public ::testing::Test {
 protected:
  HeartbeatStorage storage(FaultyStorage::Fault fault = [](const FaultyStorage::Operation&) {}) {
    return {std::make_unique<FaultyStorage>(std::move(fault)), [this] { ++signs_; }};
  }
  std::filesystem::path place(const std::string& name) const { return scratch_.path() / name; }

  int signs_ = 0;

 private:
  ScratchFolder scratch_;
};

TEST_F(LivingStorageTest, DoesWhatTheOneBehindItDoesAndShowsEachStep) {
  auto storage_with_heartbeats = storage();
  storage_with_heartbeats.create_folders(place("new"));
  const auto file = storage_with_heartbeats.create(place("new/file"));
  file->write("some ");
  file->write("words");
  file->sync();
  EXPECT_EQ(signs_, 5);
  file->close();
  storage_with_heartbeats.rename(place("new/file"), place("file"));
  EXPECT_EQ(read_text(place("file")), "some words");
  storage_with_heartbeats.append(place("file"))->write(" more");
  EXPECT_EQ(read_text(place("file")), "some words more");
  storage_with_heartbeats.replace_link(place("link"), "file");
  EXPECT_EQ(read_text(place("link")), "some words more");
  storage_with_heartbeats.sync_folder(place(""));
  EXPECT_GT(storage_with_heartbeats.free_bytes(place("")), 0U);
  storage_with_heartbeats.remove_all(place("new"));
  EXPECT_FALSE(std::filesystem::exists(place("new")));
  EXPECT_EQ(signs_, 12);
}

TEST_F(LivingStorageTest, ShowsEachPieceOfALongWrite) {
  auto storage_with_heartbeats = storage();
  const std::string long_text((size_t{64} << 20) + 7, 'a');
  const auto file = storage_with_heartbeats.create(place("file"));
  signs_ = 0;
  file->write(long_text);
  file->close();
  EXPECT_EQ(signs_, 2);
  EXPECT_TRUE(read_text(place("file")) == long_text);
  const auto empty = storage_with_heartbeats.create(place("empty"));
  empty->write("");
  empty->close();
  EXPECT_EQ(read_text(place("empty")), "");
}

TEST_F(LivingStorageTest, ShowsNothingForWhatFailed) {
  auto storage_with_heartbeats = storage([](const FaultyStorage::Operation& operation) {
    if (operation.name == "write" || operation.name == "here") fail(Exit::environment, "no space left");
  });
  const auto file = storage_with_heartbeats.create(place("file"));
  signs_ = 0;
  EXPECT_THROW(file->write("words"), Error);
  EXPECT_THROW(storage_with_heartbeats.point("here"), Error) << "named places are still places";
  EXPECT_EQ(signs_, 0);
}

}  // namespace
}  // namespace larmor
