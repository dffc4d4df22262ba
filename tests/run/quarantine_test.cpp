#include "larmor/run/quarantine.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

class Warnings final : public Tracker {
 public:
  void event(const Moment&, std::string_view kind, const Values&, std::string_view words) override {
    if (kind == "warning") heard.emplace_back(words);
  }
  void picture(const Moment&, std::string_view, const Picture&) override {}
  void flush() override {}

  std::vector<std::string> heard;
};

const BadFile first{"a.nii", "is cut short"}, second{"b.nii", "is damaged"};

class QuarantineOfTwo : public ::testing::Test {
 protected:
  /// Each rank shares its files; how many errors there were.
  int share(const std::vector<BadFile>& of_rank_0, const std::vector<BadFile>& of_rank_1, int64_t allowed) {
    auto ranks = make_thread_ranks(2);
    int errors[2] = {};
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        Warnings unheard;
        Quarantine quarantine(file(), allowed, disk_, *ranks[rank], rank == 0 ? warnings_ : unheard);
        try {
          quarantine.share(rank == 0 ? of_rank_0 : of_rank_1, {});
        } catch (const Error& error) {
          EXPECT_EQ(error.exit(), Exit::data);
          ++errors[rank];
        }
      });
    }
    for (auto& thread : threads) thread.join();
    return errors[0] + errors[1];
  }
  std::filesystem::path file() const { return scratch_.path() / "quarantine.json"; }

  ScratchFolder scratch_;
  DiskStorage disk_;
  Warnings warnings_;
};

TEST_F(QuarantineOfTwo, TellsOnceOfAFileThatBothRanksHaveMet) {
  EXPECT_EQ(share({first}, {first, second}, 2), 0);
  ASSERT_EQ(warnings_.heard.size(), 2U);
  EXPECT_THAT(warnings_.heard[0],
              HasSubstr("a.nii cannot be used and is passed over (1 of at most 2): is cut short"));
  EXPECT_THAT(warnings_.heard[1], HasSubstr("b.nii"));
  EXPECT_EQ(read_json(file()), to_json(std::vector<BadFile>{first, second}));
}

TEST_F(QuarantineOfTwo, EndsBothRanksWhenTheirFilesTogetherAreTooMany) {
  EXPECT_EQ(share({first}, {second}, 1), 2);
  EXPECT_EQ(read_json(file()).size(), 2U) << "what went wrong is on record all the same";
}

TEST_F(QuarantineOfTwo, KeepsTheFilesOfAnEarlierStartWithoutCountingThem) {
  EXPECT_EQ(share({first}, {}, 1), 0);
  EXPECT_EQ(share({}, {second}, 1), 0);
  EXPECT_EQ(read_json(file()), to_json(std::vector<BadFile>{second, first}));
}

TEST_F(QuarantineOfTwo, CountsWhatTheStartKnowsAlreadyAndSaysNothingOfItAgain) {
  const auto solo = make_solo();
  record_bad_files(disk_, file(), {first});
  EXPECT_EQ(recorded_bad_files(file()), std::vector{first});
  Quarantine quarantine(file(), 1, disk_, *solo, warnings_, {first});
  quarantine.share({first}, {});
  EXPECT_TRUE(warnings_.heard.empty());
  EXPECT_THROW(quarantine.share({first, second}, {}), Error);
  EXPECT_EQ(recorded_bad_files(file()).size(), 2U);
}

TEST_F(QuarantineOfTwo, KnowsWhetherThereIsSomethingToShare) {
  const auto solo = make_solo();
  Quarantine quarantine(file(), 5, disk_, *solo, warnings_);
  EXPECT_FALSE(quarantine.lacks_some({}));
  EXPECT_TRUE(quarantine.lacks_some({first}));
  quarantine.share({first}, {});
  EXPECT_FALSE(quarantine.lacks_some({first}));
  EXPECT_TRUE(quarantine.lacks_some({first, second}));
}

}  // namespace
}  // namespace larmor::testing
