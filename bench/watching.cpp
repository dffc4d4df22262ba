// What watching costs a rank: steps of some milliseconds with many collectives, and many blocks that go
// forward and backward, watched and not, in turn in the same process, while an onlooker reads the board. One
// rank alone: its collectives take no time of their own, so nothing hides what noting them costs, and its
// blocks hardly any. Prints one JSON line.
//
//   watching MILLISECONDS COLLECTIVES BLOCKS PAIRS

#include <algorithm>
#include <atomic>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/comm/watched.h"
#include "larmor/device/heartbeat.h"
#include "larmor/device/run_block.h"

namespace larmor {
namespace {

/// Of this thread alone: whatever else the machine does takes none of it.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

struct HardlyABlock final : torch::nn::Module {
  at::Tensor forward(const at::Tensor& value) { return value * 2; }
};

class BeatOnBoard final : public Heartbeat {
 public:
  explicit BeatOnBoard(StatusBoard& board) : board_(board) {}
  void show() override { board_.beat(0); }

 private:
  StatusBoard& board_;
};

/// A rank's step: its blocks, and some arithmetic before each collective.
class WatchedStep {
 public:
  WatchedStep(int collectives, int blocks) : collectives_(collectives), blocks_(blocks) {}

  void calibrate(double seconds) {
    const auto alone = make_solo();
    products_ = 1;
    for (int tries = 0; tries < 3; ++tries) {  // the first ones are slow
      std::vector<double> taken;
      for (int i = 0; i < 5; ++i) taken.push_back(run(*alone, nullptr));
      products_ = std::max(1, static_cast<int>(products_ * seconds / median(taken)));
    }
  }

  /// Processor seconds. `board`: where the phases of the step are noted.
  double run(Communicator& communicator, StatusBoard* board) {
    const double began = processor_seconds();
    ++step_;
    if (board) board->set(0, Phase::waiting_for_data, step_);
    if (board) board->set(0, Phase::computing, step_);
    go_through_blocks(board);
    for (int i = 0; i < collectives_; ++i) {
      for (int product = 0; product < products_; ++product) at::mm_out(result_, factor_, factor_);
      communicator.all_reduce(values_, Reduce::sum).wait();
    }
    if (board) board->set(0, Phase::communicating, step_);
    return processor_seconds() - began;
  }
  void leave_out_arithmetic() { products_ = 0; }

 private:
  void go_through_blocks(StatusBoard* board) {
    std::optional<BeatOnBoard> sign;
    if (board) sign.emplace(*board);
    const HeartbeatScope scope(sign ? &*sign : nullptr);
    at::Tensor value = input_;
    for (int i = 0; i < blocks_; ++i) value = nn::run_block(block_, std::as_const(value));
    value.backward();
  }

  std::shared_ptr<HardlyABlock> block_ = std::make_shared<HardlyABlock>();
  at::Tensor input_ = at::ones({}).requires_grad_();
  int collectives_, blocks_, products_ = 1;
  int64_t step_ = 0;
  at::Tensor factor_ = at::ones({48, 48}), result_ = at::ones({48, 48}), values_ = at::ones({1024});
};

struct Pairs {
  std::vector<double> bare, watched, added;
  void run(int count, const std::function<double()>& run_bare, const std::function<double()>& run_watched) {
    for (int pair = 0; pair < count; ++pair) {
      // Who comes first takes turns too.
      const double first = pair % 2 == 0 ? run_bare() : run_watched();
      const double second = pair % 2 == 0 ? run_watched() : run_bare();
      bare.push_back(pair % 2 == 0 ? first : second);
      watched.push_back(pair % 2 == 0 ? second : first);
      added.push_back(watched.back() - bare.back());
    }
  }
};

Json measure(double milliseconds, int collectives, int blocks, int count) {
  at::set_num_threads(1);
  StatusBoard board(1);
  const auto bare = make_solo(), watched_one = watched(make_solo(), board);
  std::atomic<bool> done = false;
  std::jthread onlooker([&] {
    while (!done) {
      static_cast<void>(board.status(0));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  WatchedStep step(collectives, blocks);
  step.calibrate(milliseconds * 1e-3);
  const auto run_bare = [&] { return step.run(*bare, nullptr); };
  const auto run_watched = [&] { return step.run(*watched_one, &board); };
  Pairs warm_up, whole, alone;
  warm_up.run(5, run_bare, run_watched);
  whole.run(count, run_bare, run_watched);
  step.leave_out_arithmetic();
  alone.run(20 * count, run_bare, run_watched);
  done = true;
  Json result;
  result["step_ms"] = median(whole.bare) * 1e3;
  result["added_us"] = median(whole.added) * 1e6;
  result["added_us_quartiles"] = {quantile(whole.added, 0.25) * 1e6, quantile(whole.added, 0.75) * 1e6};
  result["added_share"] = median(whole.added) / median(whole.bare);
  result["without_arithmetic_us"] = median(alone.added) * 1e6;
  result["without_arithmetic_share"] = median(alone.added) / median(whole.bare);
  return result;
}

}  // namespace
}  // namespace larmor

int main(int count, char** words) {
  if (count != 5) {
    std::cerr << "watching takes MILLISECONDS COLLECTIVES BLOCKS PAIRS\n";
    return static_cast<int>(larmor::Exit::usage);
  }
  std::cout << larmor::measure(std::stod(words[1]), std::stoi(words[2]), std::stoi(words[3]),
                               std::stoi(words[4]))
                   .dump()
            << "\n";
  return 0;
}
