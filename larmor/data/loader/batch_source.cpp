#include "larmor/data/loader/batch_source.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

// A file counts once, as for the loader: however many positions fell on it, and whatever each has met.
void note(std::vector<BadFile>& bad, BadFile file) {
  if (!holds(bad, file.path)) bad.push_back(std::move(file));
}

void pin(Batch& batch) {
  for (auto& [name, tensor] : batch.tensors) tensor = tensor.pin_memory();
}

}  // namespace

BatchSource::BatchSource(const Dataset& dataset, ExampleOrder order, const BatchSlice& slice,
                         int64_t consumed, const LoaderOptions& options)
    : dataset_(dataset),
      slice_(slice),
      consumed_(consumed),
      options_(options),
      order_(std::move(order)),
      bad_(options.known_bad) {}

Prepared BatchSource::make(int64_t number) {
  // Thread-local in libtorch: a worker starts with gradients on.
  const at::NoGradGuard no_gradients;
  Prepared prepared;
  try {
    prepared.batch = assemble(number, prepared.bad);
  } catch (...) {
    prepared.error = std::current_exception();
  }
  return prepared;
}

Batch BatchSource::assemble(int64_t number, std::vector<BadFile>& bad) {
  const int64_t step = number / slice_.accumulation;
  const int64_t micro = number % slice_.accumulation;
  std::vector<Sample> samples;
  std::vector<ExampleKey> keys;
  std::vector<int64_t> positions = slice_.positions(consumed_ + step * slice_.global_batch, micro);
  for (const int64_t position : positions) {
    ExampleKey key;
    auto sample = read(position, key, bad);
    if (!sample || stopping_) return {};
    options_.goes_on();
    samples.push_back(std::move(*sample));
    keys.push_back(key);
  }
  try {
    Batch batch = collate(samples, keys);
    batch.positions = std::move(positions);
    if (options_.pinned) pin(batch);
    return batch;
  } catch (const Error& error) {
    std::vector<std::string> names;
    for (const ExampleKey& key : keys) names.push_back(dataset_.name(key.example));
    throw error.within(text("while putting together ", join(names, ", ")));
  }
}

std::optional<Sample> BatchSource::read(int64_t position, ExampleKey& key, std::vector<BadFile>& bad) {
  for (int64_t places = 0; places < order_.examples(); ++places) {
    if (static_cast<int64_t>(bad.size()) > options_.bad_files) return std::nullopt;
    {
      const std::lock_guard lock(mutex_);
      key = order_.substitute(position, places);
    }
    if (auto sample = try_read(key, bad)) return sample;
  }
  if (static_cast<int64_t>(bad.size()) > options_.bad_files) return std::nullopt;
  fail(Exit::data, text("none of the ", order_.examples(), " training files can be read:", listing(bad)),
       "look at one of them with larmor inspect FILE");
}

std::optional<Sample> BatchSource::try_read(const ExampleKey& key, std::vector<BadFile>& bad) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = bad_.find(key.example);
    if (known != bad_.end()) {
      note(bad, known->second);
      return std::nullopt;
    }
  }
  try {
    return dataset_.get(key);
  } catch (const Error& error) {
    if (error.exit() != Exit::data) throw;
    const BadFile file = bad_file_of(dataset_, key.example, error);
    note(bad, file);
    const std::lock_guard lock(mutex_);
    bad_.emplace(key.example, file);
    return std::nullopt;
  }
}

}  // namespace larmor
