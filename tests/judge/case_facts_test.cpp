#include "larmor/judge/case_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"

#include "tests/support/cases.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

/// Cases of an index, as volumes of its one split are.
class Volumes final : public Dataset {
 public:
  explicit Volumes(const Index& index) : index_(index) {}
  int64_t size() const override { return std::ssize(index_.cases); }
  Sample get(const ExampleKey&) const override { return {}; }
  std::string name(int64_t example) const override { return at(example).name(); }
  std::string patient(int64_t example) const override { return at(example).patient; }

 private:
  const Case& at(int64_t example) const { return index_.cases.at(static_cast<std::size_t>(example)); }
  const Index& index_;
};

class CaseFacts : public ::testing::Test {
 protected:
  CaseFacts() {
    index_.folder = scratch_.path() / "images";
    index_.cases = {{.files = {{"image", "a/1.nii"}, {"label", "a/1_seg.nii"}}, .patient = "ann"},
                    {.files = {{"image", "a/2.nii"}}, .patient = "ann"},
                    {.files = {{"image", "b/1.nii"}}, .patient = "bob"}};
  }
  std::filesystem::path put(const std::string& name, const std::string& content) {
    const auto path = scratch_.path() / name;
    storage_->create_folders(path.parent_path());
    write_text(*storage_, path, content);
    return path;
  }
  CaseColumns facts_in(const std::filesystem::path& table) {
    return facts_of_table(table, data_, index_, Volumes(index_));
  }

  const ScratchFolder scratch_;
  const std::unique_ptr<Storage> storage_ = make_storage();
  DataConfig data_;
  Index index_;
};

TEST_F(CaseFacts, AreToldByTheFilesOfTheList) {
  const auto facts =
      facts_in(put("list.csv", "Path of scan,visit\nimages/a/2.nii,2\nimages/a/1.nii,1\nimages/c.nii,7\n"));
  EXPECT_THAT(column_named(facts, "visit")->words, ElementsAre(Pair(0, "1"), Pair(1, "2")));
}

TEST_F(CaseFacts, AreToldByPatientsForAllTheirCases) {
  const auto facts = facts_in(put("people.tsv", "who\tsex\nann\tf\nbob\tm\n"));
  EXPECT_THAT(column_named(facts, "sex")->words, ElementsAre(Pair(0, "f"), Pair(1, "f"), Pair(2, "m")));
}

// A patient's id in every row would give both visits to both scans.
TEST_F(CaseFacts, AreToldByFilesBeforePatients) {
  const auto facts =
      facts_in(put("images/list.csv", "patient,image,visit\nann,a/1.nii,1\nann,a/2.nii,2\nbob,b/1.nii,1\n"));
  EXPECT_THAT(column_named(facts, "visit")->words, ElementsAre(Pair(0, "1"), Pair(1, "2"), Pair(2, "1")));
  EXPECT_EQ(column_named(facts, "visit")->fault, "");
}

TEST_F(CaseFacts, OfTwoRowsThatDisagreeAreAFaultOfThatColumnAlone) {
  const auto facts = facts_in(put("people.csv", "who,sex,age\nann,f,40\nann,f,41\nbob,m,50\n"));
  EXPECT_EQ(column_named(facts, "sex")->fault, "");
  EXPECT_EQ(column_named(facts, "age")->fault,
            "line 2 and line 3 of people.csv say 40 and 41 of the same case");
}

TEST_F(CaseFacts, AreToldByTheKeysOfADataList) {
  data_.list = put("list.json", R"({"name": "heads", "training": [
      {"image": ["images/a/1.nii", "images/a/1_t2.nii"], "label": 1, "age": 63, "sex": "f"},
      {"image": "images/a/2.nii", "age": null, "sex": "f", "is_follow_up": true}],
      "test": ["images/a/2.nii", {"image": "images/b/1.nii", "age": 71.5, "box": {"x": 1}}]})")
                   .string();
  const auto facts = known_facts({}, data_, index_, Volumes(index_), {});
  EXPECT_THAT(column_named(facts, "age")->words, ElementsAre(Pair(0, "63"), Pair(2, "71.5")));
  EXPECT_THAT(column_named(facts, "sex")->words, ElementsAre(Pair(0, "f"), Pair(1, "f")));
  EXPECT_THAT(column_named(facts, "is_follow_up")->words, ElementsAre(Pair(1, "true")));
  EXPECT_TRUE(column_named(facts, "box")->words.empty());
}

TEST_F(CaseFacts, OfTwoObjectsThatDisagreeNameBoth) {
  const auto facts = facts_in(put("people.json", R"([{"who": "ann", "sex": "f"}, {"who": "bob", "sex": "m"},
                                                     {"who": "bob", "sex": "f"}])"));
  EXPECT_EQ(column_named(facts, "sex")->fault, "[1] and [2] of people.json say m and f of the same case");
}

// Rows of questions: a list of them says several types of one picture, and the stage knows each one's.
TEST_F(CaseFacts, OfAColumnWithAFaultGiveWayToWhoKnowsBetter) {
  data_.list = put("list.csv", "image,type\nimages/a/1.nii,x\nimages/a/1.nii,y\nimages/b/1.nii,x\n").string();
  CaseColumn of_stage{.name = "type", .words = {{0, "z"}}};
  const auto facts = known_facts({}, data_, index_, Volumes(index_), {of_stage});
  EXPECT_EQ(column_named(facts, "type")->fault, "");
  EXPECT_EQ(column_named(facts, "type")->words.at(0), "z");
}

TEST_F(CaseFacts, AreRefusedOfATableOfOthers) {
  const auto table = put("people.csv", "who,sex\ncarl,m\n");
  const auto error = error_of([&] { facts_in(table); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::usage);
  EXPECT_THAT(error->message() + error->hint(),
              AllOf(HasSubstr("people.csv tells of 0 of 3 cases"), HasSubstr("a/1.nii of ann")));
}

TEST_F(CaseFacts, ComeFromTheListAndFromTheTableOfParticipants) {
  data_.list =
      put("list.csv", "image,visit\nimages/a/1.nii,1\nimages/a/2.nii,2\nimages/b/1.nii,1\n").string();
  put("images/participants.tsv", "participant_id\tsex\tvisit\nann\tf\t9\nbob\tm\t9\n");
  const auto own = put("own.csv", "who,sex\nann,x\nbob,y\n");
  const auto facts = known_facts({own.string()}, data_, index_, Volumes(index_), {{.name = "question"}});
  EXPECT_EQ(column_named(facts, "visit")->words.at(1), "2") << "the list comes first";
  EXPECT_EQ(column_named(facts, "sex")->words.at(0), "x") << "what the person names counts before all";
  EXPECT_NE(column_named(facts, "question"), nullptr);
  const auto absent = error_of([&] { known_facts({"none.csv"}, data_, index_, Volumes(index_), {}); });
  ASSERT_TRUE(absent);
  EXPECT_THAT(absent->message(), HasSubstr("there is no table none.csv"));
}

}  // namespace
}  // namespace larmor::testing
