#include "tests/processes/support/slurm_cluster.h"

#include <fstream>
#include <random>

#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/processes/support/installed_program.h"

namespace larmor::testing {

namespace fs = std::filesystem;

namespace {

// Every path is in the scratch folder, which $0 names. A shell that is process 1 of its namespace takes all
// others with it. A host that has nothing but loopback resolves no name at all.
constexpr auto start_daemons = R"(
cd "$0" && exec >log/daemons 2>&1 && ip link set lo up || exit
for node in 10.78.0.1 10.78.0.2; do ip address add $node/32 dev lo || exit; done
munged --foreground --force --key-file="$0/key" --socket="$0/munge" --pid-file="$0/munged.pid" \
  --seed-file="$0/seed" --log-file="$0/log/munged" &
for i in 1 2 3 4 5 6 7 8 9 10; do [ -e munge ] || sleep 0.1; done
slurmctld -D &
slurmd -D -N 10.78.0.1 &
slurmd -D -N 10.78.0.2 &
wait
)";

// Requeued jobs wait until their old credentials have run out, two minutes by default.
constexpr auto settings = R"(ClusterName=larmor-test
SlurmctldHost=HOST(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=FOLDER/munge,cred_expire=5
CredType=cred/munge
StateSaveLocation=FOLDER/state
SlurmdSpoolDir=FOLDER/spool-%n
SlurmctldPidFile=FOLDER/slurmctld.pid
SlurmdPidFile=FOLDER/slurmd-%n.pid
SlurmctldLogFile=FOLDER/log/slurmctld
SlurmdLogFile=FOLDER/log/slurmd-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
NodeName=10.78.0.[1-2] NodeHostname=HOST NodeAddr=127.0.0.1 Port=[7001-7002] CPUs=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
)";

std::string replaced(std::string words, const std::string& from, const std::string& to) {
  for (size_t at = words.find(from); at != std::string::npos; at = words.find(from, at + to.size()))
    words.replace(at, from.size(), to);
  return words;
}

}  // namespace

std::string SlurmCluster::obstacle() {
  if (geteuid() != 0) return "namespaces for SLURM's daemons need root";
  for (const auto* program :
       {"munged", "slurmctld", "slurmd", "srun", "sbatch", "unshare", "nsenter", "ip"}) {
    if (installed_program(program).empty())
      return text(program, " is not installed (script/packages-launchers.txt)");
  }
  return "";
}

void SlurmCluster::write_settings() const {
  const auto& folder = scratch_.path();
  for (const auto* name : {"log", "state"}) fs::create_directory(folder / name);
  const auto host = host_name();
  std::ofstream(folder / "slurm.conf")
      << replaced(replaced(settings, "FOLDER", folder.string()), "HOST", host.substr(0, host.find('.')));
  std::random_device random;
  std::ofstream key(folder / "key", std::ios::binary);
  constexpr int key_bytes = 128;
  for (int i = 0; i < key_bytes; ++i) key.put(static_cast<char>(random()));
  key.close();
  fs::permissions(folder / "key", fs::perms::owner_read);
}

SlurmCluster::SlurmCluster() {
  write_settings();
  const auto& folder = scratch_.path();
  ProcessOptions options;
  options.program = installed_program("unshare");
  options.arguments = {"--pid", "--fork", "--kill-child", "--mount-proc", "--net",
                       "sh",    "-c",     start_daemons,  folder.string()};
  options.environment = {{"SLURM_CONF", (folder / "slurm.conf").string()},
                         {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}};
  daemons_ = Process::start(options);
  const auto both_idle = [this] { return call("sinfo", {"--noheader", "--format=%D %t"}).out == "2 idle\n"; };
  constexpr double start_limit = 30;
  if (!becomes_true(both_idle, start_limit))
    fail(Exit::environment, text("SLURM does not start: ", words_of_daemons()),
         "is the host's name in /etc/hosts?");
}

Running SlurmCluster::start(const std::string& program, const std::vector<std::string>& arguments,
                            ProgramOptions options) const {
  std::vector<std::string> all{text("--target=", daemons_->id()), "--net",
                               installed_program(program).string()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  options.program = installed_program("nsenter");
  options.environment["SLURM_CONF"] = (scratch_.path() / "slurm.conf").string();
  return Running(all, options);
}

Finished SlurmCluster::call(const std::string& program, const std::vector<std::string>& arguments,
                            const ProgramOptions& options) const {
  return start(program, arguments, options).wait();
}

std::string SlurmCluster::jobs() const { return call("squeue", {"--noheader", "--format=%i"}).out; }

std::string SlurmCluster::state_of(const std::string& job) const {
  return std::string(
      trim(call("squeue", {"--noheader", "--states=all", "--jobs=" + job, "--format=%T"}).out));
}

std::string SlurmCluster::words_of_daemons() const {
  std::string words;
  for (const auto& file : fs::directory_iterator(scratch_.path() / "log"))
    words += file.path().filename().string() + ":\n" + read_text(file.path()) + "\n";
  return words;
}

}  // namespace larmor::testing
