// SPDX-License-Identifier: Apache-2.0
// The best n of a stream of scored items, worst on top.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "lanes.hpp"

namespace tacit::TACIT_ISA {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

struct Scored {
  float score;
  std::int32_t item;
};

struct Better {
  bool operator()(const Scored& a, const Scored& b) const {
    return a.score > b.score || (a.score == b.score && a.item < b.item);
  }
};

class Best {
 public:
  void clear(std::size_t n) {
    most_ = n;
    heap_.clear();
  }

  // Whatever does not exceed this will not be kept: items come in ascending order, so of equal
  // scores the first stays.
  float threshold() const { return heap_.size() < most_ ? kNothing : heap_.front().score; }

  void offer(float score, std::int32_t item) {
    if (!(score > threshold())) return;
    if (heap_.size() == most_) {
      std::pop_heap(heap_.begin(), heap_.end(), Better{});
      heap_.pop_back();
    }
    heap_.push_back({score, item});
    std::push_heap(heap_.begin(), heap_.end(), Better{});
  }

  void write(std::int32_t* chosen, float* scores) {
    std::sort_heap(heap_.begin(), heap_.end(), Better{});
    for (std::size_t k = 0; k < most_; ++k) {
      chosen[k] = k < heap_.size() ? heap_[k].item : -1;
      scores[k] = k < heap_.size() ? heap_[k].score : kNothing;
    }
  }

 private:
  std::size_t most_ = 0;
  std::vector<Scored> heap_;
};

// Bit l is set where lane l of a is above b.
#if defined(TACIT_ISA_avx512)
TACIT_INLINE unsigned above(Lanes a, Lanes b) {
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ);
}
#elif defined(TACIT_ISA_avx2)
TACIT_INLINE unsigned above(Lanes a, Lanes b) {
  return static_cast<unsigned>(
      _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ)));
}
#else
TACIT_INLINE unsigned above(Lanes a, Lanes b) {
  unsigned bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) bits |= static_cast<unsigned>(a[lane] > b[lane]) << lane;
  return bits;
}
#endif

}  // namespace tacit::TACIT_ISA
