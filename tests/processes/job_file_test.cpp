// What `larmor job` writes, and what it refuses to write.
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/two_ranks.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr int usage = 2;

const Words slurm{"job", "slurm", "latent_diffusion", "-c", "tiny"};
const Words shell{"job", "shell", "latent_diffusion", "-c", "tiny"};
const Words ordinary{"--nodes", "2", "--gpus-per-node", "4", "--time", "12:00:00"};

class JobFile : public ::testing::Test {
 protected:
  Finished call(const Words& words, const std::map<std::string, std::string>& environment = {}) const {
    return larmor_program(words, {.folder = scratch_.path(), .environment = environment});
  }
  std::string written(const Words& words, const std::map<std::string, std::string>& environment = {}) const {
    const auto end = call(words, environment);
    EXPECT_EQ(end.status, 0) << end.err;
    return end.out;
  }

  ScratchFolder scratch_;
};

TEST_F(JobFile, AsksSlurmForWhatWasSaidAndForASignalInTime) {
  const auto file = written(slurm + ordinary +
                            Words{"--partition", "gpu", "--account", "lab-7", "--signal-before", "10min"});
  for (const auto* line :
       {"#SBATCH --nodes=2\n", "#SBATCH --ntasks-per-node=1\n", "#SBATCH --gpus-per-node=4\n",
        "#SBATCH --time=12:00:00\n", "#SBATCH --signal=USR1@600\n", "#SBATCH --requeue\n",
        "#SBATCH --open-mode=append\n", "#SBATCH --partition=gpu\n", "#SBATCH --account=lab-7\n",
        "#SBATCH --export=NONE\n", "scontrol requeue", "--kill-on-bad-exit=0"}) {
    EXPECT_THAT(file, HasSubstr(line));
  }
  EXPECT_THAT(file, Not(HasSubstr("--cpus-per-task=4")));
  EXPECT_TRUE(file.starts_with("#!/bin/bash\n"));
}

TEST_F(JobFile, GivesTheRunANameOnceSoThatTheNextStartGoesOn) {
  EXPECT_THAT(written(slurm + ordinary), HasSubstr("-latent_diffusion-autoencoder"));
  EXPECT_THAT(written(slurm + ordinary + Words{"run.name=mine"}), HasSubstr(" run.name=mine "));
  const auto automatic = written(slurm + ordinary + Words{"run.name=auto"});
  EXPECT_THAT(automatic, Not(HasSubstr("run.name=auto")));
  EXPECT_THAT(automatic, HasSubstr("run.name=2"));
}

TEST_F(JobFile, CarriesWhatTheEnvironmentSaysOfTheConfigAndNothingElse) {
  const auto file = written(slurm + ordinary, {{"LARMOR_RUN__SEED", "86421"}, {"WANDB_API_KEY", "secret"}});
  EXPECT_THAT(file, AllOf(HasSubstr(" run.seed=86421 "), Not(HasSubstr("secret"))));
  const auto said = written(slurm + ordinary + Words{"run.seed=5"}, {{"LARMOR_RUN__SEED", "86421"}});
  EXPECT_THAT(said, AllOf(HasSubstr(" run.seed=5 "), Not(HasSubstr("86421"))));
}

TEST_F(JobFile, AShellReadsTheWordsAsTheyWereGiven) {
  // The program is replaced by one that shows its words.
  const Words odd{"data.cache_folder=it's $HOME `id` \"here\"", "data.split.val=[p03, p07]"};
  for (const auto& words :
       {slurm + odd + ordinary, shell + odd + Words{"--nodes", "2", "--master", "gpu1"}}) {
    auto script = written(words);
    const std::string program = std::getenv("LARMOR_PROGRAM");
    for (auto at = script.find(program); at != std::string::npos; at = script.find(program))
      script.replace(at, program.size(), "show");
    std::ofstream(scratch_.path() / "job.sh") << script;
    // srun and show print one word a line; exec needs a program.
    std::ofstream(scratch_.path() / "show") << "#!/bin/sh\nprintf '%s\\n' \"$@\"\n";
    std::filesystem::copy_file(scratch_.path() / "show", scratch_.path() / "srun",
                               std::filesystem::copy_options::overwrite_existing);
    for (const auto* name : {"show", "srun"}) chmod((scratch_.path() / name).c_str(), S_IRWXU);
    const auto path = scratch_.path().string() + ":/usr/bin:/bin";
    const auto end =
        larmor_program({"job.sh", "1"},
                       {.folder = scratch_.path(), .environment = {{"PATH", path}}, .program = "/bin/bash"});
    EXPECT_EQ(end.status, 0) << end.err;
    for (const auto& word : odd) EXPECT_THAT(end.out, HasSubstr("\n" + word + "\n"));
  }
}

TEST_F(JobFile, MakesAKeyAtEachStartThatNobodyElseCanRead) {
  // In the place of srun and of the program: one that shows the key that it is given.
  std::ofstream(scratch_.path() / "show")
      << "#!/bin/sh\nstat -c %a \"$LARMOR_RUN_KEY_FILE\"\ncat \"$LARMOR_RUN_KEY_FILE\"; echo\n";
  std::filesystem::copy_file(scratch_.path() / "show", scratch_.path() / "srun");
  for (const auto* name : {"show", "srun"}) chmod((scratch_.path() / name).c_str(), S_IRWXU);
  const auto path = scratch_.path().string() + ":/usr/bin:/bin";
  const auto shown = [&](const Words& words, const std::string& node) {
    auto script = written(words);
    const std::string program = std::getenv("LARMOR_PROGRAM");
    for (auto at = script.find(program); at != std::string::npos; at = script.find(program))
      script.replace(at, program.size(), "show");
    std::ofstream(scratch_.path() / "job.sh") << script;
    const auto end = larmor_program({"job.sh", node}, {.folder = scratch_.path(),
                                                       .environment = {{"PATH", path}, {"SLURM_JOB_ID", "7"}},
                                                       .program = "/bin/bash"});
    EXPECT_EQ(end.status, 0) << end.err;
    return end.out;
  };
  const auto is_key = ::testing::MatchesRegex("600\n[0-9a-f]{64}\n");
  const auto batch = slurm + ordinary,
             script = shell + Words{"--nodes", "2", "--master", "gpu1", "run.name=mine"};
  const auto first = shown(batch, ""), second = shown(batch, "");
  EXPECT_THAT(first, is_key);
  EXPECT_THAT(second, is_key);
  EXPECT_NE(first, second);
  EXPECT_FALSE(std::filesystem::exists(scratch_.path() / "runs" / ".rendezvous")) << "it goes with the job";
  const auto leader = shown(script, "0");
  EXPECT_THAT(leader, is_key);
  EXPECT_EQ(shown(script, "1"), leader) << "node 0 makes it";
  EXPECT_NE(shown(script, "0"), leader);
}

TEST_F(JobFile, AShellScriptPassesTheNumberOfTheNodeOn) {
  const auto script = written(shell + Words{"--nodes", "3", "--master", "gpu1", "--port", "4321"});
  for (const auto* words :
       {"--nnodes 3", "--master-addr gpu1", "--master-port", "4321", "--node-rank \"$1\""})
    EXPECT_THAT(script, HasSubstr(words));
  std::ofstream(scratch_.path() / "job.sh") << script;
  const auto end = larmor_program({"job.sh"}, {.folder = scratch_.path(), .program = "/bin/sh"});
  EXPECT_EQ(end.status, usage);
  EXPECT_THAT(end.err, HasSubstr("a number from 0 to 2"));
}

TEST_F(JobFile, WritesNoFileForWordsThatTrainWouldRefuse) {
  const Words output{"--output", "job.sh"};
  for (const auto& words : std::vector<Words>{
           slurm + ordinary + Words{"train.lenght=3st"}, slurm + ordinary + Words{"train.length=soon"},
           Words{"job", "slurm", "latent_difusion"} + ordinary,
           slurm + Words{"-c", "nowhere.yaml"} + ordinary,
           slurm + Words{"--nodes", "2", "--time", "12:00:00"},
           slurm + Words{"--nodes", "0", "--gpus-per-node", "1", "--time", "10"},
           slurm + Words{"--nodes", "2", "--gpus-per-node", "1"},
           slurm + Words{"--nodes", "2", "--gpus-per-node", "1", "--time", "soon"},
           slurm + Words{"--nodes", "1", "--cpus-per-task", "1", "--time", "4"},
           slurm + ordinary + Words{"--signal-before", "10st"},
           slurm + ordinary + Words{"--signal-before", "0"},
           slurm + ordinary + Words{"--partition", "gpu\n#SBATCH --uid=0"},
           slurm + ordinary + Words{"--account", "$(id)"}, slurm + ordinary + Words{"run.name=a\nid"},
           shell + Words{"--nodes", "2"}, shell + Words{"--nodes", "2", "--master", "a b"},
           shell + Words{"--nodes", "2", "--master", "a", "--port", "0"}}) {
    const auto end = call(words + output);
    EXPECT_EQ(end.status, usage) << words.back() << ": " << end.out << end.err;
    EXPECT_FALSE(std::filesystem::exists(scratch_.path() / "job.sh")) << words.back();
  }
}

TEST_F(JobFile, NamesTheKeyThatWasMeant) {
  EXPECT_THAT(call(slurm + ordinary + Words{"train.lenght=3st"}).err, HasSubstr("train.length"));
}

TEST_F(JobFile, NeverWritesOverAFile) {
  std::ofstream(scratch_.path() / "job.sh") << "mine";
  const auto end = call(slurm + ordinary + Words{"--output", "job.sh"});
  EXPECT_EQ(end.status, usage);
  EXPECT_EQ(read_text(scratch_.path() / "job.sh"), "mine");
}

TEST_F(JobFile, SaysInJsonWhereItIs) {
  const auto said = call(slurm + ordinary + Words{"run.name=mine", "--output", "job.sh", "--json"}).json();
  EXPECT_EQ(said.at("output"), "job.sh");
  EXPECT_EQ(said.at("run"), "mine");
}

}  // namespace
}  // namespace larmor::testing
