// `config import`: what another program was told, as a config and a command of ours.
#pragma once

#include "app/program.h"

namespace larmor::app {

void add_import(Program& program, CLI::App& family);

}  // namespace larmor::app
