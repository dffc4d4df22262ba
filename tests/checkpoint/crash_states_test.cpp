// What a power cut may leave of a save: a quick part of crash_states_long_test.cpp, and proofs that the model
// finds what is wrong.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/support/crash_mutation.h"

namespace larmor::testing {
namespace {

using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;
using Kind = Recorded::Kind;

// A few operations of one file in a new folder.
class SmallRecord {
 public:
  SmallRecord& add(Kind kind, std::string path, std::string other = {}) {
    Recorded operation{.kind = kind, .path = std::move(path)};
    (kind == Kind::write ? operation.bytes : operation.target) = std::move(other);
    operation.file = 0;
    recording_.push_back(std::move(operation));
    return *this;
  }
  // What may be found at the end: "path" of a folder, "path=content" of a file, joined by spaces.
  std::set<std::string> states() const {
    std::set<std::string> states;
    const CrashSearch search{.subsets = 4096, .torn = 4096, .first_operation = recording_.size()};
    visit_crash_states({}, -1, recording_, search, [&](const CrashState& state) {
      std::string words;
      for (const auto& [path, item] : state.tree) {
        words += (words.empty() ? "" : " ") + path;
        if (item.kind == FileItem::Kind::file) words += "=" + item.content;
      }
      states.insert(words);
      return true;
    });
    return states;
  }

 private:
  Recording recording_;
};

TEST(CrashModel, LosesOrTearsWhatWasNotSynced) {
  SmallRecord record;
  record.add(Kind::create, "a").add(Kind::write, "a", "xy");
  const std::string zero(1, '\0');
  EXPECT_THAT(record.states(),
              IsSupersetOf({std::string(), std::string("a="), std::string("a=x"), std::string("a=xy"),
                            "a=x" + zero, "a=" + zero + zero, "a=" + zero + "y", std::string("a=x\xaa")}));
}

TEST(CrashModel, KeepsBytesAndEntriesApart) {
  SmallRecord file, folder;
  file.add(Kind::create, "a").add(Kind::write, "a", "x").add(Kind::sync, "a");
  EXPECT_THAT(file.states(), UnorderedElementsAre("", "a=x"));
  folder.add(Kind::create, "a").add(Kind::write, "a", "x").add(Kind::sync_folder, ".");
  EXPECT_THAT(folder.states(), IsSupersetOf({"a=", "a=x"}));
  EXPECT_FALSE(folder.states().contains(""));
  file.add(Kind::sync_folder, ".");
  EXPECT_THAT(file.states(), UnorderedElementsAre("a=x"));
}

TEST(CrashModel, RenamesAsOneChangeThatMayBeLostOnItsOwn) {
  SmallRecord record;
  record.add(Kind::make_folder, "f.tmp").add(Kind::sync_folder, ".");
  record.add(Kind::make_folder, "g").add(Kind::rename, "f.tmp", "f");
  EXPECT_THAT(record.states(), UnorderedElementsAre("f.tmp", "f", "f.tmp g", "f g"));
}

TEST(CrashModel, LosesNothingBetweenTheTwoFoldersOfARename) {
  SmallRecord record;
  record.add(Kind::make_folder, "a").add(Kind::make_folder, "b").add(Kind::make_folder, "a/x");
  record.add(Kind::sync_folder, "a").add(Kind::sync_folder, ".").add(Kind::rename, "a/x", "b/x");
  EXPECT_THAT(record.states(), UnorderedElementsAre("a a/x b", "a b b/x"));
  record.add(Kind::sync_folder, "a");
  EXPECT_THAT(record.states(), UnorderedElementsAre("a b b/x"));
}

TEST(CrashModel, RemovesAFolderInAnyOrder) {
  SmallRecord record;
  record.add(Kind::make_folder, "f").add(Kind::create, "f/a").add(Kind::create, "f/b");
  record.add(Kind::sync_folder, "f").add(Kind::sync_folder, ".").add(Kind::remove_all, "f");
  EXPECT_THAT(record.states(), UnorderedElementsAre("", "f", "f f/a=", "f f/b=", "f f/a= f/b="));
}

// The process is killed between the rename and the sync of the parent; the next one goes on.
Scenario save_after_kill_in_the_commit() {
  const auto whole = saves_of_one_rank().recording;
  const auto rename = std::ranges::find_if(whole, [](const auto& operation) {
    return operation.kind == Kind::rename && operation.target == "run/checkpoints/step-00000004";
  });
  return save_after_kill(static_cast<size_t>(rename - whole.begin()) + 1);
}

class Scenarios : public ::testing::Test {
 protected:
  static std::vector<std::pair<std::string, Scenario>> all() {
    return {{"one rank", saves_of_one_rank()},
            {"two ranks", saves_of_two_ranks()},
            {"keeping one", saves_keeping_one()},
            {"first saves", first_saves()},
            {"over an unrated one", saves_over_an_unrated_one()},
            {"over damage", saves_over_damage()},
            {"killed in the commit", save_after_kill_in_the_commit()}};
  }
};

TEST_F(Scenarios, LeaveInTheModelWhatTheDiskHolds) {
  for (const auto& [name, scenario] : all()) {
    ASSERT_GT(scenario.recording.size(), 20U) << name;
    CrashModel model(scenario.before);
    for (const auto& operation : scenario.recording) model.apply(operation, [] {});
    EXPECT_EQ(model.cached(), scenario.after) << name;
  }
}

TEST_F(Scenarios, LoseNothingAnnounced) {
  for (const auto& [name, scenario] : all()) {
    const auto findings = search_states(scenario, {.subsets = 3, .torn = 1});
    EXPECT_GT(findings.states, 30U) << name;
    for (const auto& words : findings.first) ADD_FAILURE() << name << ", " << words;
  }
}

TEST(CrashMutation, OfEveryKindIsFound) {
  const auto mutations = crash_mutations();
  EXPECT_GE(std::ranges::count(mutations, Loss::commit, &CrashMutation::expected), 8);
  for (const auto& [name, scenario, first, expected] : mutations) {
    const auto findings =
        search_states(scenario, {.subsets = 16, .torn = 2, .first_operation = first}, /*enough=*/1);
    const size_t found = expected == Loss::commit ? findings.lost : findings.names;
    EXPECT_EQ(found, 1U) << name << ": nothing among " << findings.states << " states";
  }
}

}  // namespace
}  // namespace larmor::testing
