#include "larmor/task/objective_groups.h"

#include <torch/nn/module.h>

#include "larmor/base/text.h"
#include "larmor/parallel/agreement.h"
#include "larmor/task/task.h"

namespace larmor {

std::vector<ObjectiveGroup> objective_groups(Task& task, const RunConfig& config) {
  std::vector<ObjectiveGroup> all;
  for (const Objective& objective : task.objectives()) {
    if (objective.rules.empty()) continue;
    const OptimConfig optim = config.optim_of(objective.name);
    const TensorList parameters = learning_parameters(*objective.network);
    for (const ParameterGroup& group :
         groups_of(learning_traits(*objective.network, objective.rules, optim))) {
      ObjectiveGroup& shown = all.emplace_back();
      shown.objective = objective.name;
      shown.first = parameters[group.members.front()].first;
      shown.parameters = static_cast<int64_t>(group.members.size());
      for (const size_t member : group.members) shown.numbers += parameters[member].second.numel();
      shown.rate = group.traits.rate;
      shown.learning_rate = group.traits.rate * optim.learning_rate;
      shown.weight_decay = group.traits.weight_decay;
    }
  }
  return all;
}

Json to_json(const std::vector<ObjectiveGroup>& groups) {
  Json rows = Json::array();
  for (const ObjectiveGroup& group : groups) {
    rows.push_back({{"objective", group.objective},
                    {"first", group.first},
                    {"parameters", group.parameters},
                    {"numbers", group.numbers},
                    {"rate", group.rate},
                    {"learning_rate", group.learning_rate},
                    {"weight_decay", group.weight_decay}});
  }
  return rows;
}

std::string describe(const ObjectiveGroup& group) {
  return text(group.objective, ": ", group.parameters, group.parameters == 1 ? " parameter" : " parameters",
              " (", group.numbers, " numbers), the first ", group.first, ": learning rate ",
              group.learning_rate, " (", group.rate, " times optim.learning_rate), weight decay ",
              group.weight_decay);
}

}  // namespace larmor
