// A key-value store for ranks of our launcher: c10d's interface for peers that prove that they know the
// store's key (net/authenticating_listener.h). c10d's own store serves every peer that reaches its port,
// and even lists its keys.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "larmor/comm/store_server.h"
#include "larmor/net/channel.h"
#include "larmor/net/run_key.h"

namespace larmor {

/// The address of a store, and the key that its clients need.
struct StoreLocation {
  std::string address;
  int port = 0;
  RunKey key;
};

/// Thread-safe: one operation at a time, so who waits for a key holds up the others; a clone() has a
/// connection of its own. Its operations throw c10::DistStoreError when the limit is over,
/// c10::DistNetworkError when the store is lost.
class KeyedStore final : public c10d::Store {
 public:
  /// Blocks until the store has accepted this process. Throws Error (environment) when it does not within the
  /// limit; `who` names us in it. `server`: where this process keeps the store itself, as long as anybody
  /// uses it here.
  KeyedStore(StoreLocation location, std::chrono::milliseconds limit, const std::string& who,
             std::shared_ptr<StoreServer> server = nullptr);

  /// The numeric address with which this host speaks to the store's.
  const std::string& local_address() const { return local_address_; }

  c10::intrusive_ptr<c10d::Store> clone() override;
  using c10d::Store::set;
  void set(const std::string& key, const std::vector<uint8_t>& value) override;
  using c10d::Store::compareSet;
  std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& expected,
                                  const std::vector<uint8_t>& desired) override;
  std::vector<uint8_t> get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;
  void append(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys,
                const std::vector<std::vector<uint8_t>>& values) override;
  bool hasExtendedApi() const override { return true; }

 private:
  std::vector<std::string> ask(StoreOperation operation, std::vector<std::string> fields,
                               std::chrono::milliseconds limit);
  void join(std::chrono::milliseconds limit);

  StoreLocation location_;
  std::string who_, local_address_;
  std::shared_ptr<StoreServer> server_;
  std::mutex mutex_;
  std::unique_ptr<SealedStream> stream_;
  uint64_t number_ = 0;
};

}  // namespace larmor
