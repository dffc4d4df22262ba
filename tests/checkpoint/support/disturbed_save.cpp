#include "tests/checkpoint/support/disturbed_save.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/checkpoint/support/small_snapshot.h"

namespace larmor::testing {

using ::testing::HasSubstr;

std::vector<DisturbedSave::Ending> DisturbedSave::save(int64_t step, bool last) const {
  auto options = saved_at_once();
  options.keep_last = 2;
  options.keep_best = 1;
  auto communicators = make_thread_ranks(ranks_);
  std::vector<Ending> endings(communicators.size());
  const auto body = [&](size_t rank) {
    DiskStorage disk;
    CheckpointWriter writer(folder_.path(), disk, *communicators[rank], options);
    try {
      // Each is better than the one before, so that `best` moves too.
      writer.save(small_snapshot(step, static_cast<int>(rank), 1.0 / static_cast<double>(step)), last);
    } catch (const Error& error) {
      endings[rank].exit = error.exit();
    }
    for (const auto& outcome : writer.take_outcomes()) {
      endings[rank].committed = outcome.committed;
      endings[rank].warning = outcome.warning;
    }
  };
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < communicators.size(); ++rank) threads.emplace_back(body, rank);
  for (auto& thread : threads) thread.join();
  return endings;
}

DisturbedSave::DisturbedSave(int ranks) : ranks_(ranks) {
  for (const int64_t step : {1, 2, 3}) save(step, /*last=*/false);
  before_ = read_tree(folder_.path());
  const SystemCallWatch watch(folder_.path(), nullptr);
  save(4, /*last=*/false);
  calls_ = watch.calls();
}

void DisturbedSave::disturb(const SystemCall& call, int error, bool last) {
  SCOPED_TRACE(text(call.name, ' ', call.path, " (", call.number, "): ", std::strerror(error)));
  write_tree(before_, folder_.path());
  const size_t descriptors = open_descriptors();
  std::vector<Ending> endings;
  bool failed = false;
  {
    const SystemCallWatch watch(folder_.path(), [&](const SystemCall& now) {
      if (now != call) return 0;
      failed = true;
      return error;
    });
    endings = save(4, last);
  }
  EXPECT_TRUE(failed);
  EXPECT_EQ(open_descriptors(), descriptors);
  for (const auto& ending : endings) EXPECT_EQ(ending, endings.front()) << "ranks disagree";
  expect_as_promised(endings.front(), call, error, last);
  expect_next_save();
  ++cells_;
}

void DisturbedSave::expect_as_promised(const Ending& ending, const SystemCall& call, int error,
                                       bool last) const {
  const auto newest = newest_good(folder_.path(), nullptr);
  ASSERT_TRUE(newest.has_value());
  EXPECT_TRUE(newest->step == 3 || newest->step == 4) << newest->step;
  EXPECT_TRUE(holds_step(*newest, newest->step));
  const bool is_only_a_signal = error == EINTR && call.name != "list";
  EXPECT_TRUE(ending.committed || !is_only_a_signal) << ending.warning;
  if (ending.committed) {
    EXPECT_EQ(newest->step, 4) << "announced and not there";
    EXPECT_FALSE(ending.exit.has_value());
  } else {
    EXPECT_THAT(ending.warning, HasSubstr(std::strerror(error)));
    EXPECT_THAT(ending.warning, HasSubstr(folder_.path().string()));
    EXPECT_EQ(ending.exit, last ? std::optional(Exit::environment) : std::nullopt);
  }
}

void DisturbedSave::expect_next_save() const {
  const auto ending = save(5, /*last=*/false).front();
  EXPECT_TRUE(ending.committed) << ending.warning;
  EXPECT_TRUE(holds_step(*newest_good(folder_.path(), nullptr), 5));
  for (const auto& item : std::filesystem::directory_iterator(folder_.path())) {
    const auto name = item.path().filename().string();
    const bool is_checkpoint = name.starts_with("step-") && !name.ends_with(".tmp");
    EXPECT_TRUE(is_checkpoint || name == "last" || name == "best") << name << " was left behind";
  }
}

}  // namespace larmor::testing
