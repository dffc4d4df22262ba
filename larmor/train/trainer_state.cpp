#include "larmor/train/trainer_state.h"

namespace larmor {

Json to_json(const TrainerState& state) {
  Json json;
  json["step"] = state.progress.step;
  json["examples"] = state.progress.examples;
  json["elapsed_seconds"] = state.progress.elapsed_seconds;
  json["non_finite_steps"] = state.non_finite_steps;
  json["best_metric"] = state.best_metric ? Json(*state.best_metric) : Json(nullptr);
  json["best_step"] = state.best_step;
  json["validations_without_gain"] = state.validations_without_gain;
  for (const auto& [objective, plateau] : state.plateaus)
    json["plateaus"][objective] = {{"factor", plateau.factor}, {"waited", plateau.waited}};
  if (state.micro_batch > 0) json["micro_batch"] = state.micro_batch;
  if (const auto& due = state.due_validation)
    json["due_validation"] = {{"pictures", due->pictures}, {"checkpoint", due->checkpoint}};
  if (!state.told.empty()) json["told"] = state.told;
  return json;
}

TrainerState trainer_state_from_json(const Json& json) {
  TrainerState state;
  state.progress.step = json.at("step").get<int64_t>();
  state.progress.examples = json.at("examples").get<int64_t>();
  state.progress.elapsed_seconds = json.at("elapsed_seconds").get<double>();
  state.non_finite_steps = json.at("non_finite_steps").get<int64_t>();
  if (json.at("best_metric").is_number()) state.best_metric = json.at("best_metric").get<double>();
  state.best_step = json.at("best_step").get<int64_t>();
  state.validations_without_gain = json.at("validations_without_gain").get<int64_t>();
  if (json.contains("plateaus")) {
    for (const auto& [objective, plateau] : json.at("plateaus").items())
      state.plateaus[objective] = {.factor = plateau.at("factor").get<double>(),
                                   .waited = plateau.at("waited").get<int64_t>()};
  }
  state.micro_batch = json.value("micro_batch", int64_t{0});
  if (json.contains("due_validation")) {
    const auto& due = json.at("due_validation");
    state.due_validation = {.pictures = due.at("pictures").get<bool>(),
                            .checkpoint = due.at("checkpoint").get<bool>()};
  }
  if (json.contains("told")) state.told = json.at("told").get<std::set<std::string>>();
  return state;
}

}  // namespace larmor
