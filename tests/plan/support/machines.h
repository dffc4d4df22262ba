// Machines and demands written by hand, and a plan in one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "larmor/base/error.h"
#include "larmor/plan/plan.h"

namespace larmor::testing {

inline constexpr uint64_t mebibyte = uint64_t{1} << 20;
inline constexpr uint64_t gibibyte = uint64_t{1} << 30;

/// One memory node, no limits, no GPU.
Hardware machine(int cores, uint64_t memory_gibibytes);
/// The same with the cores split evenly over two memory nodes.
Hardware two_node_machine(int cores, uint64_t memory_gibibytes);
/// Adds idle cards.
Hardware with_gpus(Hardware hardware, int count, std::string_view name, uint64_t memory_bytes, int major,
                   int minor);

/// The table of the question-answering guide: limits of MiB in round thousands, so that a "24 GB" card
/// with 22.5 GiB counts as one of 20.
Guide question_answering_guide();

/// A 21 M parameter autoencoder: 200 examples, 16 MiB each, 1 GiB of activations, preferred micro-batch 2.
Demand autoencoder();

/// "cuda 0,1 | 16 = 2 x 4 x 2 | bf16 ddp | 4+3 threads".
std::string summary(const Plan& plan);
/// The error that make_plan throws, as "status: message | hint"; "accepted" when it throws none.
std::string refusal(const Hardware& hardware, const Demand& demand, const RunConfig& config);

}  // namespace larmor::testing
