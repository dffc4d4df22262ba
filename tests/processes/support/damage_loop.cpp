#include "tests/processes/support/damage_loop.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>

#include "larmor/base/hash.h"
#include "larmor/base/text.h"

#include "tests/processes/support/small_training.h"

namespace larmor::testing {

namespace fs = std::filesystem;

namespace {

constexpr double longest_wait = 600;  // seconds; others may use the machine

std::string step_folder(int64_t step) {
  const auto digits = text(step);
  return "step-" + std::string(8 - digits.size(), '0') + digits;
}

void flip_a_bit(const fs::path& file, int number) {
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  const auto place = static_cast<std::streamoff>(static_cast<uint64_t>(number) % fs::file_size(file));
  bytes.seekg(place);
  const int byte = bytes.get();
  bytes.seekp(place);
  bytes.put(static_cast<char>(byte ^ (1 << number % 8)));
}

/// A later checkpoint than any, whose manifest is sound and whose model is not.
void add_damaged_one(const fs::path& newest, int64_t step, int number) {
  const auto folder = newest.parent_path() / step_folder(step);
  fs::copy(newest, folder);
  auto state = read_json(folder / "state.json");
  state["trainer"]["step"] = step;
  std::ofstream(folder / "state.json") << to_text(state);
  auto manifest = read_json(folder / "manifest.json");
  manifest["step"] = step;
  manifest["metric"] = -1.0;  // and the best there ever was
  for (auto& file : manifest["files"]) {
    if (file["name"] != "state.json") continue;
    file["bytes"] = fs::file_size(folder / "state.json");
    file["sha256"] = sha256_of_file(folder / "state.json");
  }
  manifest["self"] = "";
  manifest["self"] = sha256(to_text(manifest));
  std::ofstream(folder / "manifest.json") << to_text(manifest);
  flip_a_bit(folder / "model.safetensors", number);
}

}  // namespace

std::vector<std::string> DamageLoop::words(const std::string& name) const {
  const auto often = with(small_training(name, 1, steps_), "checkpoint.every", "2st");
  return with(with(often, "train.validate_every", "6st"), "checkpoint.keep_last", text(GetParam()));
}

bool DamageLoop::is_killed(const std::string& name) {
  const auto before = newest_step(run(name));
  const bool by_name = fs::exists(run(name) / "config.yaml") && number_to(1) == 1;
  Running training(by_name ? std::vector<std::string>{"train", name} : words(name), here());
  const auto wait_for = [&](const std::function<bool()>& moment) {
    return becomes_true([&] { return moment() || training.ends_within(0); }, longest_wait);
  };
  const int kind = number_to(3);
  if (kind > 0) {  // otherwise while it starts, perhaps
    const auto target = std::max<int64_t>(before - 4, 0) + 1 + number_to(8);
    EXPECT_TRUE(wait_for([&] { return newest_step(run(name)) >= target; })) << training.err();
  }
  if (kind == 3) wait_for([&] { return has_half_a_checkpoint(name); });
  if (!training.ends_within(kind == 0 ? between(0.01, 1.5) : between(0, kind == 3 ? 0.004 : 0.1))) {
    return kill_one_of(training);
  }
  const auto end = training.wait();
  EXPECT_EQ(end.status, 0) << end.err;
  return false;
}

void DamageLoop::damage(const std::string& name) {
  const auto folder = run(name) / "checkpoints";
  if (!fs::exists(run(name) / "config.yaml")) return;
  const auto verified = larmor_program({"checkpoint", "verify", name, "--json"}, here());
  const auto rows = verified.json();
  const auto announced = events_of(run(name), "checkpoint");
  // What was announced before the last damage may be what was damaged.
  if (announced.size() > announced_) {
    ASSERT_TRUE(announced_is_good(rows, run(name))) << verified.out;
  }
  announced_ = announced.size();
  std::vector<int64_t> whole;
  int64_t newest = 0;
  for (const auto& row : rows) {
    newest = std::max(newest, row.at("step").get<int64_t>());
    if (row.at("ok") == true) whole.push_back(row.at("step").get<int64_t>());
  }
  ASSERT_TRUE(!whole.empty() || announced.empty()) << "lost: " << verified.out;
  if (whole.empty()) return;
  const auto victim = folder / step_folder(whole.front());
  const int number = number_to(1 << 20);
  switch (number_to(5)) {
    case 0:
      if (whole.size() < 2) return;
      ++damages_["bit of the newest flipped"];
      flip_a_bit(victim / "model.safetensors", number);
      break;
    case 1:
      if (whole.size() < 2) return;
      ++damages_["manifest of the newest cut"];
      fs::resize_file(victim / "manifest.json", fs::file_size(victim / "manifest.json") / 2);
      break;
    case 2:
      ++damages_["damaged newer one"];
      add_damaged_one(victim, newest + 1 + number_to(8), number);
      break;
    case 3:
      ++damages_["links dangle"];
      for (const char* link : {"best", "last"}) {
        fs::remove(folder / link);
        fs::create_symlink("step-00000000", folder / link);
      }
      break;
    default:
      break;
  }
}

void DamageLoop::expect_the_end_of(const std::string& name) {
  const auto last = larmor_program({"train", name}, here());
  ASSERT_EQ(last.status, 0) << last.err;
  const auto found = trained_state(run(name));
  EXPECT_EQ(found.files, whole_->files);
  EXPECT_EQ(found.steps, whole_->steps);
  for (const char* link : {"best", "last"})
    EXPECT_TRUE(fs::exists(run(name) / "checkpoints" / link / "manifest.json")) << link << " dangles";
}

void DamageLoop::kill_and_damage(int kills, int steps) {
  steps_ = steps;
  const auto whole = larmor_program(words("whole"), here());
  ASSERT_EQ(whole.status, 0) << whole.err;
  whole_ = trained_state(run("whole"));
  ASSERT_EQ(whole_->steps.size(), static_cast<size_t>(steps));
  int runs = 1;
  auto name = text("killed-", runs);
  for (int done = 0; done < kills;) {
    SCOPED_TRACE(text("kill ", done, " of ", name));
    if (is_killed(name)) {
      ++done;
      if (!HasFatalFailure()) damage(name);
    } else {
      expect_the_end_of(name);
      name = text("killed-", ++runs);
      announced_ = 0;
    }
    if (HasFailure()) return;
  }
  expect_the_end_of(name);
  std::cout << kills << " kills of " << runs << " runs, keep_last " << GetParam();
  for (const auto& [what, times] : damages_) std::cout << "; " << what << " " << times;
  std::cout << "\n";
}

}  // namespace larmor::testing
