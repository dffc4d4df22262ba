#include "larmor/watch/rank_status.h"

#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

RankStatus busy() {
  RankStatus status;
  status.phase = Phase::communicating;
  status.step = 120;
  status.quiet = 0.25;
  status.waiting = 11.5;
  status.background_waiting = 0.5;
  status.longest_quiet = {1, 2, 3, 4, 5, 6, 7};
  status.seconds = {7, 6, 5, 4, 3, 2, 1};
  status.waited = 42;
  status.longest_wait = 12;
  status.collectives = {{.group = 0,
                         .number = 117,
                         .kind = CollectiveKind::reduce_scatter,
                         .elements = 512,
                         .element = ElementKind::bfloat16,
                         .finished = true},
                        {.group = 2, .number = 4, .kind = CollectiveKind::barrier}};
  status.waits_for = status.collectives.back();
  return status;
}

TEST(RankStatus, TravelsAsJson) {
  const RankStatus sent = busy();
  const RankStatus came = rank_status_from_json(parse_json(to_json(sent, true).dump(), "a wire"));
  EXPECT_EQ(to_json(came, true), to_json(sent, true));
  EXPECT_EQ(came.phase, sent.phase);
  EXPECT_EQ(came.step, sent.step);
  EXPECT_EQ(came.longest_quiet, sent.longest_quiet);
  EXPECT_EQ(came.seconds, sent.seconds);
  EXPECT_EQ(came.waits_for, sent.waits_for);
  EXPECT_EQ(came.collectives, sent.collectives);
}

TEST(RankStatus, LeavesItsCollectivesAtHomeWhenAskedTo) {
  const Json json = to_json(busy(), false);
  EXPECT_FALSE(json.contains("collectives"));
  EXPECT_TRUE(rank_status_from_json(json).collectives.empty());
  EXPECT_TRUE(rank_status_from_json(json).waits_for);
  EXPECT_LT(json.dump().size(), 512U);
}

TEST(RankStatus, RefusesWhatNoRankSays) {
  const std::vector<std::function<void(Json&)>> mistakes = {
      [](Json& json) { json = Json::array(); },
      [](Json& json) { json = "computing"; },
      [](Json& json) { json.erase("step"); },
      [](Json& json) { json["phase"] = "sleeping"; },
      [](Json& json) { json["phase"] = 3; },
      [](Json& json) { json["step"] = -1; },
      [](Json& json) { json["step"] = 1.5; },
      [](Json& json) { json["step"] = std::numeric_limits<uint64_t>::max(); },
      [](Json& json) { json["quiet"] = -0.5; },
      [](Json& json) { json["quiet"] = nullptr; },
      [](Json& json) { json["quiet"] = std::numeric_limits<double>::quiet_NaN(); },
      [](Json& json) { json["waited"] = 1e300; },
      [](Json& json) { json["seconds"].erase(0); },
      [](Json& json) { json["seconds"][0] = "1"; },
      [](Json& json) { json["longest_quiet"] = 5; },
      [](Json& json) { json["waits_for"] = 118; },
      [](Json& json) { json["waits_for"][2] = "all_to_all"; },
      [](Json& json) { json["waits_for"][0] = int64_t{1} << 33; },
      [](Json& json) { json["collectives"] = Json::object(); },
      [](Json& json) { json["collectives"][0].push_back(1); },
      [](Json& json) { json["collectives"][0][4] = "complex"; },
      [](Json& json) { json["collectives"][0][5] = 1; },
      [](Json& json) {
        const Json one = json["collectives"][0];
        for (size_t i = 0; i < most_collectives; ++i) json["collectives"].push_back(one);
      },
  };
  for (size_t i = 0; i < mistakes.size(); ++i) {
    Json json = to_json(busy(), true);
    mistakes[i](json);
    EXPECT_THROW(rank_status_from_json(json), Error) << "mistake " << i << ": " << json.dump();
  }
}

TEST(Phase, HasAWordForEachValue) {
  EXPECT_EQ(to_text(Phase::starting), "starting");
  EXPECT_EQ(to_text(Phase::waiting_for_data), "waiting for data");
  EXPECT_EQ(to_text(Phase::computing), "computing");
  EXPECT_EQ(to_text(Phase::communicating), "communicating");
  EXPECT_EQ(to_text(Phase::validating), "validating");
  EXPECT_EQ(to_text(Phase::saving), "saving");
  EXPECT_EQ(to_text(Phase::finished), "finished");
}

TEST(Phase, SaysWhereInTheRunItIs) {
  EXPECT_EQ(while_in(Phase::starting, 0), "while starting");
  EXPECT_EQ(while_in(Phase::computing, 17), "while computing step 17");
  EXPECT_EQ(while_in(Phase::waiting_for_data, 17), "while waiting for the data of step 17");
  EXPECT_EQ(while_in(Phase::finished, 40), "after it had finished step 40");
}

TEST(Collective, IsNamedAsPeopleSpeakOfIt) {
  EXPECT_EQ(to_text({.group = 0,
                     .number = 118,
                     .kind = CollectiveKind::all_reduce,
                     .elements = 1'048'576,
                     .element = ElementKind::float32}),
            "all_reduce #118 (1,048,576 float32)");
  EXPECT_EQ(to_text({.group = 2, .number = 3, .kind = CollectiveKind::barrier}), "barrier #3 of group 2");
  EXPECT_EQ(to_text({.group = 0,
                     .number = 1,
                     .kind = CollectiveKind::broadcast,
                     .elements = 100,
                     .element = ElementKind::boolean}),
            "broadcast #1 (100 bool)");
}

}  // namespace
}  // namespace larmor
