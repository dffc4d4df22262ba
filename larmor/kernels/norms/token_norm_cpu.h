// The loops of layer normalisation on CPUs. No libtorch: stretches of memory and sizes. Tokens are cut into
// pieces whose borders depend on sizes alone, every sum runs over a token or a piece in one order, and there
// is no fused multiply-add: the same bits on any number of threads and on every x86-64.
#pragma once

#include <cstdint>
#include <vector>

#include "larmor/kernels/norms/group_norm_silu_cpu.h"

namespace larmor::token_norms {

using group_norms::Bfloat16;
using group_norms::NumberOf;

/// A contiguous tensor [samples, tokens, channels].
struct Shape {
  int64_t samples, tokens, channels;
};

/// Neighbouring tokens of one sample.
struct Piece {
  int64_t sample, first, count;  // the first of all samples' tokens
};

class Pieces {
 public:
  explicit Pieces(const Shape& shape);
  int64_t count() const { return samples_ * per_sample_; }
  int64_t per_sample() const { return per_sample_; }
  Piece at(int64_t index) const;

 private:
  int64_t samples_, tokens_, tokens_of_piece_, per_sample_;
};

/// What a token is multiplied by once it is normalised, and what is added, [samples, channels]; `samples` is
/// 1 where they are the same for all.
template <class Number>
struct Modulation {
  const Number *gain, *offset;
  int64_t samples;

  const Number* gain_of(int64_t sample, int64_t channels) const {
    return gain + (samples == 1 ? 0 : sample * channels);
  }
  const Number* offset_of(int64_t sample, int64_t channels) const {
    return offset + (samples == 1 ? 0 : sample * channels);
  }
};

/// The norm of pieces [first, end): the result, and mean and reciprocal deviation of each token.
template <class Element>
void normalise(const Shape& shape, const Modulation<NumberOf<Element>>& by, double epsilon,
               const Element* input, int64_t first, int64_t end, Element* output, NumberOf<Element>* mean,
               NumberOf<Element>* rstd);

/// The gradients of pieces [first, end): that of the input, and `partial` [pieces, 2, channels]: sums of the
/// gradient, and of it times the normalised token.
template <class Element>
void differentiate(const Shape& shape, const Modulation<NumberOf<Element>>& by, const Element* input,
                   const Element* gradient, const NumberOf<Element>* mean, const NumberOf<Element>* rstd,
                   int64_t first, int64_t end, Element* of_input, NumberOf<Element>* partial);

/// sums [samples, 2, channels] of `partial`.
template <class Number>
void add_pieces(const Shape& shape, const std::vector<Number>& partial, double* sums);

}  // namespace larmor::token_norms
