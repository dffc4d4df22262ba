#include "larmor/data/cache/source_files.h"

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

TEST(OverThreads, CallsForEachOnce) {
  std::vector<int> calls(100);
  over_threads(calls.size(), [&](std::size_t i) { ++calls[i]; });
  EXPECT_THAT(calls, ::testing::Each(1));
  over_threads(0, [](std::size_t) { FAIL(); });
}

}  // namespace
}  // namespace larmor
