#include "larmor/services/service.h"

#include <algorithm>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/services/environment.h"

namespace larmor {

bool TrackingService::is_on(const ServiceSettings& settings) const {
  const auto given = [&](const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string() : found->second;
  };
  const auto on = given(turned_on_by);
  return !on.empty() && on != "false" && given("mode") != "disabled";
}

const TrackingService& service_named(const std::string& name) {
  const auto& all = services();
  const auto found = std::ranges::find(all, name, &TrackingService::name);
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const auto& service : all) names.push_back(service.name);
  const auto near = nearest(name, names);
  fail(Exit::usage, text("there is no service ", name),
       text(near.empty() ? "" : text("did you mean ", near, "? "), "say one of ", join(names, ", ")));
}

ServiceSettings settings_of(const TrackingService& service, const ServiceSettings& given) {
  ServiceSettings settings;
  for (const auto& key : service.keys) {
    auto& value = settings[key.name];
    if (const auto found = given.find(key.name); found != given.end()) value = found->second;
    if (value.empty() && *key.variable != 0) value = variable(key.variable);
    if (value.empty()) value = key.otherwise;
  }
  return settings;
}

}  // namespace larmor
