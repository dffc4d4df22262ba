#include "larmor/comm/keyed_store.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <c10/util/Exception.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/comm/rank_store.h"
#include "larmor/net/authenticating_listener.h"
#include "larmor/net/socket.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

milliseconds left_before(steady_clock::time_point deadline) {
  return std::max(std::chrono::ceil<milliseconds>(deadline - steady_clock::now()), milliseconds(0));
}

/// c10d's word for waiting as long as it takes.
bool has_no_limit(milliseconds limit) { return limit == c10d::Store::kNoTimeout; }

}  // namespace

KeyedStore::KeyedStore(StoreLocation location, milliseconds limit, const std::string& who,
                       std::shared_ptr<StoreServer> server)
    : c10d::Store(limit), location_(std::move(location)), who_(who), server_(std::move(server)) {
  join(limit);
}

void KeyedStore::join(milliseconds limit) {
  const auto deadline = steady_clock::now() + limit;
  constexpr milliseconds pause(50);
  for (std::string reason;;) {
    auto socket = connect_within(location_.address, location_.port, left_before(deadline), who_);
    local_address_ = own_address(socket.number());
    auto peer = authenticate(std::move(socket), location_.key, store_purpose, left_before(deadline), reason);
    if (peer.socket.is_open()) {
      stream_ = std::make_unique<SealedStream>(std::move(peer));
      return;
    }
    if (left_before(deadline).count() == 0) {
      fail(Exit::environment,
           text(who_, " reached ", location_.address, ":", location_.port,
                ", but the run's store does not answer there: ", reason),
           "rank 0 keeps it, and may have ended: its log says why");
    }
    std::this_thread::sleep_for(std::min(pause, left_before(deadline)));
  }
}

std::vector<std::string> KeyedStore::ask(StoreOperation operation, std::vector<std::string> fields,
                                         milliseconds limit) {
  const std::lock_guard one_at_a_time(mutex_);
  const auto number = ++number_;
  const auto deadline = steady_clock::now() + limit;
  constexpr milliseconds long_time(std::chrono::hours(1));
  stream_->send(to_bytes({.number = number, .operation = operation, .fields = std::move(fields)}));
  for (;;) {
    for (const auto& bytes : stream_->receive()) {
      auto reply = store_message_from(bytes);
      // An answer that nobody has waited for until it came is passed over.
      if (!reply || reply->number != number) continue;
      if (reply->operation == StoreOperation::reply) return std::move(reply->fields);
      C10_THROW_ERROR(DistStoreError, reply->fields.empty() ? "the store refused" : reply->fields[0]);
    }
    if (stream_->is_closed())
      C10_THROW_ERROR(DistNetworkError, text("the connection to the store is lost: ", stream_->why_closed()));
    const auto left = has_no_limit(limit) ? long_time : left_before(deadline);
    if (left.count() == 0)
      C10_THROW_ERROR(DistStoreError, text("wait timeout after ", limit.count(), "ms in the store"));
    stream_->wait(left);
  }
}

c10::intrusive_ptr<c10d::Store> KeyedStore::clone() {
  auto other = c10::make_intrusive<KeyedStore>(location_, timeout_, who_, server_);
  return other;
}

void KeyedStore::set(const std::string& key, const std::vector<uint8_t>& value) {
  ask(StoreOperation::set, {key, to_field(value)}, timeout_);
}

std::vector<uint8_t> KeyedStore::compareSet(const std::string& key, const std::vector<uint8_t>& expected,
                                            const std::vector<uint8_t>& desired) {
  return to_value(
      ask(StoreOperation::compare_set, {key, to_field(expected), to_field(desired)}, timeout_).at(0));
}

std::vector<uint8_t> KeyedStore::get(const std::string& key) {
  return to_value(ask(StoreOperation::get, {key}, timeout_).at(0));
}

int64_t KeyedStore::add(const std::string& key, int64_t value) {
  return std::stoll(ask(StoreOperation::add, {key, std::to_string(value)}, timeout_).at(0));
}

bool KeyedStore::deleteKey(const std::string& key) {
  return ask(StoreOperation::remove, {key}, timeout_).at(0) == "1";
}

bool KeyedStore::check(const std::vector<std::string>& keys) {
  return ask(StoreOperation::check, keys, timeout_).at(0) == "1";
}

int64_t KeyedStore::getNumKeys() { return std::stoll(ask(StoreOperation::count, {}, timeout_).at(0)); }

void KeyedStore::wait(const std::vector<std::string>& keys, const milliseconds& timeout) {
  ask(StoreOperation::wait, keys, timeout);
}

void KeyedStore::append(const std::string& key, const std::vector<uint8_t>& value) {
  ask(StoreOperation::append, {key, to_field(value)}, timeout_);
}

std::vector<std::vector<uint8_t>> KeyedStore::multiGet(const std::vector<std::string>& keys) {
  std::vector<std::vector<uint8_t>> values;
  for (const auto& key : keys) values.push_back(get(key));  // together they could be longer than a frame
  return values;
}

void KeyedStore::multiSet(const std::vector<std::string>& keys,
                          const std::vector<std::vector<uint8_t>>& values) {
  for (size_t i = 0; i < keys.size(); ++i) set(keys[i], values.at(i));
}

}  // namespace larmor
