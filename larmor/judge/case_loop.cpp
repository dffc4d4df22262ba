#include "larmor/judge/case_loop.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include "larmor/base/load_clock.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/data/loader/worker_thread.h"
#include "larmor/device/memory/out_of_memory.h"

namespace larmor {

namespace {

bool are_alike(const Batch& one, const Batch& other) {
  return std::ranges::equal(one.tensors, other.tensors, [](const auto& left, const auto& right) {
    return left.first == right.first && left.second.sizes() == right.second.sizes();
  });
}

ReadCase together(const std::vector<ReadCase>& cases) {
  ReadCase all{.number = cases.front().number};
  for (const ReadCase& one : cases) all.batch.keys.push_back(one.batch.keys.front());
  for (const auto& [name, tensor] : cases.front().batch.tensors) {
    std::vector<at::Tensor> rows;
    for (const ReadCase& one : cases) rows.push_back(one.batch.at(name));
    all.batch.tensors.emplace(name, at::cat(rows));
  }
  return all;
}

}  // namespace

CaseLoop::CaseLoop(CaseWork& work, CaseLoopOptions options) : work_(work), options_(std::move(options)) {}

void CaseLoop::run(std::span<const int64_t> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) take(numbers[i], numbers.subspan(i + 1));
  finish();
}

void CaseLoop::take(int64_t number, std::span<const int64_t> upcoming) {
  send_heartbeat();
  at_ = number;
  const auto reading_it = reading(number);
  reading_it.wait();  // so that no more threads read than `ahead`: each has an address space of its own
  const auto following = upcoming.first(std::min(upcoming.size(), static_cast<std::size_t>(options_.ahead)));
  for (const int64_t other : following) reading(other);
  std::erase_if(readings_, [&](const auto& entry) {
    return std::ranges::find(following, entry.first) == following.end();
  });
  next_ = following.empty() ? std::nullopt : std::optional(following.front());
  if (const auto failure = failure_of([&] { reading_it.get(); })) {
    work_.leave_out(number, *failure);
  } else {
    const ReadCase& one = reading_it.get();
    if (!kept_.empty() && !are_alike(kept_.front().batch, one.batch)) finish();
    kept_.push_back(one);
    if (std::ssize(kept_) >= options_.at_once) finish();
  }
  at_.reset();
}

std::shared_future<ReadCase> CaseLoop::reading(int64_t number) {
  auto& future = readings_[number];
  if (!future.valid()) {
    future = std::async(std::launch::async, [this, number] {
      work_alone();
      const at::NoGradGuard no_gradients;
      const HeartbeatScope beats(beats_);
      const LoadClock stages(send_heartbeat);
      return work_.read(number);
    });
  }
  return future;
}

const ReadCase* CaseLoop::upcoming() const {
  if (!next_) return nullptr;
  const auto& future = readings_.at(*next_);
  if (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return nullptr;
  try {
    return &future.get();
  } catch (...) {  // take() tells of it
    return nullptr;
  }
}

/// Each by itself where some case is of no use, or they are too much together.
void CaseLoop::finish() {
  const auto cases = std::exchange(kept_, {});
  if (cases.size() > 1) {
    at_ = cases.front().number;
    if (!failure_of([&] { work_.compute(together(cases), options_.fits_in_one_pass); })) return at_.reset();
  }
  for (const ReadCase& one : cases) compute_alone(one);
}

/// What costs a case and no other: what it lacks, and memory that it alone takes.
std::optional<Error> CaseLoop::failure_of(const std::function<void()>& work) const {
  try {
    work();
    return std::nullopt;
  } catch (const Error& error) {
    if (error.exit() != Exit::data) throw;
    return error;
  } catch (const std::exception&) {
    const auto failure = std::current_exception();
    if (!is_out_of_memory(failure)) throw;
    release_cached_memory(options_.device);
    return Error(Exit::memory, text("memory ran out: ", describe_out_of_memory(failure)),
                 "a GPU with more free memory, --device cpu, or a smaller volume");
  }
}

void CaseLoop::compute_alone(const ReadCase& one) {
  at_ = one.number;
  bool goes_in_one_pass = false;
  auto failure = failure_of([&] {
    work_.compute(one, [&](double examples) {
      goes_in_one_pass = options_.fits_in_one_pass(examples);
      return goes_in_one_pass;
    });
  });
  if (failure && failure->exit() == Exit::memory && goes_in_one_pass) {
    log::warning(text(work_.name(one.number), ": memory ran out in one pass; it goes on in windows"));
    failure = failure_of([&] { work_.compute(one, [](double) { return false; }); });
  }
  if (failure) work_.leave_out(one.number, *failure);
  at_.reset();
}

}  // namespace larmor
