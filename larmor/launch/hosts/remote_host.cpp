#include "larmor/launch/hosts/remote_host.h"

#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/net/wire_number.h"

namespace larmor {

/// Signals that an agent reported and nobody has asked for; more say nothing new.
static constexpr size_t most_signals = 64;

RemoteHost::RemoteHost(Channel channel, std::string name, std::chrono::milliseconds silence,
                       const Clock& clock)
    : channel_(std::move(channel)),
      name_(std::move(name)),
      silence_(std::chrono::duration<double>(silence).count()),
      clock_(&clock),
      heard_(clock.steady_seconds()) {}

void RemoteHost::start(const GroupStart& start) {
  running_.clear();
  statuses_.clear();
  states_.clear();
  for (const auto& place : start.ranks) {
    for (int i = 0; i < place.ranks; ++i) running_.insert(place.rank + i);
  }
  Json message;
  message["start"] = to_json(start);
  channel_.send(message);
}

void RemoteHost::send(int rank, int signal) {
  if (!running_.contains(rank)) return;
  Json message;
  message["send"] = {{"rank", rank}, {"signal", signal}};
  channel_.send(message);
}

std::vector<int> RemoteHost::descriptors() const {
  if (channel_.is_closed()) return {};
  return {channel_.descriptor()};
}

void RemoteHost::lose(const std::string& why) {
  is_lost_ = true;
  // One that only slept finds out, and ends its ranks.
  channel_.close(why);
  for (const int rank : running_) {
    RankEnding ending{.rank = rank, .lost = true, .evidence = text("its host ", name_, " was lost: ", why)};
    const auto last = statuses_.find(rank);
    if (last != statuses_.end()) {
      ending.phase = last->second.phase;
      ending.step = last->second.step;
    }
    endings_.push_back(std::move(ending));
  }
  running_.clear();
}

void RemoteHost::take(const Json& message) {
  if (message.contains("ended")) {
    auto ending = rank_ending_from_json(message.at("ended"));
    const auto is_one = [&](int rank) { return rank >= ending.rank && rank - ending.rank < ending.ranks; };
    if (std::erase_if(running_, is_one) == 0) return;
    if (!ending.last_lines.empty()) ending.last_lines = text("(on ", name_, ")\n", ending.last_lines);
    endings_.push_back(std::move(ending));
  } else if (message.contains("signal")) {
    const int signal = whole_number(message, "signal", 1, 64);
    if (signals_.size() < most_signals) signals_.push_back(signal);
  } else if (message.contains("statuses")) {
    for (const auto& [key, status] : message.at("statuses").items()) {
      const int rank = number_from_key(key, 0, most_ranks);
      auto known = rank_status_from_json(status);
      if (running_.contains(rank)) statuses_.insert_or_assign(rank, std::move(known));
    }
    for (const auto& [key, state] : message.at("states").items()) {
      const int rank = number_from_key(key, 0, most_ranks);
      auto words = state.get<std::string>().substr(0, 256);
      if (running_.contains(rank)) states_.insert_or_assign(rank, std::move(words));
    }
  }
}

void RemoteHost::read_messages() {
  if (is_lost_) return;
  try {
    for (const auto& message : channel_.receive()) {
      heard_ = clock_->steady_seconds();
      take(message);
    }
  } catch (const std::exception& error) {  // a number out of range, a key that is not there
    return lose(text("it sent something that is no message of larmor (", error.what(), ")"));
  }
  if (channel_.is_closed()) return lose(channel_.why_closed());
  if (clock_->steady_seconds() - heard_ > silence_)
    lose(text("it has been silent for ", human_seconds(silence_)));
}

std::vector<RankEnding> RemoteHost::take_endings() {
  read_messages();
  return std::exchange(endings_, {});
}

int RemoteHost::take_signal() {
  if (signals_.empty()) return 0;
  const int signal = signals_.front();
  signals_.pop_front();
  return signal;
}

std::map<int, RankStatus> RemoteHost::statuses() {
  std::map<int, RankStatus> all;
  for (const int rank : running_) {
    const auto found = statuses_.find(rank);
    if (found != statuses_.end()) all.insert(*found);
  }
  return all;
}

std::string RemoteHost::process_state(int rank) {
  const auto found = states_.find(rank);
  return found == states_.end() ? "" : found->second;
}

void RemoteHost::beat() {
  Json message;
  message["beat"] = true;
  channel_.send(message);
}

void RemoteHost::dismiss(int status, const std::string& message) {
  Json over;
  over["over"] = {{"status", status}, {"message", message}};
  channel_.send(over);
  channel_.flush(std::chrono::seconds(2));
}

}  // namespace larmor
