// `bench`: the verbs that time parts of the program.
#include "app/program.h"

namespace larmor::app {

void add_bench(Program& program) {
  auto& family = program.add_family("bench", "time parts of the program");
  add_bench_step(program, family);
  add_bench_loader(program, family);
  add_bench_collectives(program, family);
}

}  // namespace larmor::app
