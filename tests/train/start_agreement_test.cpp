#include "larmor/train/start_agreement.h"

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/config/load.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

/// How a start ended on one rank: the exit status and the message; done where the ranks agreed.
struct Answer {
  Exit exit = Exit::done;
  std::string message;
  bool operator==(const Answer&) const = default;
};

const WorkloadFields fields{.model = [](Fields&) {}, .loss = [](Fields&) {}, .objectives = {}};

StartFacts facts_of_a_small_run() {
  const auto loaded = load_config({.files = {}, .environment = {}, .overrides = {"train.length=24st"}}, "any",
                                  "stage", fields);
  Plan plan;
  plan.micro_batch = 2;
  plan.ranks = {{-1, {0}}, {-1, {1}}, {-1, {2}}};
  auto facts = start_facts(loaded, plan, Index{});
  facts.host = "node1";
  return facts;
}

/// Three ranks whose facts `change` has changed; what each of them hears.
std::vector<Answer> agree(const std::function<void(int rank, StartFacts&)>& change) {
  auto ranks = make_thread_ranks(3);
  std::vector<Answer> answers(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      auto facts = facts_of_a_small_run();
      change(rank, facts);
      auto& answer = answers[static_cast<size_t>(rank)];
      try {
        agree_on_start(facts, *ranks[static_cast<size_t>(rank)]);
      } catch (const Error& error) {
        answer = {error.exit(), error.message()};
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return answers;
}

TEST(StartAgreement, OfRanksThatGoByTheSameFactsIsSilent) {
  EXPECT_THAT(agree([](int rank, StartFacts& facts) { facts.host = text("node", rank); }), Each(Answer{}));
}

TEST(StartAgreement, NamesTheRankItsHostTheKeyAndBothValues) {
  const auto answers = agree([](int rank, StartFacts& facts) {
    if (rank != 2) return;
    facts.host = "node7";
    facts.values["plan.micro_batch"] = "4";
  });
  EXPECT_THAT(answers,
              Each(Answer{Exit::usage,
                          "the ranks do not agree: rank 2 on node7 has plan.micro_batch 4, rank 0 has 2"}));
}

TEST(StartAgreement, OfRanksOnCpusOfOtherKindsTellsHowToMakeThemAlike) {
  const auto answers = agree([](int rank, StartFacts& facts) {
    if (rank == 1) facts.values.at("CPU capability") = "AVX3";
  });
  EXPECT_THAT(answers[0].message, HasSubstr("rank 1 on node1 has CPU capability AVX3, rank 0 has "));
}

TEST(StartAgreement, OfRanksWithGpusLeavesTheirCpusAlone) {
  Plan plan;
  plan.device = DeviceKind::cuda;
  const auto loaded = load_config({}, "any", "stage", fields);
  EXPECT_FALSE(start_facts(loaded, plan, Index{}).values.contains("CPU capability"));
}

TEST(StartAgreement, NamesRanksThatDifferInTheSameWayTogether) {
  const auto answers = agree([](int rank, StartFacts& facts) {
    if (rank > 0) facts.values["build"] = "another one";
  });
  EXPECT_THAT(answers[0].message,
              HasSubstr("rank 1 on node1, rank 2 on node1 have build another one, rank 0 has libtorch"));
  EXPECT_EQ(answers[0], answers[2]);
}

TEST(StartAgreement, SaysWhenAKeyIsMissing) {
  const auto answers = agree([](int rank, StartFacts& facts) {
    if (rank == 1) facts.values.erase("config.train.length");
  });
  EXPECT_THAT(answers[1].message, HasSubstr("rank 1 on node1 has config.train.length none, rank 0 has 24st"));
}

TEST(StartAgreement, NamesAFewOfManyDifferences) {
  const auto answers = agree([](int rank, StartFacts& facts) {
    if (rank != 1) return;
    for (auto& [key, value] : facts.values) value += "?";
  });
  EXPECT_THAT(answers[0].message, HasSubstr("; and "));
  EXPECT_LT(answers[0].message.size(), 1000U);
}

TEST(StartAgreement, NamesAHostThatDoesNotSeeTheData) {
  const auto answers = agree([](int rank, StartFacts& facts) {
    if (rank != 1) return;
    facts.host = "node2";
    facts.data_complaint = "has no p03/t1.nii.gz";
  });
  EXPECT_THAT(answers,
              Each(Answer{Exit::data,
                          "not every host sees the data of the run: rank 1 on node2 has no p03/t1.nii.gz"}));
}

TEST(StartAgreement, NamesAHostThatHasNoRoom) {
  const auto answers = agree([](int rank, StartFacts& facts) {
    if (rank != 2) return;
    facts.host = "node2";
    facts.lacks_room = "there is no room";
  });
  EXPECT_THAT(answers, Each(Answer{Exit::environment,
                                   "not every host has room for what it will keep: rank 2 on node2: there is "
                                   "no room"}));
}

TEST(StartAgreement, ComparesConfigPlanIndexAndProgramButNotWhereTheRunLies) {
  const auto values = facts_of_a_small_run().values;
  for (const char* key :
       {"config.train.length", "config.optim.schedule.name", "plan.micro_batch", "plan.ranks.1.cores.0",
        "plan.memory.weights", "index", "program", "build", "config.workload"}) {
    EXPECT_TRUE(values.contains(key)) << key;
  }
  EXPECT_FALSE(values.contains("config.run.folder"));
  EXPECT_FALSE(values.contains("config.run.name"));
  for (const auto& [key, value] : values) EXPECT_THAT(key, Not(HasSubstr("reasons")));
}

Case case_of(const std::string& name, uint64_t bytes = 10) {
  return {.files = {{"image", name}},
          .patient = name,
          .split = Split::train,
          .bytes = bytes,
          .label = "",
          .values = {}};
}

TEST(StartAgreement, SaysWhatOfTheDataAHostDoesNotSee) {
  Index agreed;
  agreed.cases = {case_of("p0.nii"), case_of("p1.nii"), case_of("p2.nii")};
  const auto seen = [&](const std::vector<Case>& cases) {
    return compare_data(agreed, [&] {
      Index index;
      index.cases = cases;
      return index;
    });
  };
  EXPECT_EQ(seen(agreed.cases), "");
  EXPECT_EQ(seen({case_of("p0.nii"), case_of("p2.nii")}), "has no p1.nii");
  EXPECT_EQ(seen({case_of("p0.nii")}), "has no p1.nii and 1 more");
  EXPECT_EQ(seen({case_of("p0.nii"), case_of("p1.nii"), case_of("p2.nii", 11)}),
            "has another p2.nii: of another size or split");
  EXPECT_EQ(seen({case_of("p0.nii"), case_of("p1.nii"), case_of("p2.nii"), case_of("p3.nii")}),
            "has 4 cases, and the run 3");
  EXPECT_THAT(compare_data(agreed, []() -> Index { fail(Exit::data, "there is no folder /data"); }),
              AllOf(HasSubstr("finds none"), HasSubstr("/data")));
}

TEST(StartAgreement, LetsTheFirstRankOfEachOtherHostLookAtItsData) {
  const auto looks = [](int index, int local_index, int local_count) {
    Rank rank;
    rank.index = index;
    rank.count = 4;
    rank.local_index = local_index;
    rank.local_count = local_count;
    return looks_for_host(rank);
  };
  EXPECT_FALSE(looks(0, 0, 2));
  EXPECT_FALSE(looks(1, 1, 2));
  EXPECT_TRUE(looks(2, 0, 2));
  EXPECT_FALSE(looks(3, 1, 2));
  EXPECT_FALSE(looks(0, 0, 4));
}

}  // namespace
}  // namespace larmor::testing
