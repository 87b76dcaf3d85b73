// SPDX-License-Identifier: Apache-2.0
// The n best items of each user: scores by blocked products, kept in a small heap as they appear.
#pragma once

#include <cstdint>

namespace tacit {

// Items are packed in panels of this many, whatever the width of registers.
constexpr std::int64_t kPanel = 48;

struct PackItems {
  std::int64_t items;
  std::int64_t rank;
  const float* factors;  // items x rank
  const float* offsets;  // one per item
  float* packed;         // panels x (1 + rank) x kPanel
};

// A score is offset + x_0 v_0 + x_1 v_1 + ..., added in this order: its bits depend on nothing but
// the user's factors and the item. Equal scores come in the order of the items.
// The caller has checked every index; each user's excluded items ascend.
struct RankUsers {
  std::int64_t users;
  std::int64_t items;
  std::int64_t rank;
  std::int64_t n;                // at least 1
  const float* factors;          // users x rank
  const float* packed;           // from pack_items
  const std::int64_t* indptr;    // users + 1, of excluded
  const std::int32_t* excluded;  // items left out, by user
  std::int32_t* chosen;          // users x n, best first; -1 where no item is left
  float* scores;                 // users x n; minus infinity there
};

namespace generic {
void pack_items(const PackItems& job);
void rank_users(const RankUsers& job);
}  // namespace generic
namespace avx2 {
void pack_items(const PackItems& job);
void rank_users(const RankUsers& job);
}  // namespace avx2
namespace avx512 {
void pack_items(const PackItems& job);
void rank_users(const RankUsers& job);
}  // namespace avx512

}  // namespace tacit
