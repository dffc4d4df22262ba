// Averages gradients over ranks while backward still runs: each bucket leaves as soon as its last member
// has arrived. What ranks have to tell one another travels at the end of the last bucket.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/comm/communicator.h"
#include "larmor/parallel/buckets.h"
#include "larmor/parallel/parallelism.h"

namespace larmor {

class GradientExchange {
 public:
  /// Borrows the communicator. `parameters` are leaves of one device that require a gradient; their
  /// post-accumulate hooks are taken until the end of the scope.
  GradientExchange(std::vector<at::Tensor> parameters, std::vector<std::string> names, int64_t bucket_bytes,
                   Compression compression, Communicator& communicator);
  ~GradientExchange();
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// Adds loss's gradients; when `last`, starts the collectives of the step. Collective when `last`.
  void backward(const at::Tensor& loss, bool last, const Votes& votes);
  /// The same of gradients that have been computed: one a parameter, in the parameters' order, undefined
  /// where the loss does not reach it. They are copied. Collective when `last`.
  void receive(const std::vector<at::Tensor>& gradients, bool last, const Votes& votes);
  /// Starts what backward has not started of the step's collectives, with zeros and `votes`. Collective.
  void fail_step(const Votes& votes);
  /// Ends the collectives: gradients() are the means over all ranks. What ranks have told each other, as
  /// numbers for read_reduced(), on the device. Collective.
  at::Tensor reduce();
  /// One a parameter, in the parameters' order; zero where no rank had one.
  const std::vector<at::Tensor>& gradients() const { return views_; }
  /// Reads what reduce() gave, once it is on the host as float64. A parameter that no rank had a gradient for
  /// has none.
  Votes read_reduced(const double* numbers);
  /// How many numbers reduce() gives.
  int64_t numbers() const { return tail_.numel(); }
  /// Forgets the step's gradients.
  void drop();

 private:
  struct Hook;
  void begin_micro_batch(bool last, const Votes& votes);
  void end_micro_batch();
  void arrive(size_t parameter);
  void start_ready_buckets();
  void start_bucket();
  void write_tail(const Votes& votes);

  std::vector<at::Tensor> parameters_;
  std::vector<std::string> names_;
  Communicator& communicator_;
  std::vector<Bucket> layout_;
  std::vector<at::Tensor> flat_;   // one a bucket
  std::vector<at::Tensor> views_;  // one a parameter, into flat_
  Compression compression_;
  std::vector<at::Tensor> travelling_;  // one a bucket under way, where its form differs from flat_
  std::vector<size_t> bucket_of_;       // one a parameter
  at::Tensor tail_;  // of the last bucket: the votes, then whether a parameter had a gradient

  bool running_ = false;  // backward
  bool last_ = false;     // of the last micro-batch
  Votes votes_;
  std::vector<bool> touched_;    // had a gradient in this step
  std::vector<bool> arrived_;    // in this backward
  std::vector<size_t> missing_;  // members of a bucket that have not arrived in this backward
  size_t next_ = 0;              // bucket to start; the order is fixed, or ranks would disagree
  std::vector<Pending> under_way_;
};

}  // namespace larmor
