// How a thread that prepares examples keeps to one core.
#pragma once

namespace larmor {

/// For the calling thread: libtorch's operators open no team of threads.
void work_alone();

}  // namespace larmor
