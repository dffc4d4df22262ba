#include "larmor/optim/parameter_groups.h"

#include <algorithm>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

void check_rules(const std::vector<std::string>& names, const std::vector<ParameterRule>& rules) {
  for (size_t i = 0; i < rules.size(); ++i) {
    const std::string& prefix = rules[i].prefix;
    const auto is_same = [&](const ParameterRule& other) { return other.prefix == prefix; };
    if (std::any_of(rules.begin(), rules.begin() + static_cast<std::ptrdiff_t>(i), is_same))
      fail(Exit::usage, text("two rules say how the parameters '", prefix, "…' learn"), "keep one of them");
    const auto begins = [&](const std::string& name) { return name.starts_with(prefix); };
    if (std::any_of(names.begin(), names.end(), begins)) continue;
    fail(Exit::usage,
         text("a rule says how the parameters '", prefix, "…' learn, and the network has none of that name"),
         names.empty() ? "" : text("its parameters are called ", names.front(), " to ", names.back()));
  }
}

}  // namespace

std::vector<ParameterTraits> traits_of(const std::vector<std::string>& names,
                                       const std::vector<ParameterRule>& rules, const OptimConfig& config) {
  check_rules(names, rules);
  std::vector<ParameterTraits> traits;
  for (const std::string& name : names) {
    const ParameterRule* closest = nullptr;
    for (const ParameterRule& rule : rules) {
      if (!name.starts_with(rule.prefix)) continue;
      if (closest == nullptr || rule.prefix.size() > closest->prefix.size()) closest = &rule;
    }
    ParameterTraits of_name{.rate = 1, .weight_decay = config.weight_decay};
    if (closest != nullptr) {
      of_name.rate = closest->rate;
      of_name.weight_decay = closest->weight_decay.value_or(config.weight_decay);
    }
    traits.push_back(of_name);
  }
  return traits;
}

std::vector<ParameterGroup> groups_of(const std::vector<ParameterTraits>& traits) {
  std::vector<ParameterGroup> groups;
  for (size_t i = 0; i < traits.size(); ++i) {
    const auto alike = [&](const ParameterGroup& group) { return group.traits == traits[i]; };
    auto group = std::find_if(groups.begin(), groups.end(), alike);
    if (group == groups.end()) group = groups.insert(groups.end(), {.traits = traits[i], .members = {}});
    group->members.push_back(i);
  }
  return groups;
}

std::string describe(const std::vector<ParameterGroup>& groups) {
  std::vector<std::string> each;
  for (const ParameterGroup& group : groups) {
    const size_t members = group.members.size();
    each.push_back(text(members, members == 1 ? " parameter" : " parameters", " at ", group.traits.rate,
                        " times the learning rate and weight decay ", group.traits.weight_decay));
  }
  return join(each, "; ");
}

}  // namespace larmor
