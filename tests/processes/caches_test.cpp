// Where prepared images of patients lie, how long, and who may look: said by the verbs that put them there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Caches : public ::testing::Test {
 protected:
  void SetUp() override { put_heads(scratch_.path() / "heads", 8); }
  Finished call(std::vector<std::string> words) const {
    return larmor_program(std::move(words), {.folder = scratch_.path(),
                                             .environment = {{"HOME", scratch_.path().string()},
                                                             {"XDG_CACHE_HOME", caches().string()}}});
  }
  fs::path caches() const { return scratch_.path() / "caches"; }
  static std::vector<std::string> words(const std::string& verb) {
    return {
        verb, "latent_diffusion", "-c", "tiny", "data.kind=nifti", "data.folder=heads", "data.cache=full"};
  }
  Json row_of(const std::string& what) const {
    const Json report = call({"doctor", "--json"}).json();
    for (const auto& row : report["caches"]) {
      if (row["what"] == what) return row;
    }
    return nullptr;
  }

  ScratchFolder scratch_;
};

TEST_F(Caches, AreNamedByPrepareTrainAndDoctorAndEmptiedAsTheySay) {
  const auto prepared = call(words("prepare"));
  ASSERT_EQ(prepared.status, 0) << prepared.err;
  const auto folder = (caches() / "larmor" / "prepared").string();
  const auto says_where = AllOf(HasSubstr(folder), HasSubstr("in your home folder"),
                                HasSubstr("larmor prepare latent_diffusion --clean"));
  EXPECT_THAT(prepared.out, says_where);
  const auto row = row_of("prepared images");
  EXPECT_EQ(row["folder"], folder);
  EXPECT_GT(row["bytes"], 1000);
  EXPECT_EQ(row["private"], true);
  for (const auto& item : fs::recursive_directory_iterator(caches())) {
    if (!item.is_directory()) continue;
    EXPECT_EQ(fs::status(item).permissions(), fs::perms::owner_all) << item.path();
  }
  auto training = words("train");
  training.insert(training.end(), {"--steps", "1", "--ranks", "1"});
  const auto trained = call(training);
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_THAT(trained.err, says_where);
  EXPECT_EQ(call({"prepare", "latent_diffusion", "--clean"}).status, 0) << "without a word of the data";
  EXPECT_LT(row_of("prepared images")["bytes"], 1000);
}

TEST_F(Caches, ThatWereChosenAreNamedWithTheWordsThatEmptyThem) {
  auto choosing = words("prepare");
  choosing.emplace_back("data.cache_folder=store");
  EXPECT_THAT(call(choosing).out,
              HasSubstr("larmor prepare latent_diffusion data.cache_folder=store --clean"));
  EXPECT_EQ(call({"prepare", "latent_diffusion", "data.cache_folder=store", "--clean"}).status, 0);
}

TEST_F(Caches, OfAllKindsAreListedByDoctorWithWhatEmptiesThem) {
  EXPECT_EQ(row_of("prepared images"), nullptr);
  put_file(caches() / "larmor" / "libtorch-9" / "lib", std::string(5000, 'x'));
  put_file(caches() / "larmor" / "prepared" / "questions-0123" / "table", std::string(700, 'x'));
  fs::permissions(caches() / "larmor" / "libtorch-9", fs::perms(0755));
  const auto library = row_of("libtorch, for building larmor"), table = row_of("tables of questions");
  EXPECT_EQ(library["bytes"], 5000);
  EXPECT_EQ(library["private"], false);
  EXPECT_EQ(library["emptied_by"], "rm -r " + (caches() / "larmor" / "libtorch-9").string());
  EXPECT_EQ(table["bytes"], 700);
  EXPECT_EQ(row_of("prepared images")["bytes"], 0);
  EXPECT_THAT(call({"doctor"}).out,
              AllOf(HasSubstr("what larmor keeps for this user"), HasSubstr("chmod 700")));
}

TEST_F(Caches, HoldNothingWhereTheProgramInventsTheImages) {
  const auto end =
      call({"train", "latent_diffusion", "-c", "tiny", "data.cache=full", "--steps", "1", "--ranks", "1"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, Not(HasSubstr("stay in")));
}

}  // namespace
}  // namespace larmor::testing
