// Rehearsals of machines that nobody has here: what the program plans for them stays what it was, or the
// difference was meant. To renew the golden plans after such a change, from the root of the source:
//   for w in tests/golden/plans/*.words; do build/dev/bin/larmor $(cat $w) > ${w%.words}.plan.json; done
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

/// "memory.weights: 3, and 2 before" for each leaf that differs.
void differences(const Json& now, const Json& before, const std::string& key,
                 std::vector<std::string>& found) {
  if (now.is_object() && before.is_object()) {
    Json all = before;
    all.update(now);
    for (const auto& [name, value] : all.items()) {
      const std::string below = key.empty() ? name : text(key, '.', name);
      if (!now.contains(name) || !before.contains(name)) {
        found.push_back(text(below, now.contains(name) ? ": is new" : ": is gone"));
      } else {
        differences(now.at(name), before.at(name), below, found);
      }
    }
  } else if (now.is_array() && before.is_array() && now.size() == before.size()) {
    for (size_t i = 0; i < now.size(); ++i) differences(now[i], before[i], text(key, '[', i, ']'), found);
  } else if (now != before) {
    found.push_back(text(key, ": ", now.dump(), ", and ", before.dump(), " before"));
  }
}

fs::path source_folder() {
  const char* const folder = std::getenv("LARMOR_SOURCE");
  return folder != nullptr ? fs::path(folder) : fs::current_path();
}

/// "4_l4.survival": a machine of tests/golden/plans, and a workload.
class GoldenPlans : public ::testing::TestWithParam<const char*> {
 protected:
  static fs::path file(const char* ending) {
    return source_folder() / "tests" / "golden" / "plans" / text(GetParam(), ending);
  }
};

TEST_P(GoldenPlans, AreWhatTheProgramPlansForThatMachine) {
  const std::string words = read_text(file(".words"));
  const auto end = larmor_program(split(trim(words), ' '), {.folder = source_folder()});
  ASSERT_EQ(end.status, 0) << end.err;
  Json plan = end.json();
  plan.erase("data");  // which is no part of the plan, and has what this disk has free
  std::vector<std::string> found;
  differences(plan, read_json(file(".plan.json")), "", found);
  EXPECT_TRUE(found.empty()) << join(found, "\n");
}

std::string test_name(const ::testing::TestParamInfo<const char*>& plan) {
  std::string name = plan.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return "for_" + name;
}

INSTANTIATE_TEST_SUITE_P(OfMachines, GoldenPlans,
                         ::testing::Values("1_rtx3070.latent_diffusion", "1_rtx3070.survival",
                                           "4_l4.latent_diffusion", "4_l4.survival",
                                           "4_a100_80g.latent_diffusion", "4_a100_80g.survival",
                                           "8_h100.latent_diffusion", "8_h100.survival",
                                           "1_rtxa4000.latent_diffusion", "2_rtxa4000.latent_diffusion",
                                           "1_rtx5090_32g.latent_diffusion", "2_rtxa4000.fast_ddpm_64",
                                           "2_rtxa4000.fast_ddpm_128", "4_l4.fast_ddpm_128",
                                           "4_a100_80g.fast_ddpm_256", "4_a100_80g.xray_to_ct_stage1",
                                           "4_a100_80g.xray_to_ct_stage2", "4_a100_80g.xray_to_ct_stage3",
                                           "4_a100_80g.xray_to_ct_reference", "4_l4.xray_vqa_guide"),
                         test_name);

}  // namespace
}  // namespace larmor::testing
