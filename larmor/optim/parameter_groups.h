// Parameters of one network that learn at rates, or with a weight decay, of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"

namespace larmor {

/// How the parameters whose names begin with `prefix` learn, where it is not as the config says for all.
struct ParameterRule {
  std::string prefix;                       // of names as in the state dict: "encoder.", "head.weight"
  double rate = 1;                          // a factor of the schedule's learning rate
  std::optional<double> weight_decay = {};  // in place of the config's
  bool operator==(const ParameterRule&) const = default;
};

/// How one parameter learns.
struct ParameterTraits {
  double rate = 1;
  double weight_decay = 0;
  bool operator==(const ParameterTraits&) const = default;
};

/// Parameters that learn alike.
struct ParameterGroup {
  ParameterTraits traits;
  std::vector<size_t> members;  // indices of parameters, ascending
};

/// One a name: what the rule with the longest prefix of that name says, or the config where none has one.
/// Throws Error (usage) for a rule that no name begins with, or that comes twice.
std::vector<ParameterTraits> traits_of(const std::vector<std::string>& names,
                                       const std::vector<ParameterRule>& rules, const OptimConfig& config);

/// The groups, in the order of their first members.
std::vector<ParameterGroup> groups_of(const std::vector<ParameterTraits>& traits);

/// The groups as a person reads them: "14 parameters at 0.1 times the learning rate and weight decay 0; …".
std::string describe(const std::vector<ParameterGroup>& groups);

}  // namespace larmor
