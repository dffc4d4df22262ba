#include "larmor/judge/collected.h"

#include <ATen/ops/zeros.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/heartbeat.h"
#include "larmor/device/memory/out_of_memory.h"

namespace larmor {

Json Failure::json() const {
  if (!exception) return nullptr;
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return {static_cast<int>(error.exit()), error.message()};
  } catch (const std::exception& error) {
    const bool no_memory = is_out_of_memory(exception);
    return {
        static_cast<int>(no_memory ? Exit::memory : Exit::unexpected),
        text("while validating ", name, ": ", no_memory ? describe_out_of_memory(exception) : error.what())};
  }
}

std::string json_line(const Json& json) {
  // The reasons quote files, which may hold anything.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A failure of one rank is one of all.
void throw_failures(const Failure& own, const std::vector<Json>& of_ranks) {
  if (own.exception) std::rethrow_exception(own.exception);
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    if (of_ranks[rank].is_null()) continue;
    fail(static_cast<Exit>(of_ranks[rank][0].get<int>()),
         text("the validation failed on rank ", rank, ": ", of_ranks[rank][1].get<std::string>()),
         "see that rank's log in the run folder");
  }
}

std::optional<ReferenceCase> Collected::reference_case(int64_t example) const {
  if (wants_.reference == nullptr) return std::nullopt;
  try {
    Sample sample = wants_.reference->get({.seed = wants_.seed, .example = example});
    return ReferenceCase{.name = wants_.reference->name(example),
                         .sample = std::move(sample),
                         .grid = wants_.reference->grid(example)};
  } catch (const Error& error) {
    if (error.exit() != Exit::data) throw;
    return std::nullopt;
  }
}

std::vector<double> Collected::shared_out(int64_t count, const std::function<double(int64_t)>& work) {
  const auto results = at::zeros({count}, at::kDouble);
  auto* const numbers = results.mutable_data_ptr<double>();
  Failure failure{.exception = {}, .name = "the split as a whole"};
  try {
    const StoppableWork here(wants_.stop_asked);
    for (int64_t i = communicator_.rank(); i < count; i += communicator_.size()) {
      numbers[i] = work(i);
      send_heartbeat();
    }
  } catch (...) {
    failure.exception = std::current_exception();
  }
  std::vector<Json> failures;
  for (const auto& words : all_gather_bytes(communicator_, json_line(failure.json())))
    failures.push_back(parse_json(words, "a rank's failure"));
  throw_failures(failure, failures);
  const auto reduced = results.to(communicator_.device());
  communicator_.all_reduce(reduced, Reduce::sum).wait();
  const auto all = reduced.cpu();
  return {all.const_data_ptr<double>(), all.const_data_ptr<double>() + count};
}

}  // namespace larmor
