// CUDA's vectors of two and four numbers, which lie as a card's 8- and 16-byte accesses want them.
#pragma once

template <class Number>
struct alignas(2 * sizeof(Number)) VectorOfTwo {
  Number x, y;
};
template <class Number>
struct alignas(sizeof(Number) < 4 ? 4 * sizeof(Number) : 16) VectorOfFour {
  Number x, y, z, w;
};

using char2 = VectorOfTwo<signed char>;
using uchar2 = VectorOfTwo<unsigned char>;
using short2 = VectorOfTwo<short>;
using ushort2 = VectorOfTwo<unsigned short>;
using int2 = VectorOfTwo<int>;
using uint2 = VectorOfTwo<unsigned>;
using longlong2 = VectorOfTwo<long long>;
using ulonglong2 = VectorOfTwo<unsigned long long>;
using float2 = VectorOfTwo<float>;
using double2 = VectorOfTwo<double>;
using char4 = VectorOfFour<signed char>;
using uchar4 = VectorOfFour<unsigned char>;
using short4 = VectorOfFour<short>;
using ushort4 = VectorOfFour<unsigned short>;
using int4 = VectorOfFour<int>;
using uint4 = VectorOfFour<unsigned>;
using float4 = VectorOfFour<float>;
using double4 = VectorOfFour<double>;

constexpr int2 make_int2(int x, int y) { return {x, y}; }
constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
constexpr float2 make_float2(float x, float y) { return {x, y}; }
constexpr double2 make_double2(double x, double y) { return {x, y}; }
constexpr int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
