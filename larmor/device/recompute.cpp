#include "larmor/device/recompute.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/autocast.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/heartbeat.h"
#include "larmor/device/layout.h"
#include "larmor/device/memory/saved_tensors.h"
#include "larmor/device/rank_sum.h"
#include "larmor/device/tensors/weight_keepers.h"

namespace larmor {
namespace {

namespace autograd = torch::autograd;
using Tensors = std::vector<at::Tensor>;

/// Keeps a run's inputs as autograd keeps any saved tensor, so that a run around it can let them go in turn.
struct KeptInputs : autograd::Function<KeptInputs> {
  static at::Tensor forward(autograd::AutogradContext* context, const at::Tensor& /*learns*/,
                            Tensors inputs) {
    context->save_for_backward(std::move(inputs));
    return at::empty({0});
  }
  static autograd::variable_list backward(autograd::AutogradContext* /*context*/,
                                          const autograd::variable_list& /*gradients*/) {
    fail(Exit::unexpected, "backward went through the kept inputs of a recomputed block");
  }
};

std::shared_ptr<autograd::Node> keep_inputs(const Tensors& inputs) {
  return KeptInputs::apply(at::empty({0}).requires_grad_(), inputs).grad_fn();
}

/// What a thread is set to, besides tensors. The rerun may be on another one: a GPU's backward has its own.
struct Surroundings {
  AutocastState autocast = AutocastState::now();
  Layout layout = layout_here();
  DrawPlace draws = draw_place();
  RankSum* ranks = rank_sum();
  Heartbeat* shown = heartbeat();
  Recompute within = recompute_here();
  std::vector<WeightKeeper*> keepers = weight_keepers();
};

/// Puts the thread, the flags of parameters and, at the end, the values of buffers to where they were.
class Again {
 public:
  Again(const Surroundings& then, const Tensors& parameters, const std::vector<bool>& learned,
        const Tensors& buffers)
      : Again(then, parameters, buffers) {
    // Now ~Again() puts back what has been changed, should one of these throw.
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (learns_[i] != learned[i]) parameters_[i].requires_grad_(learned[i]);
    }
  }
  ~Again() {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].requires_grad() != learns_[i]) parameters_[i].requires_grad_(learns_[i]);
    }
    const at::NoGradGuard no_grad;
    // The values alone: a new version would tell autograd that the buffer has changed.
    for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i].variable_data().copy_(kept_[i]);
  }
  Again(const Again&) = delete;
  Again& operator=(const Again&) = delete;

 private:
  Again(const Surroundings& then, const Tensors& parameters, const Tensors& buffers)
      : autocast_(then.autocast),
        layout_(then.layout),
        draws_(then.draws),
        ranks_(then.ranks),
        heartbeat_(then.shown),
        within_(then.within),
        keepers_(then.keepers),
        parameters_(parameters),
        buffers_(buffers) {
    for (const at::Tensor& parameter : parameters_) learns_.push_back(parameter.requires_grad());
    const at::NoGradGuard no_grad;
    for (const at::Tensor& buffer : buffers_) kept_.push_back(buffer.clone());
  }

  AutocastAgain autocast_;
  LayoutScope layout_;
  DrawScope draws_;
  RankSumScope ranks_;
  HeartbeatScope heartbeat_;
  RecomputeScope within_;
  WeightKeepersAgain keepers_;
  Tensors parameters_;
  std::vector<bool> learns_;
  Tensors buffers_, kept_;
};

/// Thrown by the last tensor that the rerun has to save: what follows is not needed.
struct EverythingIsBack {};

/// One run, and what its rerun has brought back.
struct Frame {
  BlockFunction run;
  Surroundings surroundings;
  Tensors parameters, buffers;
  std::vector<bool> learned;         // one a parameter
  std::vector<bool> inputs_learned;  // one an input
  std::shared_ptr<autograd::Node> inputs;
  Tensors slots;                             // of the tensors that the run saved; full between rerun and use
  std::vector<std::vector<int64_t>> shapes;  // of those tensors

  Tensors fresh_inputs() const;
  void run_again();
};

/// In the first run: keeps a number in place of the tensor.
struct Forget final : autograd::SavedVariableHooks {
  explicit Forget(std::shared_ptr<Frame> of) : frame(std::move(of)) {}
  void call_pack_hook(const at::Tensor& tensor) override {
    slot = frame->slots.size();
    frame->slots.emplace_back();
    frame->shapes.push_back(tensor.sizes().vec());
  }
  at::Tensor call_unpack_hook() override {
    if (!frame->slots[slot].defined()) frame->run_again();
    return std::exchange(frame->slots[slot], at::Tensor());
  }
  ~Forget() override {
    if (slot < frame->slots.size()) frame->slots[slot] = at::Tensor();
  }
  std::shared_ptr<Frame> frame;
  size_t slot = 0;
};

/// In the rerun: puts the tensor where its number says.
struct Remember final : autograd::SavedVariableHooks {
  Remember(Frame& of, size_t& count) : frame(of), place(count) {}
  void call_pack_hook(const at::Tensor& tensor) override {
    const size_t slot = place++;
    if (slot >= frame.slots.size() || tensor.sizes() != frame.shapes[slot]) {
      fail(Exit::unexpected,
           text("a block saved other tensors when it was computed again (tensor ", slot, " of ",
                frame.slots.size(), ")"),
           "train.activation_checkpointing=none, or make the block's forward repeatable");
    }
    frame.slots[slot] = tensor.detach();
    if (place == frame.slots.size()) throw EverythingIsBack();
  }
  at::Tensor call_unpack_hook() override {
    fail(Exit::unexpected, "backward went through the graph of a recomputation");
  }
  Frame& frame;
  size_t& place;
};

Tensors Frame::fresh_inputs() const {
  const auto* const node = static_cast<autograd::CppNode<KeptInputs>*>(inputs.get());
  Tensors fresh;
  for (const at::Tensor& kept : node->ctx_.get_saved_variables()) {
    const size_t i = fresh.size();
    fresh.push_back(kept.defined() ? kept.detach().requires_grad_(inputs_learned[i]) : kept);
  }
  return fresh;
}

void Frame::run_again() {
  const Tensors again = fresh_inputs();
  size_t place = 0;
  {
    const Again state(surroundings, parameters, learned, buffers);
    const at::AutoGradMode graph(true);
    const SavedTensorScope hooks([this, &place] { return std::make_unique<Remember>(*this, place); });
    try {
      run(again);
    } catch (const EverythingIsBack&) {
    }
  }
  if (place == slots.size()) {
    if (surroundings.shown != nullptr) surroundings.shown->show();
    return;
  }
  fail(Exit::unexpected,
       text("a block saved ", place, " tensors when it was computed again, and ", slots.size(), " before"),
       "train.activation_checkpointing=none, or make the block's forward repeatable");
}

}  // namespace

bool any_learns(const std::vector<at::Tensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); });
}

std::vector<at::Tensor> run_recomputed(BlockFunction run, const std::vector<at::Tensor>& inputs,
                                       std::vector<at::Tensor> parameters, std::vector<at::Tensor> buffers) {
  if (!at::GradMode::is_enabled() || !(any_learns(inputs) || any_learns(parameters))) return run(inputs);
  const auto frame = std::make_shared<Frame>();
  frame->run = std::move(run);
  frame->parameters = std::move(parameters);
  frame->buffers = std::move(buffers);
  for (const at::Tensor& parameter : frame->parameters) frame->learned.push_back(parameter.requires_grad());
  for (const at::Tensor& input : inputs)
    frame->inputs_learned.push_back(input.defined() && input.requires_grad());
  frame->inputs = keep_inputs(inputs);
  const SavedTensorScope hooks([frame] { return std::make_unique<Forget>(frame); });
  return frame->run(inputs);
}

}  // namespace larmor
