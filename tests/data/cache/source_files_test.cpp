#include "larmor/data/cache/source_files.h"

#include <chrono>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/data/index/index.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using testing::CaseFolder;

TEST(StateOfSource, ChangesWithTheContentsAndNotWithTheName) {
  CaseFolder folder;
  std::string large(1 << 20, 'a');
  folder.file("large", large).file("small", "some words").file("copy", "some words");
  const auto state = [&](const char* name) { return state_of_source(folder.path() / name).value(); };
  EXPECT_TRUE(state("copy").has_contents_of(state("small")));
  const FileState small = state("small"), whole = state("large");
  EXPECT_EQ(whole.bytes, large.size());
  folder.file("small", "some wards");
  EXPECT_EQ(state("small").bytes, small.bytes);
  EXPECT_FALSE(state("small").has_contents_of(small));
  for (const std::size_t place : {std::size_t{0}, large.size() / 7 * 3, large.size() - 1}) {
    auto edited = large;
    edited[place] = 'b';
    folder.file("large", edited);
    EXPECT_FALSE(state("large").has_contents_of(whole)) << place;
  }
  EXPECT_FALSE(state_of_source(folder.path() / "absent"));
}

TEST(StateOfSource, KnowsBothHalvesOfAPairAndTheFilesOfAFolder) {
  CaseFolder folder;
  folder.file("a.hdr", "header").file("a.img", "voxels").file("series/1", "one").file("series/2", "two");
  const auto state = [&](const char* name) { return state_of_source(folder.path() / name).value(); };
  const FileState pair = state("a.hdr"), series = state("series");
  EXPECT_EQ(pair.bytes, 12U);
  EXPECT_EQ(series.bytes, 6U);
  folder.file("a.img", "VOXELS").file("series/2", "TWO");
  EXPECT_FALSE(state("a.hdr").has_contents_of(pair));
  EXPECT_FALSE(state("series").has_contents_of(series));
}

TEST(StateOfSource, ComesBackFromTheIndexAndIsNoPartOfItsHash) {
  CaseFolder folder;
  folder.volume("p1/a.nii").volume("p2/a.nii");
  DataConfig config;
  config.folder = folder.path().string();
  Index index = make_index(config, 1);
  const std::string hash = index.sha256();
  index.states = states_of_files(index);
  EXPECT_EQ(index.states.size(), 2U);
  index.touched = {"p1/a.nii"};
  index.bad = {{"p2/a.nii", "is cut short"}};
  const Index back = index_from_json(parse_json(to_text(to_json(index)), "index.json"));
  EXPECT_EQ(back.states, index.states);
  EXPECT_EQ(back.touched, index.touched);
  EXPECT_EQ(back.bad, index.bad);
  EXPECT_EQ(back.sha256(), hash);
}

/// Files of an index without anything else.
Index index_of_files(const CaseFolder& folder, int count) {
  Index index;
  index.folder = folder.path();
  for (int i = 0; i < count; ++i) {
    Case& entry = index.cases.emplace_back();
    entry.files = {{"image", std::to_string(i) + ".png"}};
  }
  return index;
}

/// Whether the edit of one of `count` files is seen, that keeps its size and its time of change or not.
bool is_edit_seen(int count, bool keeps_time) {
  CaseFolder folder;
  for (int i = 0; i < count; ++i) folder.file(std::to_string(i) + ".png", "as it was");
  Index start = index_of_files(folder, count);
  start.states = states_of_files(start);
  const auto place = folder.path() / "3.png";
  const auto time = std::filesystem::last_write_time(place);
  folder.file("3.png", "as it is.");
  std::filesystem::last_write_time(place, time + std::chrono::seconds(keeps_time ? 0 : 1));
  const auto now = states_since(start, start);
  EXPECT_EQ(now.size(), start.states.size());
  EXPECT_EQ(now.at("4.png"), start.states.at("4.png"));
  return !now.at("3.png").has_contents_of(start.states.at("3.png"));
}

TEST(StatesSince, OfFewFilesAreReadAndOfManyWhereTheyLookOtherwise) {
  EXPECT_TRUE(is_edit_seen(10, /*keeps_time=*/true));
  EXPECT_TRUE(is_edit_seen(10, /*keeps_time=*/false));
  EXPECT_TRUE(is_edit_seen(5000, /*keeps_time=*/false));
  EXPECT_FALSE(is_edit_seen(5000, /*keeps_time=*/true)) << "it was read";
}

TEST(StatesSince, OfManyFilesThatWereWrittenAnewHaveTheSameContents) {
  CaseFolder folder;
  const std::string large(1 << 18, 'a');
  for (int i = 0; i < 5000; ++i) folder.file(std::to_string(i) + ".png", i == 7 ? large : "small");
  Index start = index_of_files(folder, 5000);
  start.states = states_of_files(start);
  std::filesystem::last_write_time(folder.path() / "7.png", std::filesystem::file_time_type::clock::now());
  auto again = states_since(start, start);
  EXPECT_TRUE(again.at("7.png").has_contents_of(start.states.at("7.png")));
  std::filesystem::remove(folder.path() / "8.png");
  again = states_since(start, start);
  EXPECT_FALSE(again.contains("8.png"));
}

TEST(OverThreads, CallsForEachOnce) {
  std::vector<int> calls(100);
  over_threads(calls.size(), [&](std::size_t i) { ++calls[i]; });
  EXPECT_THAT(calls, ::testing::Each(1));
  over_threads(0, [](std::size_t) { FAIL(); });
}

}  // namespace
}  // namespace larmor
