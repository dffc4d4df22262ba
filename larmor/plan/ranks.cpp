// Which device, and how many ranks on it.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/plan/decisions.h"
#include "larmor/plan/phrases.h"

namespace larmor {
namespace {

/// `parallel.ranks`: nothing set = auto.
struct RanksAsked {
  std::optional<int64_t> count;
  std::vector<int> devices;
};

[[noreturn]] void refuse_ranks(const std::string& value) {
  fail(Exit::usage, text("parallel.ranks is \"", value, "\""),
       "say auto, a count (2), or a list of GPUs (0,2; a single one as \"0,\")");
}

int number_in(std::string_view word, const std::string& value) {
  word = trim(word);
  int number = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (problem != std::errc() || end != word.data() + word.size() || number < 0) refuse_ranks(value);
  return number;
}

RanksAsked parse_ranks(const std::string& value) {
  std::string_view word = trim(value);
  if (word == "auto") return {};
  const bool has_brackets = word.starts_with('[') && word.ends_with(']') && word.size() >= 2;
  if (has_brackets) word = trim(word.substr(1, word.size() - 2));
  const bool is_list = has_brackets || word.find(',') != std::string_view::npos;
  RanksAsked asked;
  if (!is_list) {
    asked.count = number_in(word, value);
    if (*asked.count < 1) refuse_ranks(value);
    return asked;
  }
  if (word.ends_with(',')) word.remove_suffix(1);
  for (const std::string& entry : split(word, ',')) {
    const int device = number_in(entry, value);
    if (std::find(asked.devices.begin(), asked.devices.end(), device) != asked.devices.end()) {
      fail(Exit::usage, text("parallel.ranks names GPU ", device, " twice"), "one rank a GPU");
    }
    asked.devices.push_back(device);
  }
  return asked;
}

/// GPU numbers of one host, the larger cards first and the lower numbers first among equal ones.
std::vector<int> by_size(const std::vector<Gpu>& gpus) {
  std::vector<const Gpu*> order;
  for (const Gpu& gpu : gpus) order.push_back(&gpu);
  std::stable_sort(order.begin(), order.end(),
                   [](const Gpu* a, const Gpu* b) { return a->memory_bytes > b->memory_bytes; });
  std::vector<int> numbers;
  for (const Gpu* gpu : order) numbers.push_back(gpu->index);
  return numbers;
}

/// " on each of 2 hosts"; nothing for one.
std::string on_each_of(int64_t hosts) { return hosts == 1 ? "" : text(" on each of ", hosts, " hosts"); }

/// As many hosts as it takes when each but the last gets the same share.
int hosts_for(int64_t ranks, int64_t hosts) {
  const int64_t of_each = (ranks + hosts - 1) / hosts;
  return static_cast<int>((ranks + of_each - 1) / of_each);
}

/// "8 ranks, 4 on each of 2 hosts", "5 ranks, at most 3 on each of 2 hosts"; "2 ranks" on one host.
std::string ranks_text(int64_t ranks, int64_t hosts) {
  const int64_t used = hosts_for(ranks, hosts), of_each = (ranks + used - 1) / used;
  if (used == 1) return counted(ranks, "rank");
  return text(counted(ranks, "rank"), ", ", ranks % used == 0 ? "" : "at most ", of_each, on_each_of(used));
}

/// Why there are not more ranks when nobody asked for so few.
std::string why_no_more(const Question& question, int64_t count, int64_t most) {
  if (question.config.parallel.strategy == "single") return ": parallel.strategy is single";
  if (const auto& global_batch = question.config.train.global_batch)
    return text(": ", count, " is the largest count up to ", most, " that train.global_batch ", *global_batch,
                " allows");
  return text(": there are only ", question.demand.training_examples, " training examples");
}

int64_t largest_count(const Question& question, int64_t most) {
  for (int64_t count = most; count > 1; --count) {
    if (batch_allows(question, count)) return count;
  }
  return 1;
}

void refuse_uneven_share(const Question& question, int64_t ranks, int64_t most) {
  const auto& global_batch = question.config.train.global_batch;
  if (!global_batch || *global_batch % ranks == 0) return;
  const int64_t below = *global_batch / ranks * ranks;
  fail(
      Exit::usage,
      text("train.global_batch ", *global_batch, " cannot be shared evenly by ", counted(ranks, "rank"), ": ",
           *global_batch, " / ", ranks, " leaves ", *global_batch % ranks),
      text("allowed world sizes: ", number_list(allowed_world_sizes(*global_batch, most)),
           " (parallel.ranks), or train.global_batch=", below > 0 ? text(below, " or ") : "", below + ranks));
}

void choose_cpu_ranks(const Question& question, const RanksAsked& asked, Plan& plan) {
  const int cores = question.hardware.usable_cores();
  if (!asked.devices.empty()) {
    fail(Exit::usage,
         text("parallel.ranks is a list of GPUs, \"", question.config.parallel.ranks,
              "\", but the device is the CPU"),
         "give a count: parallel.ranks=2");
  }
  const int64_t hosts = question.hardware.hosts;
  const int64_t count = asked.count ? *asked.count : largest_count(question, hosts);
  // A few ranks may share a core: slow, but how a run of a larger machine is gone on with or tried out.
  constexpr int64_t most_ranks_a_core = 4;
  if (count > cores * hosts * most_ranks_a_core) {
    const std::string limits = join(question.hardware.notes, "; ");
    fail(Exit::usage,
         text("parallel.ranks asks for ", counted(count, "CPU rank"), ", but this job may use ",
              counted(cores, "core"), on_each_of(hosts), limits.empty() ? "" : text(" (", limits, ")")),
         text("parallel.ranks=", cores * hosts,
              " is one a core; `larmor doctor` shows what limits the cores"));
  }
  refuse_uneven_share(question, count, cores * hosts);
  plan.ranks.assign(static_cast<size_t>(count), RankSeat{-1, {}});
  plan.hosts = hosts_for(count, hosts);
  plan.reasons.push_back(
      asked.count
          ? text(counted(count, "rank"), " on ", counted(cores, "core"), on_each_of(hosts), ", as asked",
                 count > cores * hosts ? ": they share cores, so each is slower." : ".")
          : text(ranks_text(count, hosts), ": on a CPU the cores are for the threads of one process."));
  if (!asked.count && count < hosts) {
    plan.reasons.push_back(text(counted(hosts - count, "host"), hosts - count == 1 ? " stays" : " stay",
                                " idle", why_no_more(question, count, hosts), "."));
  }
}

void refuse_if_barred(const Question& question, int device) {
  for (const auto& barred : question.barred) {
    if (barred.gpu.index == device)
      fail(Exit::environment, sentence_on(barred.gpu, barred.obstacle), barred.obstacle.remedy);
  }
}

/// The GPUs to use on every host, and how many ranks there are on all of them.
std::vector<int> asked_gpus(const Question& question, const RanksAsked& asked, int64_t& count) {
  const std::vector<int> present = by_size(question.hardware.gpus);
  const auto seen = static_cast<int64_t>(present.size());
  for (const int device : asked.devices) {
    if (std::find(present.begin(), present.end(), device) != present.end()) continue;
    refuse_if_barred(question, device);
    std::vector<int> sorted = present;
    std::sort(sorted.begin(), sorted.end());
    fail(Exit::usage, text("parallel.ranks names GPU ", device, ", but this job sees ", gpu_numbers(sorted)),
         "`larmor doctor` lists them");
  }
  count = static_cast<int64_t>(asked.devices.size()) * question.hardware.hosts;
  if (!asked.devices.empty()) return asked.devices;
  const int64_t hosts = question.hardware.hosts;
  if (asked.count.value_or(0) > seen * hosts) {
    fail(Exit::usage,
         text("parallel.ranks asks for ", counted(*asked.count, "rank"),
              " of one GPU each, but this job sees ", counted(seen, "GPU"), on_each_of(hosts)),
         text("parallel.ranks=", seen * hosts, " at most, or parallel.device=cpu"));
  }
  count = asked.count ? *asked.count : largest_count(question, seen * hosts);
  return {present.begin(), present.begin() + (count + hosts - 1) / hosts};
}

/// They are idle whatever is chosen.
void add_barred(const Question& question, Plan& plan) {
  for (const auto& barred : question.barred) plan.idle_devices.push_back(barred.gpu.index);
  std::ranges::sort(plan.idle_devices);
}

void explain_gpus(const Question& question, bool was_asked, Plan& plan) {
  const std::vector<Gpu> used = used_gpus(question, plan);
  const auto count = static_cast<int64_t>(used.size());
  const auto most = static_cast<int64_t>(question.hardware.gpus.size()) * question.hardware.hosts;
  std::string reason = text(ranks_text(count, question.hardware.hosts), ", one a GPU");
  if (count < most) {
    const bool is_one = plan.idle_devices.size() == 1;
    reason += question.hardware.hosts == 1
                  ? text("; ", gpu_numbers(plan.idle_devices), is_one ? " stays" : " stay", " idle")
                  : text("; ", most - count, " of ", counted(most, "GPU"),
                         most - count == 1 ? " stays" : " stay", " idle");
    reason += was_asked ? ", as asked" : why_no_more(question, count, most);
  }
  plan.reasons.push_back(reason + ".");
  const Gpu least = smallest(used);
  const bool is_uneven = std::any_of(used.begin(), used.end(), [&least](const Gpu& gpu) {
    return gpu.name != least.name || gpu.memory_bytes != least.memory_bytes;
  });
  if (is_uneven) {
    plan.reasons.push_back(text("The GPUs are unequal: planned for the smallest, GPU ", least.index, " (",
                                least.name, ", ", human_bytes(least.memory_bytes), ")."));
  }
}

}  // namespace

std::vector<BarredGpu> take_barred(Hardware& hardware) {
  std::vector<BarredGpu> barred;
  std::erase_if(hardware.gpus, [&](const Gpu& gpu) {
    const auto obstacle = obstacle_of(gpu);
    if (obstacle) barred.push_back({gpu, *obstacle});
    return obstacle.has_value();
  });
  return barred;
}

void choose_device(const Question& question, Plan& plan) {
  const std::string& asked = question.config.parallel.device;
  const auto gpus = static_cast<int64_t>(question.hardware.gpus.size());
  if (asked == "cuda" && gpus == 0) {
    if (!question.barred.empty()) refuse_if_barred(question, question.barred.front().gpu.index);
    const auto& why = question.hardware.no_gpus;
    fail(Exit::usage, text("parallel.device is cuda, but this job sees no GPU", why.empty() ? "" : ": ", why),
         "`larmor doctor` shows what was looked for; parallel.device=cpu trains without");
  }
  if (asked != "auto" && asked != "cpu" && asked != "cuda") {
    const bool names_one = asked.starts_with("cuda:");
    const auto near = nearest(asked, std::vector<std::string>{"auto", "cpu", "cuda"});
    fail(Exit::usage, text("parallel.device is \"", asked, "\""),
         names_one ? text("say cuda, and which GPU by a list of one, with the comma: parallel.ranks=",
                          asked.substr(std::string_view("cuda:").size()), ",")
                   : text(near.empty() ? "" : text("did you mean ", near, "? "), "say auto, cpu or cuda"));
  }
  plan.device = asked == "cpu" || gpus == 0 ? DeviceKind::cpu : DeviceKind::cuda;
  const std::string seen =
      text(gpus == 0 ? "no GPU" : counted(gpus, "GPU"), question.barred.empty() ? "" : " that can compute");
  plan.reasons.push_back(text("Device ", to_text(plan.device), asked == "auto" ? "" : ", as asked",
                              ": this job sees ", seen, "."));
  if (asked == "cpu") return;
  for (const auto& barred : question.barred)
    plan.reasons.push_back(text(sentence_on(barred.gpu, barred.obstacle), "; ", barred.obstacle.remedy, "."));
}

void choose_ranks(const Question& question, Plan& plan) {
  const RanksAsked asked = parse_ranks(question.config.parallel.ranks);
  if (plan.device == DeviceKind::cpu) {
    choose_cpu_ranks(question, asked, plan);
    for (const Gpu& gpu : question.hardware.gpus) plan.idle_devices.push_back(gpu.index);
    add_barred(question, plan);
    return;
  }
  int64_t count = 0;
  std::vector<int> chosen = asked_gpus(question, asked, count);
  refuse_uneven_share(question, count,
                      static_cast<int64_t>(question.hardware.gpus.size()) * question.hardware.hosts);
  std::sort(chosen.begin(), chosen.end());
  for (int64_t rank = 0; rank < count; ++rank)
    plan.ranks.push_back({chosen[static_cast<size_t>(rank) % chosen.size()], {}});
  for (const Gpu& gpu : question.hardware.gpus) {
    if (!std::binary_search(chosen.begin(), chosen.end(), gpu.index)) plan.idle_devices.push_back(gpu.index);
  }
  plan.hosts = hosts_for(count, question.hardware.hosts);
  explain_gpus(question, asked.count || !asked.devices.empty(), plan);
  add_barred(question, plan);
}

std::vector<Gpu> used_gpus(const Question& question, const Plan& plan) {
  std::vector<Gpu> used;
  for (const RankSeat& seat : plan.ranks) {
    for (const Gpu& gpu : question.hardware.gpus) {
      if (gpu.index == seat.device) used.push_back(gpu);
    }
  }
  return used;
}

Gpu smallest(const std::vector<Gpu>& gpus) {
  return *std::min_element(gpus.begin(), gpus.end(),
                           [](const Gpu& a, const Gpu& b) { return a.memory_bytes < b.memory_bytes; });
}

}  // namespace larmor
