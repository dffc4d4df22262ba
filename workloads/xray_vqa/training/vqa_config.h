// What both stages of xray_vqa add to the config: questions, the network, the loss.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "larmor/config/fields.h"
#include "larmor/config/run_config.h"

#include "workloads/xray_vqa/data/question_data.h"
#include "workloads/xray_vqa/network/vqa_loss.h"
#include "workloads/xray_vqa/network/vqa_network.h"

namespace larmor::xray_vqa {

struct VqaConfig {
  // data
  QuestionData data;
  // model
  std::string convnext_size = "base";        // or custom: depths and dims as they are listed
  std::vector<int64_t> depths, dims;         // of custom
  VqaOptions network;                        // its sizes follow from the words above in options()
  std::string image_weights, text_weights;   // safetensors files to start the encoders from
  std::vector<std::string> frozen;           // image, text
  int64_t thaw_after = 0;                    // epochs; 0: never
  double encoder_rate = 1, layer_decay = 1;  // factors of the learning rate
  bool decays_all = true;                    // weight decay of norms, biases and embeddings, too
  // loss
  LossWeights weights;
  int64_t baseline_examples = 2048;
  // train
  double without_scene = 0;  // share of the examples

  void describe_data(Fields& f);
  void describe_model(Fields& f);
  void describe_loss(Fields& f);
  void describe_train(Fields& f);
  /// Throws Error (usage): combinations that cannot work.
  void check(const RunConfig& config) const;

  /// The network for a vocabulary of so many words.
  VqaOptions options(int64_t words) const;
  bool freezes(const std::string& encoder) const;
};

}  // namespace larmor::xray_vqa
