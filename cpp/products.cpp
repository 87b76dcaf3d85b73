// SPDX-License-Identifier: Apache-2.0
#include "products.hpp"

#include "lanes.hpp"

namespace tacit::TACIT_ISA {
namespace {

constexpr std::int64_t kAhead = 6;  // ratings between the prefetch of an item's row and its use
constexpr int kSums = 4;            // partial sums, so that additions overlap

TACIT_INLINE float sum_of(Lanes lanes) {
  float parts[kLanes];
  store(parts, lanes);
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int lane = 0; lane < width; ++lane) parts[lane] += parts[lane + width];
  return parts[0];
}

// In an order that depends on the rank alone.
TACIT_INLINE float product(const float* u, const float* v, std::int64_t rank) {
  Lanes sums[kSums] = {};
  std::int64_t k = 0;
  for (; k + kSums * kLanes <= rank; k += kSums * kLanes)
    for (int i = 0; i < kSums; ++i)
      sums[i] = add_product(load(u + k + i * kLanes), load(v + k + i * kLanes), sums[i]);
  for (; k < rank; k += kLanes)
    sums[0] = add_product(load_some(u + k, rank - k), load_some(v + k, rank - k), sums[0]);
  return sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

}  // namespace

void row_products(const RowProducts& job) {
  const std::int64_t last = job.indptr[job.users] - 1;
  for (std::int64_t user = 0; user < job.users; ++user) {
    const float* u = job.user_factors + user * job.rank;
    for (std::int64_t p = job.indptr[user]; p < job.indptr[user + 1]; ++p) {
      const std::int64_t soon = p + kAhead < last ? p + kAhead : last;
      const float* next = job.item_factors + job.items[soon] * job.rank;
      for (std::int64_t k = 0; k < job.rank; k += 16) __builtin_prefetch(next + k, 0, 3);
      job.products[p] = product(u, job.item_factors + job.items[p] * job.rank, job.rank);
    }
  }
}

}  // namespace tacit::TACIT_ISA
