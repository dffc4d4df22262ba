// kept(): a source whose volumes are made once and found again, by this process and by others.
#include <mutex>
#include <optional>
#include <utility>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/prepared_cache.h"
#include "larmor/data/cache/shared_folder.h"
#include "larmor/data/cache/smart_cache.h"
#include "larmor/data/volume_source.h"

namespace larmor {
namespace {

// A mapping a case: the kernel allows 65530.
constexpr std::size_t most_open_entries = 20000;
// Containers are given 64 MiB of shared memory, which is no place for volumes.
constexpr uint64_t least_shared_memory = uint64_t{1} << 30;

/// What was read is not what the key was made from.
struct SourceChanged : Error {
  using Error::Error;
};

std::optional<uint64_t> budget_of(const DataConfig& data) {
  if (!data.budget_bytes) return std::nullopt;
  return static_cast<uint64_t>(*data.budget_bytes);
}

/// The prepared cache of a config, or of SmartCache's window. Made when it is first needed: a dataset that
/// only names its cases makes no folder. Thread-safe.
class LazyCache {
 public:
  /// `name` tells this window from others on the machine.
  LazyCache(const DataConfig& data, std::string name) : data_(data), name_(std::move(name)) {}

  PreparedCache& get() {
    const std::lock_guard lock(mutex_);
    if (cache_) return *cache_;
    storage_ = make_storage();
    open_in_memory();
    if (!cache_)
      cache_ = std::make_unique<PreparedCache>(*storage_, chosen_cache_folder(data_), budget_of(data_));
    return *cache_;
  }
  bool is_in_memory() const { return memory_ != nullptr; }

 private:
  // SmartCache's window lies in memory where there is enough of it that processes can share.
  void open_in_memory() {
    const uint64_t free = free_shared_memory();
    const bool is_free_to_choose = data_.cache_folder.empty() || data_.cache_folder == "auto";
    if (data_.cache != "smart" || !is_free_to_choose || free < least_shared_memory) return;
    try {
      const std::string of = text(name_, data_.cache_rate, data_.replace_rate);
      memory_ = std::make_unique<SharedFolder>(memory_folder(), sha256(of).substr(0, 16));
      cache_ =
          std::make_unique<PreparedCache>(*storage_, memory_->path(), budget_of(data_).value_or(free / 2));
    } catch (const Error& error) {
      log::warning(text("SmartCache: ", error.message(), "; the window goes to the disk"));
      cache_.reset();
      memory_.reset();
    }
  }

  const DataConfig data_;
  const std::string name_;
  std::mutex mutex_;  // guards what follows
  std::unique_ptr<Storage> storage_;
  std::unique_ptr<SharedFolder> memory_;
  std::unique_ptr<PreparedCache> cache_;
};

/// A source's cases in a prepared cache: keys of what is in their files, and entries under these keys.
class KeptVolumes : public SourceDecorator {
 public:
  KeptVolumes(std::unique_ptr<VolumeSource> source, const DataConfig& data, Json key)
      : SourceDecorator(std::move(source)), key_(std::move(key)), cache_(data, origin() + key_.dump()) {
    keys_.resize(static_cast<std::size_t>(cases()));
  }

  bool keeps() const override { return true; }
  bool is_prepared(int64_t number) const override { return cache_.get().holds(key_of(number)); }
  CachePlace cache_place() const override {
    const PreparedCache& cache = cache_.get();
    return {.folder = cache.folder(), .budget_bytes = cache.budget_bytes(), .present_bytes = cache.bytes()};
  }
  uint64_t prepare(int64_t number) const override {
    const PreparedExample prepared = from_store(number);
    return prepared.entry ? prepared.entry->bytes() : 0;
  }
  void discard(int64_t number, const Error& damage) const override {
    cache_.get().discard(key_of(number), text(case_name(number), ": ", damage.message()));
  }

 protected:
  LazyCache& cache() const { return cache_; }

  static SourceVolumes given(PreparedExample prepared) {
    if (prepared.entry) return {.deferred = prepared.entry->deferred()};
    return {.volumes = std::move(prepared.volumes)};
  }

  PreparedExample from_store(int64_t number) const {
    return with_key(number, [this](const std::string& key, const PreparedCache::Make& make) {
      return cache_.get().get(key, make);
    });
  }

  /// `work` with the case's key; again with the new one where its files have changed since it was made.
  template <class Work>
  PreparedExample with_key(int64_t number, const Work& work) const {
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

  /// For an entry under `key`: what is in the files is looked at again when they have been read, because a
  /// file that was replaced meanwhile would be kept under the hash of what it was.
  PreparedCache::Make maker_for_key(int64_t number, std::string key) const {
    return [this, number, key = std::move(key)] {
      SourceVolumes made = inner().get({.example = number});
      ensure(!made.deferred);
      if (new_key_of(number) == key) return std::move(made.volumes);
      const std::lock_guard lock(mutex_);
      keys_[static_cast<std::size_t>(number)].clear();
      throw SourceChanged(Exit::data, text(case_name(number), ": changed while it was prepared"),
                          "start again when nobody writes to it");
    };
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

 private:
  /// Of what is in the files now; what has not changed is not read again.
  std::string new_key_of(int64_t number) const {
    return cache_key(contents(number, cache_.get().sources()), key_);
  }

  const Json key_;
  mutable LazyCache cache_;
  mutable std::mutex mutex_;               // guards what follows
  mutable std::vector<std::string> keys_;  // empty where not known yet
};

/// data.cache=full: every case is kept, and stays open once it was.
class FullyKept final : public KeptVolumes {
 public:
  FullyKept(std::unique_ptr<VolumeSource> source, const DataConfig& data, Json key)
      : KeptVolumes(std::move(source), data, std::move(key)) {
    const auto count = static_cast<std::size_t>(cases());
    opened_.resize(count <= most_open_entries ? count : 0);
  }

  SourceVolumes get(const ExampleKey& key) const override { return given(opened(key.example)); }

  uint64_t prepare(int64_t number) const override {
    // Stays open, and so is not pushed out by what another split prepares.
    const PreparedExample prepared = opened(number);
    return prepared.entry ? prepared.entry->bytes() : 0;
  }

  void discard(int64_t number, const Error& damage) const override {
    KeptVolumes::discard(number, damage);
    if (opened_.empty()) return;
    const std::lock_guard lock(mutex_);
    opened_[static_cast<std::size_t>(number)].reset();
  }

 private:
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

  mutable std::mutex mutex_;                               // guards what follows
  mutable std::vector<std::optional<CacheEntry>> opened_;  // empty unless entries stay open
};

/// data.cache=smart: cases are prepared in the background before the window comes to them.
class KeptInWindow final : public KeptVolumes {
 public:
  KeptInWindow(std::unique_ptr<VolumeSource> source, const DataConfig& data, Json key)
      : KeptVolumes(std::move(source), data, std::move(key)),
        cache_rate_(data.cache_rate),
        replace_rate_(data.replace_rate) {}

  SourceVolumes get(const ExampleKey& key) const override {
    return given(with_key(key.example, [&](const std::string&, const PreparedCache::Make&) {
      return smart(key.seed).get(key);
    }));
  }

 private:
  SmartCache& smart(uint64_t seed) const {
    PreparedCache& store = cache().get();
    const std::lock_guard lock(mutex_);
    if (!smart_) {
      smart_ = std::make_unique<SmartCache>(
          SmartCache::Parts{
              .window = SmartWindow(seed, cases(), cache_rate_, replace_rate_),
              .cache = store,
              .gives_up = cache().is_in_memory(),
              .key_of = [this](int64_t number) { return key_of(number); },
              .make = [this](int64_t number, const std::string& key) { return maker_for_key(number, key); }},
          seed);
    }
    return *smart_;
  }

  const double cache_rate_, replace_rate_;
  mutable std::mutex mutex_;                   // guards what follows
  mutable std::unique_ptr<SmartCache> smart_;  // the last: its thread uses the others
};

}  // namespace

std::unique_ptr<VolumeSource> kept(std::unique_ptr<VolumeSource> source, const DataConfig& data, Json key) {
  if (data.cache == "full") return std::make_unique<FullyKept>(std::move(source), data, std::move(key));
  if (data.cache == "smart") return std::make_unique<KeptInWindow>(std::move(source), data, std::move(key));
  return source;
}

}  // namespace larmor
