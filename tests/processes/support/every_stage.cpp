#include "tests/processes/support/every_stage.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/processes/support/program_run.h"

namespace larmor::testing {

std::vector<std::vector<std::string>> words_of_every_stage(const std::filesystem::path& folder) {
  std::vector<std::vector<std::string>> all;
  for (const Json& workload : larmor_program({"list", "--json"}).json()) {
    const Json& details = workload.at("stage_details");
    std::set<std::string> needed;
    for (const Json& stage : details) {
      for (const Json& need : stage.at("needs")) needed.insert(need.get<std::string>());
    }
    for (const Json& stage : details) {
      const std::string name = stage.at("stage");
      std::vector<std::string> words{workload.at("workload"), "--stage", name, "-c", "tiny"};
      for (const std::string need : stage.at("needs")) words.push_back("from." + need + "=" + need);
      all.push_back(words);
      if (!needed.contains(name)) continue;
      words.insert(words.begin(), "train");
      words.insert(words.end(), {"run.name=" + name, "--steps", "1"});
      const auto end = larmor_program(words, {.folder = folder});
      EXPECT_EQ(end.status, 0) << end.err;
    }
  }
  return all;
}

}  // namespace larmor::testing
