// A workload of the tests: two small stages, of which the second keeps the first frozen. It shows that what
// stands between a workload and the loop holds for systems that are not written yet, and passes the contract
// tests as every workload does. Whoever adds something to Stage or Task uses it here.
//
// coder: halves a volume into a latent of two channels and rebuilds it.
// refiner: keeps a coder, and learns what is missing from the image that this one rebuilds.
//
// It is no part of the program that is installed; build/…/tests/toy/bin/larmor is the program with it.
#pragma once

#include "larmor/task/workload.h"

namespace larmor::toy {

Workload make_workload();

}  // namespace larmor::toy
