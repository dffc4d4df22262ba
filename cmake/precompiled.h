// What nearly every source of the torch side includes anyway, parsed once. Sources still include what
// they use: preset nopch builds without this file. Not torch/nn.h: its templates are instantiated again
// in every source that sees it, which doubles the time of most.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>
#include <torch/nn/module.h>
