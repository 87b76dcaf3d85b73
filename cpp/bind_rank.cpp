// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

#include "dispatch.hpp"
#include "rank.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T, int Dimensions>
using Input = nb::ndarray<const T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <class T, int Dimensions>
using Output = nb::ndarray<nb::numpy, T, nb::ndim<Dimensions>>;

constexpr std::align_val_t kCacheLine{64};

// Messages name the argument and the rule, never a value: values belong to users.
void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

// Vectors that start on a cache line are read at full speed.
template <class T>
T* allocate(std::size_t count) {
  return static_cast<T*>(::operator new((count + 1) * sizeof(T), kCacheLine));
}

nb::capsule owner_of(void* memory) {
  return nb::capsule(memory, [](void* p) noexcept { ::operator delete(p, kCacheLine); });
}

Output<float, 3> pack_items(const Input<float, 2>& factors, const Input<float, 1>& offsets) {
  const std::size_t items = factors.shape(0), rank = factors.shape(1);
  require(offsets.shape(0) == items, "pack_items: offsets must have one entry for each item");
  require(items < std::numeric_limits<std::int32_t>::max(), "pack_items: too many items");
  const std::size_t panels = (items + tacit::kPanel - 1) / tacit::kPanel;
  auto* packed = allocate<float>(panels * (1 + rank) * tacit::kPanel);
  const nb::capsule owner = owner_of(packed);
  {
    const nb::gil_scoped_release released;
    TACIT_PICK(pack_items)
    ({static_cast<std::int64_t>(items), static_cast<std::int64_t>(rank), factors.data(),
      offsets.data(), packed});
  }
  return {packed, {panels, 1 + rank, static_cast<std::size_t>(tacit::kPanel)}, owner};
}

// Are all indices inside, and each user's ascending without repetition?
bool in_order(const tacit::RankUsers& job, std::int64_t count) {
  bool fine = job.indptr[0] >= 0 && job.indptr[job.users] <= count;
  for (std::int64_t u = 0; u < job.users; ++u) fine &= job.indptr[u] <= job.indptr[u + 1];
  if (!fine) return false;
  for (std::int64_t u = 0; u < job.users; ++u) {
    std::int32_t last = -1;
    for (std::int64_t p = job.indptr[u]; p < job.indptr[u + 1]; ++p) {
      fine &= job.excluded[p] > last;
      last = job.excluded[p];
    }
    fine &= last < job.items;
  }
  return fine;
}

nb::tuple rank_users(const Input<float, 2>& factors, const Input<float, 3>& packed,
                     std::int64_t items, std::int64_t n, const Input<std::int64_t, 1>& indptr,
                     const Input<std::int32_t, 1>& excluded) {
  const std::size_t users = factors.shape(0), rank = factors.shape(1);
  const auto panels = static_cast<std::int64_t>(packed.shape(0));
  require(packed.shape(1) == rank + 1 && packed.shape(2) == tacit::kPanel,
          "rank_users: packed and factors must have the same rank");
  require(items >= 0 && (items + tacit::kPanel - 1) / tacit::kPanel == panels,
          "rank_users: packed must hold the given number of items");
  require(n >= 1 && n <= std::numeric_limits<std::int32_t>::max(), "rank_users: n must be >= 1");
  require(indptr.shape(0) == users + 1, "rank_users: indptr must have one entry more than users");
  const auto width = static_cast<std::size_t>(n);
  auto* chosen = allocate<std::int32_t>(users * width);
  const nb::capsule chosen_owner = owner_of(chosen);
  auto* scores = allocate<float>(users * width);
  const nb::capsule scores_owner = owner_of(scores);
  const tacit::RankUsers job{static_cast<std::int64_t>(users),
                             items,
                             static_cast<std::int64_t>(rank),
                             n,
                             factors.data(),
                             packed.data(),
                             indptr.data(),
                             excluded.data(),
                             chosen,
                             scores};
  {
    const nb::gil_scoped_release released;
    require(in_order(job, static_cast<std::int64_t>(excluded.shape(0))),
            "rank_users: each user's excluded items must ascend and be numbers of items");
    TACIT_PICK(rank_users)(job);
  }
  return nb::make_tuple(Output<std::int32_t, 2>(chosen, {users, width}, chosen_owner),
                        Output<float, 2>(scores, {users, width}, scores_owner));
}

}  // namespace

void bind_rank(nb::module_& module) {
  module.def("pack_items", &pack_items, "factors"_a.noconvert(), "offsets"_a.noconvert());
  module.def("rank_users", &rank_users, "factors"_a.noconvert(), "packed"_a.noconvert(), "items"_a,
             "n"_a, "indptr"_a.noconvert(), "excluded"_a.noconvert());
}
