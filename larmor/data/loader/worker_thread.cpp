#include "larmor/data/loader/worker_thread.h"

#include <ATen/Parallel.h>
#include <omp.h>

namespace larmor {

// libtorch would open a team of threads in every worker. Its own setting is one for the whole process and
// belongs to the training thread; OpenMP's is one a thread. libtorch sets OpenMP's when a thread first asks
// for it, so it is made to ask before.
void work_alone() {
  at::get_num_threads();
  at::internal::lazy_init_num_threads();
  omp_set_num_threads(1);
}

}  // namespace larmor
