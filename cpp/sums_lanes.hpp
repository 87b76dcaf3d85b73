// SPDX-License-Identifier: Apache-2.0
// Vectors of one instruction set and the exact arithmetic on them.
//
// Everything sits in the namespace of its instruction set, and no standard container or algorithm
// is instantiated here: the linker would merge such code over all instruction sets and could hand
// AVX-512 instructions to a machine without them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#if defined(TACIT_ISA_avx512) || defined(TACIT_ISA_avx2)
#include <immintrin.h>
#endif

namespace tacit::TACIT_ISA {

#if defined(TACIT_ISA_avx512)
inline constexpr std::size_t vector_bytes = 64;
inline constexpr std::size_t tile_rows = 8;  // of the 32 registers 16 accumulate
#elif defined(TACIT_ISA_avx2)
inline constexpr std::size_t vector_bytes = 32;
inline constexpr std::size_t tile_rows = 4;  // of the 16 registers 8 accumulate
#else
inline constexpr std::size_t vector_bytes = 16;
inline constexpr std::size_t tile_rows = 4;
#endif

template <class Lane>
struct Vector {
  typedef Lane type __attribute__((vector_size(vector_bytes), aligned(vector_bytes), may_alias));
  static constexpr std::size_t lanes = vector_bytes / sizeof(Lane);
};

// A scratch array that starts on a vector boundary.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::size_t count)
      : data_(static_cast<T*>(::operator new(count * sizeof(T) + 1, std::align_val_t{64}))) {}
  ~Scratch() { ::operator delete(data_, std::align_val_t{64}); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_;
};

inline constexpr std::size_t padded(std::size_t count, std::size_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// sum + a * b. Fused where the machine can: these products are exact either way.
template <class Lane>
inline typename Vector<Lane>::type add_product(typename Vector<Lane>::type sum, Lane a,
                                               typename Vector<Lane>::type b) {
  return sum + a * b;
}
#if defined(TACIT_ISA_avx512)
template <>
inline Vector<double>::type add_product<double>(Vector<double>::type sum, double a,
                                                Vector<double>::type b) {
  return _mm512_fmadd_pd(_mm512_set1_pd(a), b, sum);
}
#elif defined(TACIT_ISA_avx2)
template <>
inline Vector<double>::type add_product<double>(Vector<double>::type sum, double a,
                                                Vector<double>::type b) {
  return _mm256_fmadd_pd(_mm256_set1_pd(a), b, sum);
}
#endif

// The largest absolute value; 2^31 fits because the result is 64 bits wide.
inline std::uint64_t largest(const std::int32_t* values, std::size_t count) {
  std::int32_t low = 0, high = 0;
  for (std::size_t p = 0; p < count; ++p) {
    low = values[p] < low ? values[p] : low;
    high = values[p] > high ? values[p] : high;
  }
  const std::uint64_t down = static_cast<std::uint64_t>(-static_cast<std::int64_t>(low));
  const std::uint64_t up = static_cast<std::uint64_t>(high);
  return down > up ? down : up;
}

// How sums of integers are held. `capacity(product)` products of at most that size add up without
// loss (0: not even one fits). Unsigned lanes wrap modulo 2^64 just as the int64 of the twin does.
using Size = unsigned __int128;  // three 32-bit numbers may be multiplied

struct Int32Sums {
  using Lane = std::uint32_t;
  static Lane from(std::int64_t x) { return static_cast<Lane>(x); }
  static std::int64_t back(Lane x) { return static_cast<std::int32_t>(x); }
  static std::uint64_t capacity(Size product) {
    return static_cast<std::uint64_t>(((1ull << 31) - 1) / (product ? product : 1));
  }
};

struct DoubleSums {
  using Lane = double;
  // 1.5 * 2^52: adding it leaves an integer below 2^51 in the low bits, on every instruction set.
  static constexpr double shift = 6755399441055744.0;
  static Lane from(std::int64_t x) { return static_cast<Lane>(x); }
  static std::int64_t back(Lane x) {
    const double shifted = x + shift;
    std::int64_t bits, zero;
    std::memcpy(&bits, &shifted, sizeof bits);
    std::memcpy(&zero, &shift, sizeof zero);
    return bits - zero;
  }
  // A whole register of them.
  static void back(Vector<double>::type x, std::int64_t* out) {
    const Vector<double>::type shifted = x + shift;
    Vector<std::int64_t>::type bits, zero;
    const Vector<double>::type shifts = Vector<double>::type{} + shift;
    std::memcpy(&bits, &shifted, sizeof bits);
    std::memcpy(&zero, &shifts, sizeof zero);
    bits -= zero;
    std::memcpy(out, &bits, sizeof bits);
  }
  static std::uint64_t capacity(Size product) {
    return static_cast<std::uint64_t>((1ull << 51) / (product ? product : 1));
  }
};

struct WrappingSums {
  using Lane = std::uint64_t;
  static Lane from(std::int64_t x) { return static_cast<Lane>(x); }
  static std::int64_t back(Lane x) { return static_cast<std::int64_t>(x); }
  static void back(Vector<Lane>::type x, std::int64_t* out) { std::memcpy(out, &x, sizeof x); }
  static std::uint64_t capacity(Size) { return ~0ull; }
};

inline void add_to(std::int64_t& sum, std::int64_t x) {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(x));
}

}  // namespace tacit::TACIT_ISA
