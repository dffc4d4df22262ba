// What nearly every source of the torch side includes anyway, parsed once. Sources still include what
// they use: preset nopch builds without this file.
#pragma once
#include <torch/nn.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>
