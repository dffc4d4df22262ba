#include "larmor/nn/blocks/answer_heads.h"

#include <algorithm>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/run_block.h"

namespace larmor::nn {
namespace {

void check_heads(int64_t width, const std::vector<AnswerHead>& heads) {
  bool fits = width >= 1 && !heads.empty();
  for (const AnswerHead& head : heads) {
    const auto same = [&](const AnswerHead& other) { return other.name == head.name; };
    fits = fits && !head.name.empty() && head.name.find('.') == std::string::npos && head.hidden >= 1 &&
           head.classes >= 1 && std::ranges::count_if(heads, same) == 1;
  }
  if (!fits)
    fail(Exit::usage, text(heads.size(), " heads behind ", width, " numbers cannot be"),
         "give heads with different names without dots, and at least 1 of everything");
}

}  // namespace

AnswerHeads::AnswerHeads(int64_t width, const std::vector<AnswerHead>& heads, double drop, c10::Device device,
                         const std::string& path) {
  check_heads(width, heads);
  for (const AnswerHead& head : heads) {
    const std::string name = head.name + "_head";
    heads_.push_back(register_module(
        name,
        std::make_shared<TwoLayers>(TwoLayers::Shape{.in = width, .hidden = head.hidden, .out = head.classes},
                                    drop, text(path, ".", name), device)));
  }
}

std::vector<at::Tensor> AnswerHeads::forward(const at::Tensor& features) const {
  std::vector<at::Tensor> logits;
  for (const auto& head : heads_) logits.push_back(run_block(head, features));
  return logits;
}

}  // namespace larmor::nn
