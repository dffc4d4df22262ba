#include "larmor/plan/guide_report.h"

#include <algorithm>
#include <vector>

#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr std::size_t report_width = 70, value_column = 23;

std::string gigabytes(uint64_t bytes) {
  constexpr double gibibyte = 1024.0 * 1024 * 1024;
  return fixed(static_cast<double>(bytes) / gibibyte, 1) + " GB";
}

/// Its name, and dashes below.
void add_section(std::vector<std::string>& lines, const std::string& name) {
  lines.insert(lines.end(), {"", std::string(21, ' ') + name, std::string(report_width, '-')});
}

void add_line(std::vector<std::string>& lines, const std::string& name, const std::string& value) {
  const std::size_t gap = name.size() + 1 < value_column ? value_column - name.size() - 1 : 1;
  lines.push_back(text("  ", name, ":", std::string(gap, ' '), value));
}

void add_gpus(std::vector<std::string>& lines, const Hardware& hardware) {
  add_section(lines, "GPU CONFIGURATION");
  add_line(lines, "Number of GPUs", text(hardware.gpus.size()));
  if (hardware.gpus.empty()) return;
  uint64_t total = 0, least = hardware.gpus.front().memory_bytes;
  for (const Gpu& gpu : hardware.gpus) {
    total += gpu.memory_bytes;
    least = std::min(least, gpu.memory_bytes);
  }
  add_line(lines, "Total GPU Memory", gigabytes(total));
  add_line(lines, "Min GPU Memory", gigabytes(least));
  for (const Gpu& gpu : hardware.gpus) {
    const std::string indent(7, ' ');
    lines.insert(lines.end(), {"", text("  GPU ", gpu.index, ": ", gpu.name),
                               text(indent, "Memory: ", gigabytes(gpu.memory_bytes),
                                    " (Free: ", gigabytes(gpu.free_bytes), ")"),
                               text(indent, "Compute: ", gpu.capability_major, ".", gpu.capability_minor)});
  }
}

void add_settings(std::vector<std::string>& lines, const Plan& plan) {
  add_section(lines, "OPTIMAL TRAINING SETTINGS");
  add_line(lines, "Batch size per GPU", text(plan.micro_batch));
  add_line(lines, "Gradient accumulation", text(plan.accumulation));
  add_line(lines, "Effective batch size", text(plan.global_batch));
  add_line(lines, "DataLoader workers", text(plan.loader_threads * plan.world_size()));
  const bool mixed = plan.precision == Precision::fp16 || plan.precision == Precision::bf16;
  add_line(lines, text("Mixed precision (", plan.precision == Precision::bf16 ? "BF16" : "FP16", ")"),
           mixed ? "Enabled" : "Disabled");
  add_line(lines, "Gradient checkpointing", plan.recompute == Recompute::none ? "Disabled" : "Enabled");
  const auto stage = static_cast<int>(plan.strategy) - static_cast<int>(Strategy::zero1) + 1;
  add_line(lines, "DeepSpeed ZeRO stage", is_sharded(plan.strategy) ? text(stage) : "0");
}

}  // namespace

std::string guide_report(const Hardware& hardware, const Plan& plan) {
  const std::string rule(report_width, '=');
  std::vector<std::string> lines{rule, "HARDWARE DETECTION RESULTS", rule};
  add_gpus(lines, hardware);
  add_section(lines, "CPU CONFIGURATION");
  add_line(lines, "CPU Cores", text(hardware.usable_cores()));
  add_section(lines, "MEMORY CONFIGURATION");
  add_line(lines, "Total RAM", gigabytes(hardware.memory_bytes));
  add_line(lines, "Available RAM", gigabytes(hardware.memory_available_bytes));
  add_settings(lines, plan);
  lines.push_back(rule);
  return join(lines, "\n") + "\n";
}

}  // namespace larmor
