#include "larmor/ranks/deal.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "larmor/base/files/file.h"
#include "larmor/base/log.h"
#include "larmor/base/process/readiness.h"
#include "larmor/base/text.h"
#include "larmor/launch/hosts/local_host.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/net/channel.h"

namespace larmor::ranks {

namespace {

/// Of two ends that nobody else has: there is nothing to prove.
Channel channel_over(Descriptor socket) { return Channel({.socket = std::move(socket), .keys = {}}); }

/// A rank of its own group: its process, its board and its log.
struct DealtRank {
  explicit DealtRank(Descriptor own) : channel(channel_over(std::move(own))) {}

  LocalHost host{/*signals=*/nullptr, /*console=*/false};
  Channel channel;
  std::optional<std::size_t> at;        // the piece that it is computing
  std::optional<std::size_t> upcoming;  // that it was told to expect, and may read ahead
  bool is_ready = false;
  std::string hang = {};  // why it was killed
};

class Dealer {
 public:
  Dealer(const Job& job, std::size_t count, const Dealing& dealing)
      : job_(job), dealing_(dealing), hang_watch_(job.hang), all_(count) {
    for (std::size_t piece = 0; piece < count; ++piece) left_.insert(piece);
    common_.world_size = common_.local_count = job.plan.world_size();
    common_.threads_per_rank = job.plan.threads_per_rank;
    common_.master_port = 1;  // nobody is there: they do not speak with one another
    common_.arguments = job.words;
    common_.job = to_text(job);
    common_.log_folder = scratch_.path();
  }

  std::vector<Dealt> run() {
    ranks_.resize(static_cast<std::size_t>(job_.plan.world_size()));
    starts_.resize(ranks_.size());
    shown_.resize(ranks_.size());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) start(rank);
    while (std::ranges::any_of(ranks_, [](const auto& rank) { return rank != nullptr; })) wait();
    if (done_ == 0 && !stop_requested() && !all_.empty()) {
      fail(first_end_.value_or(Exit::rank_lost),
           text("no rank is left, and ", all_.size() - done_, " of ", all_.size(), " cases are to be done"),
           "what ended the ranks stands above");
    }
    for (const std::size_t piece : left_)
      all_[piece].exit = stop_requested() ? Exit::stopped : first_end_.value_or(Exit::rank_lost);
    return std::move(all_);
  }

 private:
  void start(std::size_t rank) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      fail(Exit::environment, text("no socket for a rank: ", std::strerror(errno)));
    const Descriptor theirs(ends[1]);
    ranks_[rank] = std::make_unique<DealtRank>(Descriptor(ends[0]));
    GroupStart start = common_;
    const int index = static_cast<int>(rank);
    start.generation = starts_[rank]++;
    start.ranks = {{.rank = index, .local_index = index, .cores = job_.plan.ranks[rank].cores}};
    start.channel = theirs.number();
    ranks_[rank]->host.start(start);
  }

  void wait() {
    std::vector<pollfd> watched;
    for (const auto& rank : ranks_) {
      if (!rank) continue;
      for (const int descriptor : rank->host.descriptors()) watched.push_back({descriptor, POLLIN, 0});
      if (!rank->channel.is_closed()) watched.push_back({rank->channel.descriptor(), POLLIN, 0});
    }
    constexpr std::chrono::milliseconds look_interval(250);  // a signal may come before the wait
    wait_for_any(watched, look_interval);
    const bool tells = stop_requested() && !std::exchange(has_told_stop_, true);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!ranks_[rank]) continue;
      if (tells) ranks_[rank]->host.send(static_cast<int>(rank), SIGTERM);
      look_at(rank);
    }
  }

  void look_at(std::size_t rank) {
    auto& one = *ranks_[rank];
    const auto endings = one.host.take_endings();  // before what they have sent, so that all of it is there
    for (auto& message : one.channel.receive()) take(one, std::move(message));
    show_log(rank);
    if (endings.empty()) return end_if_it_hangs(rank);
    const auto ended = std::move(ranks_[rank]);
    bury(*ended, endings.front());
    if (ended->at && !stop_requested() && !left_.empty()) start(rank);
  }

  void take(DealtRank& one, Json message) {
    one.is_ready = true;
    if (const auto result = message.find("result"); result != message.end() && one.at) {
      all_[*one.at] = {.end = Dealt::End::done, .result = std::move(*result), .exit = Exit::done};
      one.at.reset();
      ++done_;
    }
    if (left_.empty() || stop_requested()) return one.channel.close("nothing is left to do");
    one.at = one.upcoming && left_.contains(*one.upcoming) ? *one.upcoming
                                                           : first_unread().value_or(*left_.begin());
    left_.erase(*one.at);
    one.upcoming = first_unread();
    dealing_.before(*one.at);
    Json upcoming = Json::array();
    if (one.upcoming) upcoming.push_back(*one.upcoming);
    one.channel.send({{"piece", *one.at}, {"upcoming", upcoming}});
  }

  /// The first piece that no rank expects.
  std::optional<std::size_t> first_unread() const {
    for (const std::size_t piece : left_) {
      if (std::ranges::none_of(ranks_, [&](const auto& rank) { return rank && rank->upcoming == piece; }))
        return piece;
    }
    return std::nullopt;
  }

  /// What it has printed since the last look.
  void show_log(std::size_t rank) {
    const auto file = scratch_.path() / text("rank-", rank, ".log");
    if (std::filesystem::file_size(file) <= shown_[rank]) return;
    const auto log = read_text(file);
    dealing_.said(std::string(trim(log.substr(std::exchange(shown_[rank], log.size())))));
  }

  /// One that waits for a piece has nothing to show.
  void end_if_it_hangs(std::size_t rank) {
    auto& one = *ranks_[rank];
    if (!one.hang.empty() || (one.is_ready && !one.at)) return;
    const int index = static_cast<int>(rank);
    const auto hang = hang_watch_.look({one.host.statuses()[index]});
    if (!hang) return;
    const auto state = one.host.process_state(index);
    one.hang =
        text(silence_text(index, hang->seconds, hang->limit), " while ", one.at ? "computing it" : "starting",
             state.empty() ? "" : text("; its process is ", state));
    log::warning(text(one.at ? dealing_.name(*one.at) + ": " : "", one.hang));
    one.host.send(index, SIGKILL);
  }

  void bury(const DealtRank& one, const RankEnding& how) {
    const auto& [status, signal] = how.ending;
    const auto exit = signal == 0 ? static_cast<Exit>(status) : Exit::rank_lost;
    if (!how.ending.ok() && !first_end_) first_end_ = exit;
    if (!one.at) return;
    ++done_;
    auto& piece = all_[*one.at];
    piece.exit = exit;
    if (stop_requested()) {
      piece.end = Dealt::End::stopped;
    } else if (!one.hang.empty()) {
      piece.end = Dealt::End::hung;
      piece.loss = one.hang;
    } else {
      piece.end = Dealt::End::lost;
      piece.loss = text("rank ", how.rank, " ended with it: ", how.ending.describe(),
                        how.evidence.empty() ? "" : "; ", how.evidence);
    }
  }

  const Job& job_;
  const Dealing& dealing_;
  const ScratchFolder scratch_;  // of the logs
  GroupStart common_;
  HangWatch hang_watch_;
  std::vector<Dealt> all_;
  std::vector<std::unique_ptr<DealtRank>> ranks_;
  std::vector<int64_t> starts_;     // of each rank, so far
  std::vector<std::size_t> shown_;  // bytes of each log
  std::set<std::size_t> left_;      // to be dealt out
  std::size_t done_ = 0;
  std::optional<Exit> first_end_;
  bool has_told_stop_ = false;
};

}  // namespace

std::vector<Dealt> deal(const Job& job, std::size_t count, const Dealing& dealing) {
  return Dealer(job, count, dealing).run();
}

void serve(LiveRank& rank, const Compute& compute) {
  const int descriptor = rank.place().channel_descriptor;
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);  // not for what this process starts
  Channel channel = channel_over(Descriptor(descriptor));
  rank.enter(Phase::starting);
  channel.send({{"ready", true}});
  while (!channel.is_closed()) {
    const Json message = channel.receive_within(std::chrono::hours(1));
    if (message.is_null()) continue;
    const auto piece = message.at("piece").get<int64_t>();
    rank.enter(Phase::computing, piece);
    channel.send({{"result", compute(piece, message.at("upcoming").get<std::vector<int64_t>>())}});
  }
}

}  // namespace larmor::ranks
