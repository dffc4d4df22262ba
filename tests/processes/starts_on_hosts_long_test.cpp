// Many starts of one moment on several hosts: over one folder of runs, and over one cache.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/image.h"
#include "larmor/base/text.h"

#include "tests/processes/support/installed_program.h"
#include "tests/processes/support/network_hosts.h"
#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/small_training.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr int killed = 137;

TEST(StartsOnTwoHosts, AreTwentyRunsOverOneFolder) {
  if (const auto reason = NetworkHosts::obstacle(); !reason.empty()) GTEST_SKIP() << reason;
  constexpr int starts = 20;
  const NetworkHosts hosts;
  const ScratchFolder scratch;
  const auto runs = scratch.path() / "runs";
  std::vector<std::unique_ptr<Running>> all;
  for (int seed = 0; seed < starts; ++seed) {
    // Each ends when its run is written down.
    const ProgramOptions options{.folder = scratch.path(),
                                 .environment = {{"LARMOR_FAIL_POINT", "link:1:kill"}}};
    const Words command{std::getenv("LARMOR_PROGRAM"),
                        "train",
                        "survival",
                        "-c",
                        "tiny",
                        "--ranks",
                        "1",
                        "--device",
                        "cpu",
                        "run.folder=" + runs.string(),
                        text("run.seed=", seed)};
    all.push_back(std::unique_ptr<Running>(new Running(hosts.start(seed % 2, command, options))));
  }
  for (const auto& one : all) {
    const auto end = one->wait();
    EXPECT_EQ(end.status, killed) << end.err;
  }
  std::set<std::string> seeds, by_host;
  size_t folders = 0;
  for (const auto& item : fs::directory_iterator(runs)) {
    if (item.is_symlink() || item.path().filename().string().starts_with(".")) continue;
    ++folders;
    const auto config = read_text(item.path() / "config.yaml");
    const auto place = config.find("seed: ");
    seeds.insert(config.substr(place, config.find_first_of(" #\n", place + 6) - place));
    by_host.insert(read_json(item.path() / "environment.json")["host"].get<std::string>());
  }
  EXPECT_EQ(seeds.size(), static_cast<size_t>(starts));
  EXPECT_EQ(folders, static_cast<size_t>(starts)) << "one each, and nothing else";
  EXPECT_EQ(by_host, (std::set<std::string>{"host-a", "host-b"}));
}

/// One agent of several that take one another for hosts: each has a boot of its own.
Running agent_on_host(int host, int hosts, const fs::path& folder, const Words& training) {
  const auto boot = folder / text("boot-", host);
  put_file(boot, text("00000000-0000-4000-8000-00000000000", host, "\n"));
  constexpr auto enter = R"(mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@")";
  Words words{"--mount", "sh", "-c", enter, boot.string(), std::getenv("LARMOR_PROGRAM")};
  words.insert(words.end(), training.begin(), training.end());
  const Words place{"--nnodes",      text(hosts), "--node-rank",   text(host),
                    "--master-addr", "127.0.0.1", "--master-port", "29417"};
  words.insert(words.end(), place.begin(), place.end());
  return Running(words, {.folder = folder,
                         .environment = {{"GLOO_SOCKET_IFNAME", "lo"},
                                         {"LARMOR_RUN_KEY_FILE", (folder / "key").string()},
                                         {"XDG_CACHE_HOME", (folder / "caches").string()}},
                         .program = installed_program("unshare")});
}

/// Radiographs of six patients, and a question about each.
void put_questions(const fs::path& folder) {
  Image image{.width = 96, .height = 80, .channels = 3, .pixels = std::vector<uint8_t>(96 * 80 * 3)};
  std::string rows = "image,question,answer,patient,split\n";
  for (int patient = 0; patient < 6; ++patient) {
    std::ranges::fill(image.pixels, static_cast<uint8_t>(40 * patient));
    put_file(folder / text("x", patient, ".png"), encode_png(image));
    rows += text("x", patient, ".png,Is there?,", patient % 2 == 0 ? "yes" : "no", ",p", patient, ",",
                 patient < 4 ? "train" : "val", "\n");
  }
  put_file(folder / "own.csv", rows);
  put_file(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nis\nthere\n?\n");
}

TEST(FourHosts, BeginTheQuestionsOfOneColdCacheTogether) {
  if (const auto reason = NetworkHosts::obstacle(); !reason.empty()) GTEST_SKIP() << reason;
  constexpr int hosts = 4;
  const ScratchFolder scratch;
  put_file(scratch.path() / "key", std::string(64, '7'));
  fs::permissions(scratch.path() / "key", fs::perms::owner_read);
  put_questions(scratch.path());
  for (const auto* const name : {"cold", "warm"}) {
    SCOPED_TRACE(name);
    const Words training{"train",
                         "xray_vqa",
                         "-c",
                         "tiny",
                         "train.length=2st",
                         text("run.name=", name),
                         "train.global_batch=4",
                         "train.validate_every=2st",
                         "data.kind=questions",
                         "data.list=own.csv",
                         "data.folder=.",
                         "data.split={by: file}",
                         "data.vocabulary=vocab.txt"};
    std::vector<std::unique_ptr<Running>> agents;
    for (int host = 0; host < hosts; ++host)
      agents.push_back(
          std::unique_ptr<Running>(new Running(agent_on_host(host, hosts, scratch.path(), training))));
    for (const auto& agent : agents) {
      const auto end = agent->wait();
      EXPECT_EQ(end.status, 0) << end.err;
    }
    const auto run = scratch.path() / "runs" / name;
    EXPECT_EQ(read_json(run / "plan.json")["hosts"], hosts);
    EXPECT_EQ(newest_step(run), 2);
  }
}

}  // namespace
}  // namespace larmor::testing
