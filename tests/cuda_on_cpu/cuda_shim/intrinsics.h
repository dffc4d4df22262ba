// Functions that CUDA's compilers know by themselves. Approximate ones are computed as exactly as the CPU
// can.
#pragma once

inline void __syncthreads() { ::cuda_on_cpu::meet_block(); }
inline void __syncwarp(unsigned mask = 0xffffffffU) { ::cuda_on_cpu::meet_warp(mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline int __syncthreads_count(int value) { return ::cuda_on_cpu::count_in_block(value != 0); }
inline int __syncthreads_or(int value) { return __syncthreads_count(value) > 0; }
inline int __syncthreads_and(int value) { return __syncthreads_count(value == 0) == 0; }

/// The value that another lane of the warp has; the own one where there is no such lane in the `width`.
template <class Value>
Value __shfl_sync(unsigned mask, Value value, int lane, int width = warpSize) {
  const int own = ::cuda_on_cpu::lane_here(), first = own / width * width;
  return ::cuda_on_cpu::value_of_lane(mask, value, first + lane % width);
}
template <class Value>
Value __shfl_up_sync(unsigned mask, Value value, unsigned distance, int width = warpSize) {
  const int own = ::cuda_on_cpu::lane_here(), from = own - static_cast<int>(distance);
  return ::cuda_on_cpu::value_of_lane(mask, value, from >= own / width * width ? from : own);
}
template <class Value>
Value __shfl_down_sync(unsigned mask, Value value, unsigned distance, int width = warpSize) {
  const int own = ::cuda_on_cpu::lane_here(), from = own + static_cast<int>(distance);
  return ::cuda_on_cpu::value_of_lane(mask, value, from < (own / width + 1) * width ? from : own);
}
template <class Value>
Value __shfl_xor_sync(unsigned mask, Value value, int bits, int width = warpSize) {
  const int own = ::cuda_on_cpu::lane_here(), from = own ^ bits;
  return ::cuda_on_cpu::value_of_lane(mask, value, from < (own / width + 1) * width ? from : own);
}
inline unsigned __ballot_sync(unsigned mask, int value) { return ::cuda_on_cpu::vote(mask, value != 0); }
inline int __any_sync(unsigned mask, int value) { return __ballot_sync(mask, value) != 0; }
inline int __all_sync(unsigned mask, int value) { return __ballot_sync(mask, value == 0) == 0; }

/// The old value; change(old) takes its place.
template <class Value, class Change>
Value changed_atomically(Value* place, Change change) {
  Value old, wanted;
  __atomic_load(place, &old, __ATOMIC_RELAXED);
  do {
    wanted = change(old);
  } while (!__atomic_compare_exchange(place, &old, &wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}
template <class Value>
Value atomicAdd(Value* place, Value more) {
  return changed_atomically(place, [=](Value old) { return static_cast<Value>(old + more); });
}
template <class Value>
Value atomicMax(Value* place, Value other) {
  return changed_atomically(place, [=](Value old) { return old < other ? other : old; });
}
template <class Value>
Value atomicMin(Value* place, Value other) {
  return changed_atomically(place, [=](Value old) { return other < old ? other : old; });
}
template <class Value>
Value atomicExch(Value* place, Value other) {
  return changed_atomically(place, [=](Value) { return other; });
}
template <class Value>
Value atomicCAS(Value* place, Value expected, Value other) {
  return changed_atomically(place, [=](Value old) { return old == expected ? other : old; });
}

inline double __dsqrt_rn(double x) { return std::sqrt(x); }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __frcp_rn(float x) { return 1 / x; }
inline float __frsqrt_rn(float x) { return 1 / std::sqrt(x); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 0 ? std::fmin(x, 1.0F) : 0.0F; }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline float rsqrt(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline unsigned __umulhi(unsigned x, unsigned y) { return static_cast<unsigned>((uint64_t{x} * y) >> 32U); }
inline uint64_t __umul64hi(uint64_t x, uint64_t y) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(x) * y) >> 64U);
}
template <class To, class From>
To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
inline float __int_as_float(int bits) { return same_bits<float>(bits); }
inline int __float_as_int(float number) { return same_bits<int>(number); }
inline float __uint_as_float(unsigned bits) { return same_bits<float>(bits); }
inline unsigned __float_as_uint(float number) { return same_bits<unsigned>(number); }
inline double __longlong_as_double(long long bits) { return same_bits<double>(bits); }
inline long long __double_as_longlong(double number) { return same_bits<long long>(number); }

template <class Value>
Value __ldg(const Value* place) {
  return *place;
}
template <class Value>
Value __ldcs(const Value* place) {
  return *place;
}
template <class Value>
void __stcs(Value* place, Value value) {
  *place = value;
}

template <class A, class B>
constexpr auto min(A a, B b) {
  return b < a ? b : a;
}
template <class A, class B>
constexpr auto max(A a, B b) {
  return a < b ? b : a;
}
using std::abs;
using std::exp;
using std::floor;
using std::fma;
using std::fmax;
using std::fmin;
using std::isfinite;
using std::isnan;
using std::log;
using std::pow;
using std::sqrt;
