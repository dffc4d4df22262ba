// The one loop over cases, of validation, `evaluate` and `predict`: it reads ahead, leaves out what cannot be
// used, falls back to windows where memory runs out, and shows that it goes on. Who uses it says what is done
// with a case.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "larmor/base/error.h"
#include "larmor/data/dataset.h"
#include "larmor/device/heartbeat.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

/// Whether a pass without gradient over `examples` times the voxels of a training example fits into memory.
using FitsInOnePass = std::function<bool(double examples)>;

/// What was read of a case, on the host.
struct ReadCase {
  int64_t number = 0;
  Batch batch = {};      // of one row, where the case is an example of a dataset
  Volumes volumes = {};  // by input, where it is a person's files
};

/// What is done with a case, whose number is an example's, or its place in a call.
class CaseWork {
 public:
  virtual ~CaseWork() = default;
  /// What a person calls it.
  virtual std::string name(int64_t number) const = 0;
  /// Called on a thread of its own, which keeps to one core.
  virtual ReadCase read(int64_t number) const = 0;
  /// Called a second time, where memory has run out after `fits` had said that one pass fits: then it says
  /// that none does, and a task that has windows goes in them. `one` has several rows where cases are
  /// computed together.
  virtual void compute(const ReadCase& one, const FitsInOnePass& fits) = 0;
  /// The error has Exit::data where the case cannot be read or computed, and Exit::memory where memory has
  /// run out for it; what this throws ends the loop.
  virtual void leave_out(int64_t number, const Error& error) = 0;
};

struct CaseLoopOptions {
  c10::Device device{c10::kCPU};
  int64_t ahead = 0;    // cases that threads read while one is computed
  int64_t at_once = 1;  // cases of one shape whose batches are computed as one
  FitsInOnePass fits_in_one_pass = [](double) { return true; };
};

/// One thread, apart from its own. A case is computed the same whatever the others are and whoever reads it:
/// neither their order nor the number of ranks changes what it draws.
class CaseLoop {
 public:
  /// Borrows the work. Its threads send the heartbeats of the calling one.
  CaseLoop(CaseWork& work, CaseLoopOptions options);
  CaseLoop(const CaseLoop&) = delete;
  CaseLoop& operator=(const CaseLoop&) = delete;

  /// Takes each of them, in their order, and finishes.
  void run(std::span<const int64_t> numbers);
  /// Sends a heartbeat, and computes case `number`, or keeps it for a batch. Meanwhile the first of
  /// `upcoming` are read; one that take() is not asked for next was read for nothing. Throws what compute()
  /// throws, but Error (data) and for want of memory, and what leave_out() throws.
  void take(int64_t number, std::span<const int64_t> upcoming);
  /// Computes what was kept.
  void finish();

  /// The case that comes next, for compute(): null where it is not there yet, or cannot be read. Valid until
  /// the next call of take().
  const ReadCase* upcoming() const;
  /// The case that is read or computed, or at which that has failed; nothing between two of them.
  std::optional<int64_t> at() const { return at_; }

 private:
  std::shared_future<ReadCase> reading(int64_t number);
  std::optional<Error> failure_of(const std::function<void()>& work) const;
  void compute_alone(const ReadCase& one);

  CaseWork& work_;
  const CaseLoopOptions options_;
  Heartbeat* const beats_ = heartbeat();
  std::optional<int64_t> at_, next_;
  std::vector<ReadCase> kept_;
  std::map<int64_t, std::shared_future<ReadCase>> readings_;
};

}  // namespace larmor
