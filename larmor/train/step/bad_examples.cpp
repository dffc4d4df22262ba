#include "larmor/train/step/bad_examples.h"

#include "larmor/base/text.h"
#include "larmor/device/memory/out_of_memory.h"
#include "larmor/device/rank_sum.h"
#include "larmor/launch/rank_lost.h"

namespace larmor {

namespace {

Batch example_of(const Batch& batch, int64_t row) {
  Batch one;
  for (const auto& [name, tensor] : batch.tensors) one.tensors.emplace(name, tensor.narrow(0, row, 1));
  one.keys = {batch.keys[static_cast<size_t>(row)]};
  if (!batch.positions.empty()) one.positions = {batch.positions[static_cast<size_t>(row)]};
  return one;
}

/// [[example, [file]], …] of what a rank's failure says; "fails" of one that would come again, and [] where
/// there is none, or where it came of another rank's or of want of memory.
Json said_of(const std::exception_ptr& failure) {
  Json said = Json::array();
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const RefusedExamples& refused) {
    for (const auto& [example, file] : refused.examples())
      said.push_back({example, to_json(std::vector{file})});
  } catch (...) {
    if (!is_rank_lost(failure) && !is_out_of_memory(failure)) return "fails";
  }
  return said;
}

}  // namespace

void BadExamples::try_forward(const Batch& batch, bool can_divide,
                              const std::function<void(const Batch&)>& forward) const {
  try {
    forward(batch);
  } catch (const Error& error) {
    std::vector<std::string> names;
    for (const auto& key : batch.keys) names.push_back(cases_.name(key.example));
    const Error named = error.within(text("while training on ", join(names, ", ")));
    if (error.exit() != Exit::data) throw named;
    throw RefusedExamples(named, refused_of(batch, error, can_divide, forward));
  }
}

std::map<int64_t, BadFile> BadExamples::refused_of(const Batch& batch, const Error& refusal, bool can_divide,
                                                   const std::function<void(const Batch&)>& forward) const {
  std::map<int64_t, BadFile> refused;
  const RankSumScope alone(nullptr);
  for (int64_t row = 0; can_divide && batch.size() > 1 && row < batch.size(); ++row) {
    const auto one = example_of(batch, row);
    const auto example = one.keys.front().example;
    try {
      forward(one);
    } catch (const Error& error) {
      if (error.exit() == Exit::data) refused.emplace(example, bad_file_of(cases_, example, error));
    } catch (const std::exception&) {
      continue;  // of another kind, which says nothing of the one that is looked for
    }
  }
  if (refused.empty()) {
    for (const auto& key : batch.keys)
      refused.emplace(key.example, bad_file_of(cases_, key.example, refusal));
  }
  const auto together = cases_.examples_per_case();
  for (const auto& [example, file] : std::map(refused)) {
    for (int64_t crop = 0; crop < together; ++crop)
      refused.emplace(example / together * together + crop, file);
  }
  return refused;
}

bool BadExamples::leave_out(const std::exception_ptr& failure) {
  bool has_refused = false, only_refused = true;
  const auto own = said_of(failure).dump(-1, ' ', false, Json::error_handler_t::replace);
  for (const auto& of_rank : all_gather_bytes(communicator_, own)) {
    const auto said = parse_json(of_rank, "a rank's refused examples");
    only_refused = only_refused && said.is_array();
    for (const auto& entry : said.is_array() ? said : Json::array()) {
      const auto files = bad_files_from(entry[1]);
      has_refused = true;
      left_out_.emplace(entry[0].get<int64_t>(), files.at(0));
      add(files);
    }
  }
  return has_refused && only_refused;
}

void BadExamples::add(const std::vector<BadFile>& files) {
  for (const auto& file : files) {
    if (paths_.insert(file.path).second) files_.push_back(file);
  }
}

}  // namespace larmor
