// Operators of libtorch's dispatcher, larmor::<name>: what one is on each device, how it is called, and what
// nodes of autograd around it share. README.md says what belongs to an operator.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace larmor {

/// The name of an operator, as an argument of a template.
template <size_t size>
struct OperatorName {
  // NOLINTNEXTLINE(google-explicit-constructor): a literal stands for it
  constexpr OperatorName(const char (&text)[size]) { std::copy_n(text, size, letters.begin()); }
  std::array<char, size> letters = {};
};

/// Throws std::logic_error: only backward calls the operator, below autograd, and its gradient goes another
/// way.
[[noreturn]] void refuse_gradient_of(const char* name);

template <OperatorName name, class Signature>
class Operator;

/// The operator larmor::<name>. Thread-safe.
template <OperatorName name, class Result, class... Arguments>
class Operator<name, Result(Arguments...)> {
 public:
  using Function = Result(Arguments...);

  /// What it is on each device; null: it is not called there, or differentiates as what it calls does.
  struct Functions {
    Function* cpu = nullptr;
    Function* cuda = nullptr;
    Function* meta = nullptr;
    Function* autograd = nullptr;
  };

  /// Makes the operator known while it lives. A static of the source that the operator is called through: a
  /// program that is linked from archives has it then.
  class Registration {
   public:
    /// `schema` is libtorch's without the name: "(Tensor input) -> Tensor".
    Registration(const char* schema, const Functions& on)
        : schema_(torch::Library::FRAGMENT, "larmor", std::nullopt, __FILE__, __LINE__) {
      schema_.def((name.letters.data() + std::string(schema)).c_str());
      implement(cpu_, c10::DispatchKey::CPU, on.cpu);
      implement(cuda_, c10::DispatchKey::CUDA, on.cuda);
      implement(meta_, c10::DispatchKey::Meta, on.meta);
      implement(autograd_, c10::DispatchKey::Autograd, on.autograd);
    }

   private:
    static void implement(std::optional<torch::Library>& library, c10::DispatchKey key, Function* function) {
      if (function == nullptr) return;
      library.emplace(torch::Library::IMPL, "larmor", key, __FILE__, __LINE__);
      library->impl(name.letters.data(), function);
    }

    torch::Library schema_;
    std::optional<torch::Library> cpu_, cuda_, meta_, autograd_;
  };

  /// Calls what the dispatcher chooses: autograd first, where somebody asks for a gradient.
  static Result call(Arguments... arguments) {
    static const auto handle =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow(("larmor::" + std::string(name.letters.data())).c_str(), "")
            .template typed<Function>();
    return handle.call(std::forward<Arguments>(arguments)...);
  }
  /// Calls the operator of the device, for nodes of autograd themselves.
  static Result call_below_autograd(Arguments... arguments) {
    const at::AutoDispatchBelowADInplaceOrView below;
    return call(std::forward<Arguments>(arguments)...);
  }
  /// Stands for autograd where an operator is a gradient itself.
  [[noreturn]] static Result refuse_gradient(Arguments... /*arguments*/) {
    refuse_gradient_of(name.letters.data());
  }
};

/// A node of autograd: torch.autograd.Function, with the names that forward and backward need.
template <class Node>
struct GradientNode : torch::autograd::Function<Node> {
  using Context = torch::autograd::AutogradContext;
  using Variables = torch::autograd::variable_list;
};

/// The gradients of `result` for those of `inputs` that are defined and wanted, with a graph of their own:
/// what backward gives where a derivative beyond the first is asked for. `inputs` are the first that the node
/// was applied to; there are `count` gradients, undefined ones for the rest.
torch::autograd::variable_list differentiable_gradients(const torch::autograd::AutogradContext& context,
                                                        const at::Tensor& result,
                                                        std::span<const at::Tensor> inputs,
                                                        const at::Tensor& gradient, size_t count);

/// An undefined tensor as nothing: autograd asks each tensor that is there for its gradient.
inline std::optional<at::Tensor> if_defined(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

}  // namespace larmor
