#include "tests/config/support/made_up_workload.h"

#include <fstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

WorkloadFields MadeUpWorkload::fields() {
  WorkloadFields fields;
  fields.model = [this](Fields& f) {
    f.field("channels", channels, "feature channels of each level", at_least_one);
    f.field("attention_levels", attention_levels, "which levels have self-attention");
    f.field("nonlocal_attention", nonlocal_attention, "attention in the middle; auto: by size");
    f.field("norm_eps", norm_eps, "added to the variance", at_least_zero);
    f.bytes("memory_limit", memory_limit, "bytes that the network may keep");
    f.field("weights", weights, "file to start from");
  };
  fields.loss = [this](Fields& f) {
    f.word("recon_loss", recon_loss, {"l1", "l2"}, "reconstruction term");
    f.field("kl_weight", kl_weight, "weight of the Kullback-Leibler term", at_least_zero);
    f.section("discriminator", [this](Fields& inner) {
      inner.field("channels", discriminator_channels, "channels of its first layer", at_least_one);
    });
  };
  fields.objectives = {"generator", "discriminator"};
  return fields;
}

LoadedConfig load(const Sources& sources, MadeUpWorkload* workload) {
  MadeUpWorkload own;
  return load_config(sources, "made_up", "first", (workload == nullptr ? own : *workload).fields());
}

LoadedConfig load_overrides(const std::vector<std::string>& overrides) {
  return load({.files = {}, .environment = {}, .overrides = overrides});
}

std::string refusal_of(const Sources& sources) {
  try {
    load(sources);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage) << error.message();
    return error.message();
  }
  return "";
}

std::string refusal_of_overrides(const std::vector<std::string>& overrides) {
  return refusal_of({.files = {}, .environment = {}, .overrides = overrides});
}

ConfigFile::ConfigFile(const std::string& content, const std::string& name) : name_(name) {
  std::ofstream(path(), std::ios::binary) << content;
}

const Origin& origin_of(const LoadedConfig& loaded, const std::string& key) {
  for (const Origin& origin : loaded.origins) {
    if (origin.key == key) return origin;
  }
  throw std::out_of_range(text("no key ", key));
}

}  // namespace larmor
