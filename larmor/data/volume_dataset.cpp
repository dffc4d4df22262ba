#include "larmor/data/volume_dataset.h"

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include <ATen/ops/scalar_tensor.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/prepared_cache.h"
#include "larmor/data/cache/recent_volumes.h"
#include "larmor/data/cache/shared_folder.h"
#include "larmor/data/cache/smart_cache.h"
#include "larmor/data/cache/source_hashes.h"
#include "larmor/data/case_reader.h"
#include "larmor/transforms/reading_steps.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

// A mapping a case: the kernel allows 65530.
constexpr std::size_t most_open_entries = 20000;
// Where containers are given 64 MiB of it, it is no place for volumes.
constexpr uint64_t least_shared_memory = uint64_t{1} << 30;
// Whose crops several workers may be at; each of them takes a whole volume of memory.
constexpr std::size_t recent_cases = 4;

/// What was read is not what the key was made from.
struct SourceChanged : Error {
  using Error::Error;
};

class VolumeDataset final : public PreparableDataset {
 public:
  VolumeDataset(const DataConfig& data, const Index& index, Split split, const Json& transforms,
                std::vector<std::string> only, const MakeImage& make)
      : config_(data),
        reader_(data, index, std::move(only), picture_reading(transforms), make),
        chain_(transforms),
        numbers_(index.of(split)),
        window_name_(index.folder.string()),
        is_smart_(data.cache == "smart" && split == Split::train && !reader_.is_invented()),
        is_full_(data.cache == "full" && !reader_.is_invented()) {
    for (const int64_t number : numbers_) cases_.push_back(index.cases[static_cast<std::size_t>(number)]);
    if (reader_.is_invented()) {
      recent_ = std::make_unique<RecentVolumes>(cases_.size());
    } else if (together() > 1) {
      recent_ = std::make_unique<RecentVolumes>(recent_cases);
    }
    if (is_full_) opened_.resize(cases_.size() <= most_open_entries ? cases_.size() : 0);
    keys_.resize(cases_.size());
  }

  int64_t cases() const override { return static_cast<int64_t>(cases_.size()); }
  int64_t together() const override { return chain_.samples_per_volume(); }
  int64_t size() const override { return cases() * together(); }

  std::string name(int64_t example) const override { return case_name(example / together()); }
  std::string case_name(int64_t number) const override { return case_of(number).name(); }

  std::string content_hash(int64_t example) const override {
    try {
      const auto storage = make_storage();
      SourceHashes hashes(*storage, {});
      const auto contents = reader_.contents(case_of(example / together()), hashes);
      return contents.size() == 1 ? contents.front().second : sha256(Json(contents).dump());
    } catch (const Error&) {
      return {};
    }
  }

  Sample get(const ExampleKey& key) const override {
    const int64_t number = key.example / together();
    Volumes volumes;
    if (is_full_ || is_smart_) {
      volumes = from_cache(number, key);
    } else if (recent_) {
      const auto made = recent_->get(number, maker_of(number));
      volumes = apart(named(number, [&] { return chain_.random_part(*made, key); }), *made);
    } else {
      Volumes read = reader_.read(case_of(number), number_of(number));
      volumes = named(number, [&] { return chain_.apply(std::move(read), key); });
    }
    Sample sample;
    for (auto& [name, volume] : volumes) sample.emplace(name, std::move(volume.voxels));
    for (const auto& [name, value] : case_of(number).values)
      sample.emplace(name, at::scalar_tensor(value, at::kDouble));
    return sample;
  }

  uint64_t prepare(int64_t number) const override {
    // Stays open, and so is not pushed out by what another split prepares.
    const PreparedExample prepared = opened(number);
    return prepared.entry ? prepared.entry->bytes() : 0;
  }

  bool is_prepared(int64_t number) const override { return cache().holds(key_of(number)); }

  CachePlace cache_place() const override {
    return {
        .folder = cache().folder(), .budget_bytes = cache().budget_bytes(), .present_bytes = cache().bytes()};
  }

 private:
  const Case& case_of(int64_t number) const {
    ensure(number >= 0 && number < cases());
    return cases_[static_cast<std::size_t>(number)];
  }
  /// Of a case of this split, in the whole index.
  int64_t number_of(int64_t number) const { return numbers_[static_cast<std::size_t>(number)]; }

  template <class Work>
  Volumes named(int64_t number, const Work& work) const {
    try {
      return work();
    } catch (const Error& error) {
      throw error.within(case_name(number));
    }
  }

  Volumes make(int64_t number) const {
    Volumes volumes = reader_.read(case_of(number), number_of(number));
    return named(number, [&] { return chain_.deterministic_part(std::move(volumes)); });
  }

  PreparedCache::Make maker_of(int64_t number) const {
    return [this, number] { return make(number); };
  }

  /// For an entry under `key`: what is in the files is looked at again when they have been read, because a
  /// file that was replaced meanwhile would be kept under the hash of what it was.
  PreparedCache::Make maker_for_key(int64_t number, std::string key) const {
    return [this, number, key = std::move(key)] {
      Volumes volumes = make(number);
      if (new_key_of(number) == key) return volumes;
      forget_key(number);
      throw SourceChanged(Exit::data, text(case_name(number), ": changed while it was prepared"),
                          "start again when nobody writes to it");
    };
  }

  /// `work` with the case's key; again with the new one where its files have changed since it was made.
  template <class Work>
  auto with_key(int64_t number, const Work& work) const {
    constexpr int tries = 3;
    for (int done = 1;; ++done) {
      try {
        const std::string key = key_of(number);
        return work(key, maker_for_key(number, key));
      } catch (const SourceChanged&) {
        if (done == tries) throw;
      }
    }
  }

  // Whoever writes into a sample must not reach what is kept.
  static Volumes apart(Volumes volumes, const Volumes& kept) {
    for (auto& [name, volume] : volumes) {
      const auto original = kept.find(name);
      if (original != kept.end() && volume.voxels.is_alias_of(original->second.voxels))
        volume.voxels = volume.voxels.clone();
    }
    return volumes;
  }

  Volumes from_cache(int64_t number, const ExampleKey& key) const {
    ExampleKey of_case = key;
    of_case.example = number;
    PreparedExample prepared = is_smart_ ? from_window(of_case) : opened(number);
    try {
      return random_part(prepared, key);
    } catch (const DamagedBrick& error) {
      cache().discard(key_of(number), text(case_name(number), ": ", error.message()));
    }
    if (!opened_.empty()) {
      const std::lock_guard lock(mutex_);
      opened_[static_cast<std::size_t>(number)].reset();
    }
    return random_part(from_store(number), key);
  }

  PreparedExample from_store(int64_t number) const {
    return with_key(number, [this](const std::string& key, const PreparedCache::Make& make_for) {
      return cache().get(key, make_for);
    });
  }

  PreparedExample from_window(const ExampleKey& key) const {
    return with_key(key.example,
                    [&](const std::string&, const PreparedCache::Make&) { return smart(key.seed).get(key); });
  }

  Volumes random_part(const PreparedExample& prepared, const ExampleKey& key) const {
    if (prepared.entry) return chain_.random_part(prepared.entry->deferred(), key);
    return chain_.random_part(prepared.volumes, key);
  }

  PreparedExample opened(int64_t number) const {
    const auto place = static_cast<std::size_t>(number);
    if (!opened_.empty()) {
      const std::lock_guard lock(mutex_);
      if (opened_[place]) return {.entry = opened_[place], .volumes = {}};
    }
    PreparedExample prepared = from_store(number);
    if (!opened_.empty() && prepared.entry) {
      const std::lock_guard lock(mutex_);
      opened_[place] = prepared.entry;
    }
    return prepared;
  }

  std::string key_of(int64_t number) const {
    std::string& key = keys_[static_cast<std::size_t>(number)];
    {
      const std::lock_guard lock(mutex_);
      if (!key.empty()) return key;
    }
    // Hashing may take a while; nobody waits for it who does not need it.
    std::string made = new_key_of(number);
    const std::lock_guard lock(mutex_);
    return key = std::move(made);
  }

  /// Of what is in the files now; what has not changed is not read again.
  std::string new_key_of(int64_t number) const {
    return cache_key(reader_.contents(case_of(number), cache().sources()),
                     chain_.deterministic_declaration());
  }

  void forget_key(int64_t number) const {
    const std::lock_guard lock(mutex_);
    keys_[static_cast<std::size_t>(number)].clear();
  }

  std::optional<uint64_t> budget() const {
    if (!config_.budget_bytes) return std::nullopt;
    return static_cast<uint64_t>(*config_.budget_bytes);
  }

  // SmartCache's window lies in memory where there is enough of it that processes can share.
  void open_shared_memory() const {
    const uint64_t free = free_shared_memory();
    const bool is_free_to_choose = config_.cache_folder.empty() || config_.cache_folder == "auto";
    if (!is_smart_ || !is_free_to_choose || free < least_shared_memory) return;
    try {
      const std::string of = text(window_name_, chain_.deterministic_declaration().dump(), config_.cache_rate,
                                  config_.replace_rate);
      memory_ = std::make_unique<SharedFolder>(memory_folder(), "window-" + sha256(of).substr(0, 16));
      cache_ = std::make_unique<PreparedCache>(*storage_, memory_->path(), budget().value_or(free / 2));
    } catch (const Error& error) {
      log::warning(text("SmartCache: ", error.message(), "; the window goes to the disk"));
      cache_.reset();
      memory_.reset();
    }
  }

  // Made when it is first needed: a dataset that only names its cases makes no folder.
  PreparedCache& cache() const {
    const std::lock_guard lock(opening_);
    if (cache_) return *cache_;
    storage_ = make_storage();
    open_shared_memory();
    if (!cache_) cache_ = std::make_unique<PreparedCache>(*storage_, chosen_cache_folder(config_), budget());
    return *cache_;
  }

  SmartCache& smart(uint64_t seed) const {
    PreparedCache& store = cache();
    const std::lock_guard lock(opening_);
    if (!smart_) {
      smart_ = std::make_unique<SmartCache>(
          SmartCache::Parts{
              .window = SmartWindow(seed, cases(), config_.cache_rate, config_.replace_rate),
              .cache = store,
              .gives_up = memory_ != nullptr,
              .key_of = [this](int64_t number) { return key_of(number); },
              .make = [this](int64_t number, const std::string& key) { return maker_for_key(number, key); }},
          seed);
    }
    return *smart_;
  }

  const DataConfig config_;
  const CaseReader reader_;
  const TransformChain chain_;
  const std::vector<int64_t> numbers_;  // in the whole index
  const std::string window_name_;
  const bool is_smart_, is_full_;
  std::vector<Case> cases_;
  std::unique_ptr<RecentVolumes> recent_;  // all invented ones; volumes that more than one sample is cut from

  mutable std::mutex opening_;  // guards what is made when it is first needed
  mutable std::unique_ptr<Storage> storage_;
  mutable std::unique_ptr<SharedFolder> memory_;
  mutable std::unique_ptr<PreparedCache> cache_;

  mutable std::mutex mutex_;                               // guards what follows
  mutable std::vector<std::optional<CacheEntry>> opened_;  // empty unless entries stay open
  mutable std::vector<std::string> keys_;                  // empty where not known yet

  mutable std::unique_ptr<SmartCache> smart_;  // the last: its thread uses the others
};

}  // namespace

std::unique_ptr<PreparableDataset> make_volume_dataset(const DataConfig& data, const Index& index,
                                                       Split split, const Json& transforms,
                                                       const std::vector<std::string>& only,
                                                       const MakeImage& make) {
  return std::make_unique<VolumeDataset>(data, index, split, transforms, only, make);
}

}  // namespace larmor
