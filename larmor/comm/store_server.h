// The side of keyed_store.h that keeps the values: rank 0's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/process/descriptor.h"
#include "larmor/net/run_key.h"

namespace larmor {

constexpr const char* store_purpose = "store";

enum class StoreOperation : uint8_t {
  set,          // key, value
  compare_set,  // key, expected, desired: the value that it has now
  get,          // key: its value, as soon as it has one
  add,          // key, a number in digits: the sum
  remove,       // key: "1" when it was there
  check,        // keys: "1" when all are there
  count,        // how many keys there are
  wait,         // keys: an answer as soon as all are there
  append,       // key, value
  reply,        // to the request of the same number
  refusal,      // the same, with the reason
};

/// A request or a reply as the bytes of a sealed frame: its number, its operation, and each field behind its
/// length.
struct StoreMessage {
  uint64_t number = 0;
  StoreOperation operation = StoreOperation::reply;
  std::vector<std::string> fields = {};
};
std::string to_bytes(const StoreMessage& message);
/// A value of c10d's store as a field of a message, and back.
std::string to_field(const std::vector<uint8_t>& value);
std::vector<uint8_t> to_value(const std::string& field);
/// Nothing for bytes that are no message.
std::optional<StoreMessage> store_message_from(std::string_view bytes);

/// Serves a store in a thread of its own as long as it lives. A peer that speaks nonsense is hung up on.
class StoreServer {
 public:
  StoreServer(Descriptor listening, const RunKey& key);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larmor
