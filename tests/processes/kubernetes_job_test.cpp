// `larmor job kubernetes`: what it asks Kubernetes for, and that the pods train what one host trains.
#include <cstddef>
#include <fstream>
#include <map>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/json.h"
#include "larmor/base/text.h"

#include "tests/processes/support/network_hosts.h"
#include "tests/processes/support/oracle.h"
#include "tests/processes/support/two_ranks.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr int usage = 2;

const Words job{"job", "kubernetes", "latent_diffusion", "-c", "tiny"};
const Words two_pods{"--nodes", "2", "--image", "registry.example/larmor:0.1", "--claim", "scans=/data"};

class KubernetesJob : public TwoRanks {
 protected:
  Finished call(const Words& words, const std::map<std::string, std::string>& environment = {}) const {
    return larmor_program(words, {.folder = folder(), .environment = environment});
  }
  std::string written(const Words& words, const std::map<std::string, std::string>& environment = {}) const {
    const auto end = call(words, environment);
    EXPECT_EQ(end.status, 0) << end.err;
    return end.out;
  }
  /// The words of `args`, which stand there as a list of JSON, as the pod of that number has them: its master
  /// at the address of our first host.
  static Words words_of_pod(const std::string& manifest, int pod) {
    constexpr std::string_view key = "args: ";
    const auto at = manifest.find(key) + key.size();
    Words words;
    for (const auto& item : parse_json(manifest.substr(at, manifest.find('\n', at) - at), "args")) {
      auto word = item.get<std::string>();
      if (word == "$(LARMOR_POD)") word = text(pod);
      if (!words.empty() && words.back() == "--master-addr") word = NetworkHosts::addresses[0];
      words.push_back(word);
    }
    return words;
  }
};

TEST_F(KubernetesJob, AsksForPodsThatFindOneAnotherAndComeAgainWhereThatHelps) {
  const auto file =
      written(job + two_pods +
              Words{"run.name=Head_7", "--gpus-per-node", "4", "--cpus-per-node", "16", "--memory", "64Gi",
                    "--namespace", "lab", "--grace", "10min", "--max-restarts", "2"});
  for (const auto* line : {"kind: Service\n",
                           "clusterIP: None\n",
                           "kind: Job\n",
                           "name: larmor-head-7\n",
                           "namespace: lab\n",
                           "batch.kubernetes.io/job-name: larmor-head-7\n",
                           "completionMode: Indexed\n",
                           "completions: 2\n",
                           "parallelism: 2\n",
                           "backoffLimit: 6\n",
                           "subdomain: larmor-head-7\n",
                           "restartPolicy: Never\n",
                           "terminationGracePeriodSeconds: 600\n",
                           "values: [75]\n",
                           "nvidia.com/gpu: \"4\"\n",
                           "cpu: \"16\"\n",
                           "memory: \"64Gi\"\n",
                           "claimName: scans\n",
                           "mountPath: \"/data\"\n",
                           "workingDir: \"/data\"\n",
                           "mountPath: /dev/shm\n",
                           "sizeLimit: \"8Gi\"\n"}) {
    EXPECT_THAT(file, HasSubstr(line));
  }
  EXPECT_THAT(words_of_pod(file, 1),
              ElementsAre("train", "latent_diffusion", "-c", "tiny", "run.name=Head_7", "--max-restarts", "2",
                          "--nnodes", "2", "--master-addr", NetworkHosts::addresses[0], "--master-port",
                          "29400", "--node-rank", "1"));
}

TEST_F(KubernetesJob, OfOnePodNeedsNoService) {
  const auto file = written({"job", "kubernetes", "latent_diffusion", "-c", "tiny", "--nodes", "1", "--image",
                             "larmor", "--claim", "scans=/data", "--folder", "/data/mine"});
  EXPECT_THAT(file, AllOf(Not(HasSubstr("Service")), Not(HasSubstr("--nnodes")), Not(HasSubstr("subdomain")),
                          HasSubstr("workingDir: \"/data/mine\"")));
}

TEST_F(KubernetesJob, KeepsWordsAsTheyWereGivenAndTakesNoSecret) {
  const auto file = written(job + two_pods + Words{"data.cache_folder=it's $(HOME) \"here\""},
                            {{"LARMOR_RUN__SEED", "86421"}, {"WANDB_API_KEY", "secret"}});
  EXPECT_THAT(words_of_pod(file, 0),
              ::testing::IsSupersetOf({"data.cache_folder=it's $$(HOME) \"here\"", "run.seed=86421"}))
      << "Kubernetes reads $$( as $(";
  EXPECT_THAT(file, Not(HasSubstr("secret")));
}

TEST_F(KubernetesJob, RefusesWhatKubernetesWouldRefuse) {
  const Words pods{"--nodes", "2", "--image", "larmor"};
  for (const auto& [words, said] : std::vector<std::pair<Words, std::string>>{
           {pods, "--claim NAME=/PATH"},
           {pods + Words{"--claim", "Scans=/data"}, "--claim Scans=/data"},
           {pods + Words{"--claim", "scans=data"}, "--claim scans=data"},
           {two_pods + Words{"--memory", "64 GB"}, "--memory 64 GB"},
           {two_pods + Words{"--namespace", "My_Lab"}, "--namespace My_Lab"},
           {two_pods + Words{"--folder", "data"}, "--folder data"},
           {two_pods + Words{"--grace", "3ep"}, "--grace 3ep"},
           {Words{"--nodes", "2", "--image", "a b", "--claim", "scans=/data"}, "--image a b"}}) {
    const auto end = call(job + words);
    EXPECT_EQ(end.status, usage) << join(words, " ") << '\n' << end.out;
    EXPECT_THAT(end.err, AllOf(HasSubstr(said), HasSubstr("hint: "))) << join(words, " ");
  }
}

TEST_F(KubernetesJob, IsValidByKubernetesSchemas) {
  if (!has_oracles()) GTEST_SKIP() << "LARMOR_ORACLES names no Python environment";
  std::ofstream(folder() / "job.yaml")
      << written(job + two_pods + Words{"--gpus-per-node", "4", "--memory", "64Gi"});
  EXPECT_EQ(ask_oracle("kubernetes_file.py", folder() / "job.yaml").at("kinds"), Json({"Service", "Job"}));
}

TEST_F(KubernetesJob, TrainsInTwoPodsAsOneHostDoes) {
  if (const auto reason = NetworkHosts::obstacle(); !reason.empty()) GTEST_SKIP() << reason;
  NetworkHosts hosts;
  auto trained = words("pods");
  trained.erase(trained.begin());  // train
  const auto manifest = written(Words{"job", "kubernetes"} + trained + two_pods);
  const auto pod = [&](int number) {
    return hosts.start(number, command(words_of_pod(manifest, number)),
                       {.folder = folder(), .environment = {{"LARMOR_START_LIMIT", "30s"}}});
  };
  auto first = pod(0), second = pod(1);
  const auto end = first.wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(second.wait().status, 0) << second.err();
  EXPECT_EQ(trained_state(run("pods")), own());
}

}  // namespace
}  // namespace larmor::testing
