#include "larmor/comm/store_server.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include <poll.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/process/readiness.h"
#include "larmor/base/text.h"
#include "larmor/net/authenticating_listener.h"
#include "larmor/net/channel.h"

namespace larmor {
namespace {

void put_number(std::string& bytes, uint64_t number) {
  char digits[sizeof(number)];
  std::memcpy(digits, &number, sizeof(number));
  bytes.append(digits, sizeof(number));
}

std::optional<uint64_t> take_number(std::string_view& bytes) {
  uint64_t number = 0;
  if (bytes.size() < sizeof(number)) return std::nullopt;
  std::memcpy(&number, bytes.data(), sizeof(number));
  bytes.remove_prefix(sizeof(number));
  return number;
}

size_t fields_of(StoreOperation operation) {
  switch (operation) {
    case StoreOperation::compare_set:
      return 3;
    case StoreOperation::set:
    case StoreOperation::add:
    case StoreOperation::append:
      return 2;
    case StoreOperation::get:
    case StoreOperation::remove:
      return 1;
    default:
      return 0;
  }
}

/// Whether it may give what another waits for.
bool adds_values(const StoreMessage& request) {
  switch (request.operation) {
    case StoreOperation::set:
    case StoreOperation::compare_set:
    case StoreOperation::add:
    case StoreOperation::append:
      return true;
    default:
      return false;
  }
}

bool waits(const StoreMessage& request) {
  return request.operation == StoreOperation::get || request.operation == StoreOperation::wait;
}

Descriptor open_event() {
  Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.is_open())
    fail(Exit::environment, text("cannot keep a store for the ranks: ", std::strerror(errno)),
         "raise the limit of open files (ulimit -n)");
  return event;
}

}  // namespace

std::string to_field(const std::vector<uint8_t>& value) { return {value.begin(), value.end()}; }

std::vector<uint8_t> to_value(const std::string& field) { return {field.begin(), field.end()}; }

std::string to_bytes(const StoreMessage& message) {
  std::string bytes;
  put_number(bytes, message.number);
  bytes += static_cast<char>(message.operation);
  for (const auto& field : message.fields) {
    put_number(bytes, field.size());
    bytes += field;
  }
  return bytes;
}

std::optional<StoreMessage> store_message_from(std::string_view bytes) {
  const auto number = take_number(bytes);
  if (!number || bytes.empty() ||
      static_cast<uint8_t>(bytes[0]) > static_cast<uint8_t>(StoreOperation::refusal))
    return std::nullopt;
  StoreMessage message{.number = *number, .operation = static_cast<StoreOperation>(bytes[0])};
  bytes.remove_prefix(1);
  while (!bytes.empty()) {
    const auto length = take_number(bytes);
    if (!length || *length > bytes.size()) return std::nullopt;
    message.fields.emplace_back(bytes.substr(0, *length));
    bytes.remove_prefix(*length);
  }
  return message;
}

struct StoreServer::State {
  struct Client {
    SealedStream stream;
    std::optional<StoreMessage> waiting = {};
    bool has_spoken = false;  // or is to be sent more, or is gone
  };

  State(Descriptor listening_socket, const RunKey& key)
      : listening(std::move(listening_socket)),
        stop(open_event()),
        listener(listening.number(), key, store_purpose),
        thread([this] { serve(); }) {}
  ~State() {
    // Never full: this is all that is written to it.
    static_cast<void>(eventfd_write(stop.number(), 1));
    thread.join();
  }

  void serve();
  void serve_once();
  bool wait_for_something();
  void hear(Client& client);
  void answer(Client& client, const StoreMessage& request);
  std::vector<std::string> carry_out(const StoreMessage& request);

  Descriptor listening, stop;
  AuthenticatingListener listener;
  std::vector<Client> clients;
  c10::intrusive_ptr<c10d::HashStore> values = c10::make_intrusive<c10d::HashStore>();
  bool has_changed = false;  // the values, since those that wait were looked at
  std::thread thread;
};

/// False when it is to end.
bool StoreServer::State::wait_for_something() {
  std::vector<pollfd> watched{{stop.number(), POLLIN, 0}};
  listener.watch(watched);
  const bool accepts_peers = watched.size() > 1 && watched[1].fd == listening.number();
  for (const auto& client : clients) {
    const auto events = static_cast<short>(client.stream.has_unsent() ? POLLIN | POLLOUT : POLLIN);
    watched.push_back({client.stream.descriptor(), events, 0});
  }
  // Unproven peers have a time limit; otherwise nothing happens without an event.
  constexpr int soon_ms = 250;
  wait_for_any(watched, std::chrono::milliseconds(listener.unproven() == 0 && accepts_peers ? -1 : soon_ms));
  const size_t others = watched.size() - clients.size();
  for (size_t i = 0; i < clients.size(); ++i) clients[i].has_spoken = watched[others + i].revents != 0;
  return (watched[0].revents & POLLIN) == 0;
}

void StoreServer::State::serve_once() {
  for (auto& peer : listener.serve()) clients.push_back({SealedStream(std::move(peer))});
  // Only those that have: asking each one at every message of another would be the square of the ranks.
  for (auto& client : clients) {
    if (std::exchange(client.has_spoken, false)) hear(client);
  }
  // What one has said may be what another waits for.
  const bool has_news = std::exchange(has_changed, false);
  for (auto& client : clients) {
    if (has_news && client.waiting) answer(client, *std::exchange(client.waiting, std::nullopt));
  }
  std::erase_if(clients, [](const Client& client) { return client.stream.is_closed(); });
}

void StoreServer::State::serve() {
  try {
    while (wait_for_something()) serve_once();
  } catch (const std::exception& error) {
    // Ranks that wait for an answer lose the store at once.
    log::error(text("the store of the ranks has ended: ", error.what()));
    clients.clear();
    listening.reset();
  }
}

void StoreServer::State::hear(Client& client) {
  for (const auto& bytes : client.stream.receive()) {
    const auto request = store_message_from(bytes);
    if (!request || request->fields.size() < fields_of(request->operation))
      return client.stream.close("it sent something that is no request to a store");
    answer(client, *request);
  }
}

void StoreServer::State::answer(Client& client, const StoreMessage& request) {
  if (waits(request) && !values->check(request.fields)) {
    client.waiting = request;
    return;
  }
  has_changed = has_changed || adds_values(request);
  StoreMessage reply{.number = request.number};
  try {
    reply.fields = carry_out(request);
  } catch (const std::exception& error) {  // "add" to what is no number
    reply = {.number = request.number, .operation = StoreOperation::refusal, .fields = {error.what()}};
  }
  client.stream.send(to_bytes(reply));
}

std::vector<std::string> StoreServer::State::carry_out(const StoreMessage& request) {
  const auto& fields = request.fields;
  switch (request.operation) {
    case StoreOperation::set:
      values->set(fields[0], to_value(fields[1]));
      return {};
    case StoreOperation::compare_set:
      return {to_field(values->compareSet(fields[0], to_value(fields[1]), to_value(fields[2])))};
    case StoreOperation::get:
      return {to_field(values->get(fields[0]))};
    case StoreOperation::add:
      return {std::to_string(values->add(fields[0], std::stoll(fields[1])))};
    case StoreOperation::remove:
      return {values->deleteKey(fields[0]) ? "1" : "0"};
    case StoreOperation::check:
      return {values->check(fields) ? "1" : "0"};
    case StoreOperation::count:
      return {std::to_string(values->getNumKeys())};
    case StoreOperation::wait:
      return {};
    case StoreOperation::append:
      values->append(fields[0], to_value(fields[1]));
      return {};
    case StoreOperation::reply:
    case StoreOperation::refusal:
      break;
  }
  fail(Exit::environment, "a store is asked, and does not ask");
}

StoreServer::StoreServer(Descriptor listening, const RunKey& key)
    : state_(std::make_unique<State>(std::move(listening), key)) {}

StoreServer::~StoreServer() = default;

}  // namespace larmor
