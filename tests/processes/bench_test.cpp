// `bench` as a person calls it: what its one line holds. How fast anything is, no test can say.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr int usage = 2;

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

class Bench : public ::testing::Test {
 protected:
  Finished call(std::vector<std::string> words) const {
    words.insert(words.begin(), "bench");
    return larmor_program(std::move(words), {.folder = scratch_.path()});
  }
  /// Of a small network, in one block of one step.
  Finished step(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"step", "latent_diffusion", "-c", "tiny",     "--blocks",
                                   "1",    "--steps",          "1",  "--warmup", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return call(std::move(words));
  }
  /// The document of a call that has to succeed, and to print nothing else.
  static Json only_line(const Finished& end) {
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(end.out.find('\n'), end.out.size() - 1) << "one line";
    return end.json();
  }

  std::filesystem::path folder() const { return scratch_.path(); }

 private:
  ScratchFolder scratch_;
};

TEST_F(Bench, TimesAStepUnderThePeersKeys) {
  for (const auto* ranks : {"1", "2"}) {
    const auto json = only_line(step({"--ranks", ranks}));
    EXPECT_THAT(keys_of(json), IsSupersetOf({"script", "shape", "adversarial", "parameters", "result",
                                             "peak_rss_mib", "versions"}));
    const auto& result = json["result"]["larmor"];
    EXPECT_THAT(keys_of(result), IsSupersetOf({"median_ms", "min_ms", "first_step_s", "loss_after"}));
    EXPECT_EQ(json["world"], std::stoi(ranks));
    EXPECT_GT(result["median_ms"].get<double>(), 0);
  }
}

TEST_F(Bench, SaysHowNearAStepComesToThePeakOfItsDevice) {
  const auto end = step({});
  EXPECT_THAT(end.err, HasSubstr("GFLOP/s"));
  const auto json = only_line(end);
  const auto& roofline = json["result"]["larmor"]["roofline"];
  EXPECT_GT(roofline["convolution_gflop"].get<double>(), 0);
  EXPECT_GT(roofline["gbyte"].get<double>(), 0);
  EXPECT_GT(roofline["peak_convolution_gflop_per_s"].get<double>(), 0);
  EXPECT_GT(roofline["arithmetic_floor_ms"].get<double>(), 0);
  EXPECT_LT(roofline["arithmetic_floor_ms"], json["result"]["larmor"]["median_ms"]);
}

// Latents that were encoded beforehand are the whole batch: it holds no "image".
TEST_F(Bench, TimesAStepOnKeptLatents) {
  const std::string whole = "data.transforms=[{CenterSpatialCrop: {roi_size: [16, 16, 16]}}]";
  const auto autoencoder = larmor_program({"train", "latent_diffusion", "-c", "tiny", "train.length=1st",
                                           "optim.schedule={name: constant}", "run.name=autoencoder", whole},
                                          {.folder = folder()});
  ASSERT_EQ(autoencoder.status, 0) << autoencoder.err;
  const auto json = only_line(step({"--stage", "diffusion", "from.autoencoder=autoencoder",
                                    "model.latents=kept", "train.precision=fp32", whole}));
  EXPECT_THAT(json["shape"], ElementsAre(2, 4, 8, 8, 8)) << "means and deviations of two channels";
}

TEST_F(Bench, WritesATraceOfStepsOnOneRankAndOnTwo) {
  for (const auto* ranks : {"1", "2"}) {
    const auto file = folder() / text("trace", ranks, ".json");
    const auto end = step({"--ranks", ranks, "--profile", file.filename().string(), "--quiet"});
    EXPECT_EQ(end.status, 0);
    EXPECT_THAT(end.err, IsEmpty());
    std::set<std::string> names;
    const auto document = read_json(file);
    for (const auto& event : document["traceEvents"]) names.insert(event.value("name", ""));
    EXPECT_THAT(names, IsSupersetOf({"aten::convolution_backward", "larmor::nn::ResBlock"}));
  }
  EXPECT_THAT(step({"--ranks", "1,2", "--profile", "trace.json"}).err, HasSubstr("one number of ranks"));
  EXPECT_THAT(step({"--profile", "nowhere/trace.json"}).err, HasSubstr("there is no folder"));
}

TEST_F(Bench, ComparesNumbersOfRanks) {
  const auto end = step({"--ranks", "1,2"});
  const auto json = only_line(end);
  ASSERT_EQ(json["ranks"].size(), 2U);
  EXPECT_EQ(json["ranks"][0]["world"], 1);
  EXPECT_EQ(json["ranks"][0]["efficiency"], 1);
  const auto& two = json["ranks"][1];
  EXPECT_EQ(two["world"], 2);
  EXPECT_GT(two["efficiency"].get<double>(), 0);
  const auto& result = two["result"]["larmor"];
  const double samples = two["shape"][0].get<double>() * 2;
  EXPECT_NEAR(result["samples_per_s"].get<double>(), samples * 1e3 / result["median_ms"].get<double>(), 1e-6);
  const auto waited = result["exposed_communication"].get<double>();
  EXPECT_GT(waited, 0);
  EXPECT_LT(waited, 1);
  EXPECT_THAT(end.err, AllOf(HasSubstr("efficiency"), HasSubstr("exposed communication")));
  EXPECT_THAT(step({"--ranks", "1,2", "--quiet"}).err, IsEmpty());
}

TEST_F(Bench, TimesStepsOfEveryStrategy) {
  for (const auto* strategy : {"zero1", "zero2", "zero3"}) {
    const auto json = only_line(step({"--ranks", "2", std::string("parallel.strategy=") + strategy,
                                      "train.activation_checkpointing=blocks"}));
    EXPECT_EQ(json["strategy"], strategy);
    EXPECT_GT(json["result"]["larmor"]["median_ms"].get<double>(), 0);
  }
}

TEST_F(Bench, RefusesRankCountsThatCannotBe) {
  for (const auto* list : {"two", "1,,2", "0", ""}) EXPECT_EQ(step({"--ranks", list}).status, usage) << list;
  const auto end = step({"--ranks", "1,3"});
  EXPECT_EQ(end.status, usage);
  EXPECT_THAT(end.err, HasSubstr("4 cannot be shared evenly by 3 ranks"));
  EXPECT_THAT(end.err, Not(HasSubstr("samples/s"))) << "nothing is timed before all of it is known to work";
}

TEST_F(Bench, TimesCollectivesAndTheirBusBandwidth) {
  const auto end = call({"collectives", "--ranks", "3", "--sizes", "1000,64KiB", "--seconds", "0.01"});
  const auto json = only_line(end);
  EXPECT_EQ(json["world"], 3);
  ASSERT_EQ(json["result"].size(), 8U);
  std::map<std::string, double> factors;
  for (const auto& row : json["result"]) {
    EXPECT_EQ(row["backend"], "gloo");
    EXPECT_GT(row["median_us"].get<double>(), 0);
    EXPECT_LE(row["min_us"].get<double>(), row["median_us"].get<double>());
    EXPECT_EQ(row["bytes"].get<int64_t>() % 12, 0) << "a float for every rank";
    const double speed = row["bytes"].get<double>() / row["median_us"].get<double>() * 1e-3;
    EXPECT_NEAR(row["algorithm_gb_per_s"].get<double>() / speed, 1, 1e-9);
    factors[row["operation"]] = row["bus_gb_per_s"].get<double>() / row["algorithm_gb_per_s"].get<double>();
  }
  // As NCCL's tests define them.
  EXPECT_NEAR(factors.at("all_reduce"), 4.0 / 3, 1e-9);
  EXPECT_NEAR(factors.at("reduce_scatter"), 2.0 / 3, 1e-9);
  EXPECT_NEAR(factors.at("all_gather"), 2.0 / 3, 1e-9);
  EXPECT_NEAR(factors.at("broadcast"), 1, 1e-9);
  EXPECT_THAT(end.err, HasSubstr("bus GB/s"));
}

TEST_F(Bench, TimesTheCollectivesThatAreAskedFor) {
  const auto end = call({"collectives", "--sizes", "4KiB", "--operations", "broadcast,all_gather", "--quiet",
                         "--seconds", "0.01"});
  const auto json = only_line(end);
  EXPECT_EQ(json["world"], 2);
  std::vector<std::string> operations;
  for (const auto& row : json["result"]) operations.push_back(row["operation"]);
  EXPECT_THAT(operations, ElementsAre("broadcast", "all_gather"));
  EXPECT_THAT(end.err, IsEmpty());
}

TEST_F(Bench, RefusesCollectivesThatThereAreNot) {
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "collectives");
    const auto end = call(std::move(words));
    EXPECT_EQ(end.status, usage);
    return end.err;
  };
  EXPECT_THAT(refused({"--operations", "allreduce"}), HasSubstr("all_reduce, reduce_scatter"));
  EXPECT_THAT(refused({"--sizes", "much"}), HasSubstr("much"));
  EXPECT_THAT(refused({"--sizes", "0"}), HasSubstr("--sizes names 0"));
  EXPECT_THAT(refused({"--backends", "smoke"}), HasSubstr("gloo, nccl"));
  EXPECT_THAT(refused({"--ranks", "1"}), HasSubstr("nobody to speak to"));
  EXPECT_THAT(refused({"latent_diffusion"}), HasSubstr("takes no latent_diffusion"));
}

}  // namespace
}  // namespace larmor::testing
