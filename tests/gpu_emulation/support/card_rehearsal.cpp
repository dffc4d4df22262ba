#include "tests/gpu_emulation/support/card_rehearsal.h"

#include <cstdlib>
#include <ctime>
#include <map>
#include <sstream>
#include <string_view>
#include <thread>

#include <gmock/gmock.h>

#include "larmor/base/text.h"

namespace larmor::testing {

namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;

constexpr int memory_status = 5, rank_lost_status = 8;

/// How many of what the fault counts pass before it strikes; the limit where it is one of memory.
std::string number_of(const CardFault& fault) {
  if (fault.kind == "memory") return "1525M";  // a context takes 1524 MiB
  const bool counts_kernels = fault.kind == "error" || fault.kind == "gone";
  return counts_kernels && fault.phase != "saving" ? "3" : "1";
}

/// Where a rank in that phase is said to have ended. A card's error may show itself a little later.
std::string place_of(const CardFault& fault) {
  static const std::map<std::string, std::string> places{
      {"starting", "while starting"},
      {"training", "while (computing|communicating in|waiting for the data of) step"},
      {"validating", "while validating after step 4"},
      {"saving", "while saving step 4"}};
  return places.at(fault.phase);
}

std::string read_weights(const std::filesystem::path& run) {
  return read_text(run / "checkpoints" / "last" / "model.safetensors");
}

/// Of a line of launcher.log that has these words, in seconds.
std::time_t time_of(const std::string& log, std::string_view words) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    std::tm time{};
    if (line.find(words) != std::string::npos && strptime(line.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time))
      return timegm(&time);
  }
  return 0;
}

/// Whether others compute on this machine besides: more than two threads a core have been waiting for one.
bool has_more_to_do_than_cores() {
  double load = 0;
  return getloadavg(&load, 1) == 1 && load > 2.0 * std::thread::hardware_concurrency();
}

}  // namespace

void PrintTo(const CardFault& fault, std::ostream* out) {
  *out << fault.kind << "_" << fault.phase << "_rank_" << fault.rank;
}

std::string name_of_card_fault(const ::testing::TestParamInfo<CardFault>& info) {
  std::ostringstream name;
  PrintTo(info.param, &name);
  return name.str();
}

std::vector<std::string> CardRehearsal::words(const std::string& name) const {
  // On a busy machine a rank may well be silent for some seconds: only where a card hangs is a limit wanted.
  const char* const hang_limit = GetParam().kind == "stuck" ? "10s" : "5min";
  return {"train",
          "survival",
          "-c",
          "tiny",
          "--steps",
          "8",
          "--ranks",
          "2",
          "--device",
          "cuda",
          "--no-color",
          "run.name=" + name,
          "train.precision=fp64",
          "run.deterministic=true",
          "plan.probe=false",
          "checkpoint.every=4st",
          "train.validate_every=4st",
          std::string("parallel.hang_limit=") + hang_limit};
}

std::string CardRehearsal::weights_without_faults() const {
  static const std::string weights = [this] {
    const auto end = run_on_gpus(words("whole"), scratch_.path());
    EXPECT_EQ(end.status, 0) << end.err;
    return read_weights(scratch_.path() / "runs" / "whole");
  }();
  return weights;
}

void CardRehearsal::expect_named(const Finished& end) const {
  const auto& [kind, phase, rank] = GetParam();
  const std::string all = end.out + end.err;
  if (kind == "stuck") {  // both ranks wait for their devices
    EXPECT_EQ(end.status, rank_lost_status) << all;
    EXPECT_THAT(end.err, ContainsRegex("rank [01] hangs: .*" + place_of(GetParam())));
    return;
  }
  std::string place = place_of(GetParam());
  // NCCL tells of its errors by and by: validation may be over.
  if (kind == "collective" && phase == "validating") place = "while (validating after|saving) step 4";
  if (kind == "memory") {
    EXPECT_EQ(end.status, memory_status) << all;
    EXPECT_THAT(end.err, ContainsRegex(text("rank ", rank, " ended with exit status 5 ", place)));
    return;
  }
  // A rank that ends by itself hands on its own status.
  const bool by_itself = end.err.find(text("rank ", rank, " ended with exit status 1")) != std::string::npos;
  // Of NCCL's errors it may hear by what a collective has left in memory: that is a peer's failure.
  const bool by_rubbish = kind == "collective" && end.err.find("what no rank has sent") != std::string::npos;
  const char* const how = kind == "killed" ? " was killed by SIGKILL "
                          : by_itself      ? " ended with exit status 1 "
                          : by_rubbish     ? " ended with exit status 8 "
                                           : " was killed by SIGABRT ";
  EXPECT_EQ(end.status, by_itself ? 1 : rank_lost_status) << all;
  EXPECT_THAT(end.err, ContainsRegex(text("larmor: rank ", rank, how, place)));
}

void CardRehearsal::expect_peers_ended_soon() const {
  if (GetParam().kind == "stuck") return;
  const std::string log = read_text(run() / "log" / "launcher.log");
  const auto asked = time_of(log, "asking the other ranks to end"),
             ended = time_of(log, "generation 0 ended");
  // Two are meant, and ten are the grace.
  const std::time_t seconds = has_more_to_do_than_cores() ? 9 : 6;
  EXPECT_LE(ended - asked, asked == 0 ? ended : seconds) << log;
}

void CardRehearsal::rehearse() {
  const auto& [kind, phase, rank] = GetParam();
  const std::string first_step = phase == "starting" || kind == "memory" ? "0" : "4";
  const std::filesystem::path mark = scratch_.path() / "mark";
  const auto end =
      run_on_gpus(words("run"), scratch_.path(),
                  {.environment = {{"EMULATED_FAULTS", text(kind, "@", rank, "=", number_of(GetParam()))},
                                   {"EMULATED_FAULT_PHASE", text(phase, ":", first_step)},
                                   {"EMULATED_FAULT_MARK", mark.string()}}});
  ASSERT_TRUE(kind == "memory" || std::filesystem::exists(mark)) << "it has not struck: " << end.err;
  expect_named(end);
  expect_peers_ended_soon();

  const auto again = run_on_gpus({"train", "runs/run", "--steps", "8", "--no-color"}, scratch_.path());
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_TRUE(read_weights(run()) == weights_without_faults()) << "the weights are others";
}

}  // namespace larmor::testing
