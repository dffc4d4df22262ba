// DeepSpeed's scheduler as a schedule of ours.
#pragma once

#include <string>

#include "larmor/config/foreign/deepspeed_answers.h"

namespace larmor::deepspeed {

/// WarmupLR, WarmupDecayLR, WarmupCosineLR, and the rate of OneCycle. Borrows both.
class Schedule {
 public:
  Schedule(const Node& root, Answers& answers) : root_(root), answers_(answers) {}

  /// Answers scheduler.type, and gives what the schedule is even where the file does not say it.
  void type(const std::string& key, const Entry& entry);
  /// Answers an entry of scheduler.params.
  void parameter(const std::string& key, const Entry& entry);

  /// The number that the rate rises to: the scheduler's own, or the optimizer's ("lr"); null where the file
  /// has none.
  const Entry* highest_rate() const;

 private:
  bool is_cosine() const { return name() == "WarmupCosineLR"; }
  bool is_linear() const { return name() == "WarmupDecayLR"; }
  bool is_constant() const { return name() == "WarmupLR"; }
  bool is_cycle() const { return name() == "OneCycle"; }
  std::string name() const;
  const Entry* find(std::string_view parameter) const;

  void warmup_type(const std::string& key, const Entry& entry);
  void warmup_parameter(const std::string& key, const Entry& entry);
  bool is_number_of_warmup(const std::string& parameter) const;

  /// Whether the file gives both rates of a cycle that goes up first.
  bool has_cycle() const;
  void cycle_type(const std::string& key, const Entry& entry);
  void cycle_parameter(const std::string& key, const Entry& entry);
  void cycle_rate(const std::string& key, const Entry& entry);
  void cycle_steps(const std::string& key, const Entry& entry);
  void cycle_momentum(const std::string& key, const Entry& entry);
  /// Steps of its first or second half, as the file says or DeepSpeed fills in.
  double half(std::string_view parameter) const;
  double first_half() const { return half("cycle_first_step_size"); }
  double second_half() const { return half("cycle_second_step_size"); }

  const Node& root_;
  Answers& answers_;
};

}  // namespace larmor::deepspeed
