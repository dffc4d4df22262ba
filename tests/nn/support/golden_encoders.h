// ConvNeXt and BERT against the golden files of timm and transformers: outputs, losses, every gradient, in
// both precisions.
#pragma once

#include <string>

#include "larmor/nn/networks/bert/bert.h"
#include "larmor/nn/networks/convnext/convnext.h"

#include "tests/nn/support/golden.h"

namespace larmor::testing {

/// The features' network with weights by rule, of `golden`, whose input and target are stored.
void expect_golden_convnext_by_rule(const Golden& golden, const nn::ConvNextOptions& options);

/// Inputs of `golden`, which has the weights, or whose targets are made by rule from `rule_name`.
void expect_golden_bert(const Golden& golden, const nn::BertOptions& options, const std::string& rule_name);

}  // namespace larmor::testing
