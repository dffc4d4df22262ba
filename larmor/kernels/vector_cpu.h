// Which of the sources that are compiled for wide vectors (larmor_vector_source) this CPU runs.
#pragma once

namespace larmor {

enum class VectorCpu { other, avx2, avx512 };

/// The vectors of this CPU, as libtorch takes them, so that ATEN_CPU_CAPABILITY decides here, too, but never
/// more than the CPU has: the variable may name any.
VectorCpu vector_cpu();

}  // namespace larmor
