#include "workloads/xray_vqa/training/vqa_config.h"

#include <algorithm>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::xray_vqa {
namespace {

constexpr Range vqa_drop{0, 0.99};
constexpr const char* custom_size = "custom";

}  // namespace

void VqaConfig::describe_data(Fields& f) { data.describe(f); }

void VqaConfig::describe_model(Fields& f) {
  f.choice("image_encoder", network.image_encoder,
           {{"convnext", ImageEncoder::convnext}, {"cnn", ImageEncoder::plain}},
           "what reads radiographs: a ConvNeXt, or three convolutions with batch norm");
  f.section("convnext", [this](Fields& inner) {
    std::vector<std::string> sizes_of_timm = nn::ConvNextOptions::sizes();
    sizes_of_timm.emplace_back(custom_size);
    inner.word("size", convnext_size, sizes_of_timm, "timm's name of the size; custom: depths and dims");
    inner.field("depths", depths, "blocks of each stage, for size custom", at_least_one);
    inner.field("dims", dims, "channels of each stage, for size custom", at_least_one);
    inner.field("drop_path", network.convnext.drop_path_rate,
                "probability that an example passes by the last block; it rises evenly from 0", vqa_drop);
    inner.field("layer_scale", network.convnext.layer_scale, "what blocks are scaled by at the start",
                at_least_zero);
  });
  f.choice("text_encoder", network.text_encoder, {{"bert", TextEncoder::bert}, {"lstm", TextEncoder::plain}},
           "what reads questions: a BERT, or an LSTM that reads both ways");
  f.section("bert", [this](Fields& inner) {
    inner.field("layers", network.bert.num_hidden_layers, "layers", at_least_one);
    inner.field("heads", network.bert.num_attention_heads, "heads of attention", at_least_one);
    inner.field("intermediate", network.bert.intermediate_size, "width inside a layer", at_least_one);
    inner.field("positions", network.bert.max_position_embeddings, "tokens of a text at most", at_least_one);
    inner.field("dropout", network.bert.hidden_dropout_prob, "dropout of states", vqa_drop);
    inner.field("attention_dropout", network.bert.attention_probs_dropout_prob,
                "dropout of attention's weights; above 0 attention is not fused in training", vqa_drop);
  });
  f.field("width", network.interaction.width, "of tokens, where picture and question meet", at_least_one);
  f.section("interaction", [this](Fields& inner) {
    inner.field("layers", network.interaction.layers, "layers", at_least_one);
    inner.field("heads", network.interaction.heads, "heads of attention", at_least_one);
    inner.field("intermediate", network.interaction.intermediate, "width of the last layer's inside",
                at_least_one);
    inner.field("dropout", network.interaction.dropout, "dropout there and in the heads", vqa_drop);
    inner.field("attention_dropout", network.interaction.attention_dropout,
                "dropout of attention's weights; above 0 attention is not fused in training", vqa_drop);
  });
  f.field("projection", network.projection, "numbers that describe a region of the picture", at_least_one);
  f.field("embedding", network.embedding, "numbers that describe the name of a region or of an entity",
          at_least_one);
  for (std::size_t i = 0; i < heads; ++i)
    f.field((std::string(head_names[i]) + "_hidden").c_str(), network.head_hidden[i],
            "width inside the head of that name", at_least_one);
  f.field("chexpert_hidden", network.labels_hidden, "width inside CheXpert's head", at_least_one);
  f.path("image_weights", image_weights,
         "safetensors file of timm to start the ConvNeXt from; its head is left out");
  f.path("text_weights", text_weights, "safetensors file of transformers to start the BERT from");
  f.field("frozen", frozen, "encoders that do not learn: [image], [text] or [image, text]");
  f.field("thaw_after", thaw_after, "epochs after which frozen encoders learn, too; 0: never", at_least_zero);
  f.field("encoder_rate", encoder_rate, "factor of the learning rate for both encoders", at_least_zero);
  f.field("layer_decay", layer_decay,
          "factor of the learning rate of each layer of an encoder to the one behind it", Range{0.01, 1});
  f.field("decay_all", decays_all,
          "weight decay of all weights; false: not of biases, norms, layer scales and embeddings");
}

void VqaConfig::describe_loss(Fields& f) {
  f.field("vqa", weights.vqa, "weight of the answers", at_least_zero);
  f.field("chexpert", weights.labels, "weight of CheXpert's labels", at_least_zero);
  for (std::size_t i = 0; i < heads; ++i)
    f.field(head_names[i], weights.of_heads[i], "weight of the head of that name", at_least_zero);
  f.field("baseline_examples", baseline_examples,
          "training questions that the baselines are made of at each validation; 0: all of them",
          at_least_zero);
}

void VqaConfig::describe_train(Fields& f) {
  f.field("without_scene", without_scene,
          "share of the training examples that are learnt without their scene, the whole picture as the only "
          "object, as `predict` sees them; drawn anew for each example of each epoch",
          Range{0, 1});
}

void VqaConfig::check(const RunConfig& config) const {
  data.check(config.data);
  for (const std::string& encoder : frozen) {
    if (encoder != "image" && encoder != "text")
      fail(Exit::usage, text("model.frozen names `", encoder, "`"), "say [image], [text] or [image, text]");
  }
  const bool is_custom = convnext_size == custom_size;
  if (!is_custom && (!depths.empty() || !dims.empty()))
    fail(Exit::usage,
         text("model.convnext.size is ", convnext_size, ", and depths or dims are listed beside"),
         "say model.convnext.size=custom, or leave the lists out");
  const VqaOptions sizes_to_check = options(/*words=*/2);
  if (network.image_encoder == ImageEncoder::convnext) sizes_to_check.convnext.check();
  if (network.text_encoder == TextEncoder::bert) {
    sizes_to_check.bert.check();
    if (data.sizes.question > network.bert.max_position_embeddings)
      fail(Exit::usage,
           text("data.question_length is ", data.sizes.question, ", and model.bert.positions ",
                network.bert.max_position_embeddings),
           "cut questions to as many tokens as the BERT has positions");
  }
  VqaNetwork(sizes_to_check, c10::kMeta);  // refuses widths that do not fit
}

VqaOptions VqaConfig::options(int64_t words) const {
  VqaOptions made = network;
  if (convnext_size == custom_size) {
    made.convnext.depths = depths;
    made.convnext.dims = dims;
  } else {
    const auto named = nn::ConvNextOptions::of_size(convnext_size);
    made.convnext.depths = named.depths;
    made.convnext.dims = named.dims;
  }
  made.bert.hidden_size = network.interaction.width;
  made.bert.vocab_size = words;
  return made;
}

bool VqaConfig::freezes(const std::string& encoder) const {
  return std::ranges::find(frozen, encoder) != frozen.end();
}

}  // namespace larmor::xray_vqa
