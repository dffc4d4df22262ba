#include "larmor/judge/split_reader.h"

#include <map>
#include <mutex>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/load_clock.h"
#include "larmor/data/dataset_around.h"
#include "larmor/data/loader/loader.h"
#include "larmor/device/heartbeat.h"

namespace larmor {

/// A dataset whose unusable examples are empty samples, for a loader that is to leave them out instead of
/// taking others in their place. The places behind its end are empty, too.
class SplitReader::Forgiving final : public DatasetAround {
 public:
  using DatasetAround::DatasetAround;

  Sample get(const ExampleKey& key) const override {
    if (key.epoch > 0) return {};
    try {
      return inner().get(key);
    } catch (const Error& error) {
      if (error.exit() != Exit::data) throw;
      auto bad = bad_file_of(inner(), key.example, error);
      const std::lock_guard lock(mutex_);
      bad_.emplace(key.example, std::move(bad));
      return {};
    }
  }

  std::optional<BadFile> take_bad(int64_t example) {
    const std::lock_guard lock(mutex_);
    const auto found = bad_.extract(example);
    return found ? std::optional(std::move(found.mapped())) : std::nullopt;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::map<int64_t, BadFile> bad_;
};

namespace {

LoaderOptions loader_options_for(const SplitReaderOptions& chosen) {
  // One more where the next case is to be ready when this one has just been taken: a GPU copies it meanwhile.
  const int prefetch = chosen.workers + (chosen.pinned ? 1 : 0);
  LoaderOptions options{.workers = chosen.workers, .prefetch = prefetch, .pinned = chosen.pinned};
  if (Heartbeat* const sign = heartbeat()) options.goes_on = [sign] { sign->show(); };
  return options;
}

}  // namespace

struct SplitReader::State {
  State(const Dataset& dataset, const SplitReaderOptions& chosen) : cases(dataset), options(chosen) {
    next_example = options.rank;
    if (options.workers == 0 || dataset.size() == 0) return;
    // All examples that are never parted are one: an epoch is the dataset in its own order.
    const ExampleOrder in_order(options.seed, dataset.size(), dataset.size());
    const BatchSlice slice{.global_batch = options.ranks, .rank = options.rank, .ranks = options.ranks};
    loader = std::make_unique<Loader>(cases, in_order, slice, /*consumed=*/0, loader_options_for(options));
  }

  Batch read(const ExampleKey& key) {
    if (loader) return loader->next();
    const LoadClock stages(send_heartbeat);
    return collate({cases.get(key)}, {key});
  }

  Forgiving cases;
  const SplitReaderOptions options;
  std::unique_ptr<Loader> loader;
  int64_t next_example = 0, example = 0;
};

SplitReader::SplitReader(const Dataset& dataset, const SplitReaderOptions& options)
    : state_(std::make_unique<State>(dataset, options)) {}

SplitReader::~SplitReader() = default;

std::optional<SplitReader::Read> SplitReader::next() {
  State& state = *state_;
  if (state.next_example >= state.cases.size()) return std::nullopt;
  state.example = state.next_example;
  // Validation draws, where it draws at all, the same for a case every time: epoch 0.
  Read read{
      .key = {.seed = state.options.seed, .epoch = 0, .example = state.example}, .batch = {}, .bad = {}};
  read.batch = state.read(read.key);
  read.bad = state.cases.take_bad(state.example);
  state.next_example += state.options.ranks;
  return read;
}

const Batch* SplitReader::upcoming() const {
  const Batch* const batch = state_->loader ? state_->loader->upcoming() : nullptr;
  return batch != nullptr && !batch->tensors.empty() ? batch : nullptr;
}

int64_t SplitReader::example() const { return state_->example; }

}  // namespace larmor
