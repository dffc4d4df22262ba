#include "app/job/job_script.h"

#include <algorithm>
#include <regex>

#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"

namespace larmor::app {

namespace {

std::string lines_of(const std::vector<std::string>& lines) { return join(lines, "\n") + "\n"; }

/// `larmor train …`, a few words a line.
std::string train_command(const JobRequest& request, const std::vector<std::string>& place) {
  constexpr size_t width = 90;
  auto words = request.train;
  words.insert(words.end(), place.begin(), place.end());
  std::string lines = shell_word(request.program) + " train", line;
  for (const auto& word : words) {
    if (!line.empty() && line.size() + word.size() > width) {
      lines += line + " \\\n   ";
      line.clear();
    }
    line += " " + shell_word(word);
  }
  return lines + line;
}

/// Names the file of the key; `name` is a word of the shell.
std::string name_key(const JobRequest& request, const std::string& name) {
  return lines_of({"key_folder=" + shell_word(request.runs_folder + "/.rendezvous"),
                   R"(export LARMOR_RUN_KEY_FILE="$key_folder"/)" + name});
}

/// Makes it; an older one is of an earlier start.
std::string make_key(const std::string& indent) {
  return lines_of(
      {indent + R"((umask 077 && mkdir -p "$key_folder" && rm -f "$LARMOR_RUN_KEY_FILE" && set -C &&)",
       indent + R"(  od -An -v -N32 -tx1 /dev/urandom | tr -d ' \n' >"$LARMOR_RUN_KEY_FILE") || exit 4)"});
}

/// #SBATCH lines have no quotes that could be relied on.
void refuse_unfit(const std::string& flag, const std::string& value) {
  static const std::regex fit("[A-Za-z0-9_.,+-]*");
  if (!std::regex_match(value, fit))
    fail(Exit::usage, text(flag, " ", value, ": letters, digits and _ . , + - only"),
         "give the scheduler's own name");
}

void refuse_bad_master(const std::string& host) {
  static const std::regex fit("[A-Za-z0-9][A-Za-z0-9_.:%-]*");
  if (!std::regex_match(host, fit)) {
    fail(Exit::usage, text("--master ", host, " is no name or address of a host"),
         "give the first node, as the other nodes know it");
  }
}

/// The #SBATCH lines: what the job asks of the scheduler.
std::string slurm_demands(const JobRequest& request) {
  std::vector<std::string> demands{"--job-name=larmor",
                                   text("--nodes=", request.nodes),
                                   "--ntasks-per-node=1",
                                   "--time=" + request.time,
                                   text("--signal=USR1@", request.signal_before_seconds),
                                   "--requeue",
                                   "--no-kill",
                                   "--open-mode=append",
                                   "--output=larmor-%j.log",
                                   "--export=NONE"};
  if (request.gpus_per_node > 0) demands.push_back(text("--gpus-per-node=", request.gpus_per_node));
  if (request.cpus_per_task > 0) demands.push_back(text("--cpus-per-task=", request.cpus_per_task));
  if (!request.partition.empty()) demands.push_back("--partition=" + request.partition);
  if (!request.account.empty()) demands.push_back("--account=" + request.account);
  std::string lines;
  for (const auto& demand : demands) lines += "#SBATCH " + demand + "\n";
  return lines;
}

/// The first comment of a script, without its end.
std::string what_is_trained(const JobRequest& request) {
  if (request.runs.size() == 1) return "# Trains the run " + request.runs.front();
  return text("# Trains the runs ", join(request.runs, ", "),
              " one after the other, each when the one before is over");
}

void refuse_unfit_request(const JobRequest& request) {
  refuse_unfit("--partition", request.partition);
  refuse_unfit("--account", request.account);
  constexpr int64_t most = 65535;  // of sbatch
  const auto before = request.signal_before_seconds;
  if (before < 1 || before > most) {
    fail(Exit::usage, text("--signal-before is ", before, " s; sbatch takes 1 s to ", most, " s"),
         "leave time for a step and a checkpoint: 5min, say");
  }
  if (before >= parse_time_limit(request.time)) {
    fail(Exit::usage,
         text("--signal-before is ", before, " s, and the job has no more than --time ", request.time),
         "give the job more time, or let the signal come later");
  }
}

}  // namespace

void refuse_control_letters(const JobRequest& request) {
  std::vector<std::string> words{request.folder, request.runs_folder};
  words.insert(words.end(), request.train.begin(), request.train.end());
  for (const auto& word : words) {
    if (printable(word) != word) {
      fail(Exit::usage, "a word of the job holds a control character, or is no UTF-8: " + shell_word(word),
           "put it into a -c file");
    }
  }
}

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-+=.,:/@%") == std::string::npos;
  if (plain) return word;
  std::string out = "'";
  for (const char letter : word) out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return out + "'";
}

int64_t parse_time_limit(const std::string& time) {
  // Either days-hours[:minutes[:seconds]], or minutes, minutes:seconds, hours:minutes:seconds.
  static const std::regex with_days(R"((\d{1,4})-(\d{1,6})(?::(\d{1,6}))?(?::(\d{1,6}))?)");
  static const std::regex without(R"((\d{1,6})(?::(\d{1,6}))?(?::(\d{1,6}))?)");
  std::smatch match;
  const auto number = [&](size_t i) { return match[i].matched ? std::stoll(match[i]) : 0; };
  int64_t seconds = 0;
  if (std::regex_match(time, match, with_days))
    seconds = ((number(1) * 24 + number(2)) * 60 + number(3)) * 60 + number(4);
  else if (std::regex_match(time, match, without))
    seconds = match[3].matched ? (number(1) * 60 + number(2)) * 60 + number(3) : number(1) * 60 + number(2);
  if (seconds == 0)
    fail(Exit::usage, text("--time ", time, " is no time limit"),
         "12:00:00 is twelve hours, 2-12 two days and a half");
  return seconds;
}

std::string slurm_script(const JobRequest& request) {
  refuse_unfit_request(request);
  refuse_control_letters(request);
  const auto command =
      train_command(request, {"--nnodes", "auto", "--max-restarts", text(request.max_restarts)});
  const auto step = lines_of(
      {R"(srun --export=ALL --ntasks-per-node=1 --kill-on-bad-exit=0 \)", "  " + command, "status=$?"});
  return lines_of(
      {"#!/bin/bash", slurm_demands(request),
       what_is_trained(request) + ". Before the time is up the ranks get USR1, write a",
       "# checkpoint and end with 75: then this job goes back into the queue, and the run goes on.",
       "# To adapt: the lines above, and what training needs besides. Of the shell that calls sbatch",
       "# nothing comes with the job, so this is the place for, say,", "#   module load …",
       "#   export NCCL_SOCKET_IFNAME=ib0",
       "# The nodes meet at the first one, under its name in SLURM, or at MASTER_ADDR and MASTER_PORT.", "",
       "cd " + shell_word(request.folder) + " || exit 4", "",
       "# By this key, which nobody else can read, the nodes know one another.",
       name_key(request, R"(job-"$SLURM_JOB_ID")") + make_key("") + "\n" + step +
           R"(rm -f "$LARMOR_RUN_KEY_FILE" && rmdir "$key_folder" 2>/dev/null)",
       R"(if [ "$status" -eq 75 ]; then)", R"(  scontrol requeue "$SLURM_JOB_ID")", "fi",
       R"(exit "$status")"});
}

std::string shell_script(const JobRequest& request) {
  refuse_bad_master(request.master);
  refuse_control_letters(request);
  const std::vector<std::string> place{"--nnodes",       text(request.nodes),       "--master-addr",
                                       request.master,   "--master-port",           text(request.port),
                                       "--max-restarts", text(request.max_restarts)};
  const auto usage = text("usage: $0 NODE, a number from 0 to ", request.nodes - 1);
  return lines_of(
      {"#!/bin/sh", what_is_trained(request) + " on nodes that share the folder below. Start this on each of",
       "# them with the node's number, 0 on " + request.master + ". Ctrl-C or TERM stops all of them with a",
       "# checkpoint (75); started again in the same way, the run goes on. To adapt: what training needs of",
       "# the environment, such as", "#   export NCCL_SOCKET_IFNAME=eth1", "", "if [ $# -ne 1 ]; then",
       "  echo \"" + usage + "\" >&2", "  exit 2", "fi", "cd " + shell_word(request.folder) + " || exit 4",
       "",
       "# By this key, which nobody else can read, the nodes know one another: node 0 makes it at each "
       "start.",
       name_key(request, shell_word("job-" + request.runs.back())) + R"(if [ "$1" -eq 0 ]; then)" + "\n" +
           make_key("  ") + "fi\n",
       "exec " + train_command(request, place) + " --node-rank \"$1\""});
}

}  // namespace larmor::app
