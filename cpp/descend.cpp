// SPDX-License-Identifier: Apache-2.0
#include "descend.hpp"

#include <algorithm>
#include <vector>

#include "lanes.hpp"

namespace tacit::TACIT_ISA {
namespace {

class Descent {
 public:
  explicit Descent(const UserDescent& job)
      : job_(job),
        rank_(job.rank),
        padded_((job.rank + kLanes - 1) / kLanes * kLanes),
        x_(static_cast<std::size_t>(padded_)),
        pull_(static_cast<std::size_t>(padded_)) {}

  void move(std::int64_t user) {
    std::copy_n(job_.start + user * rank_, rank_, x_.data());
    const Lanes ridge = splat(-job_.ridge);
    for (std::int64_t j = 0; j < padded_; j += kLanes)
      store(pull_.data() + j, ridge * load(x_.data() + j));
    const std::int64_t last = job_.indptr[user + 1];
    for (std::int64_t p = job_.indptr[user]; p < last; p += kLanes)
      add(p, static_cast<int>(std::min<std::int64_t>(last - p, kLanes)));
    finish(user);
  }

 private:
  const float* factor(std::int64_t rating) const {
    return job_.factors + job_.items[rating] * rank_;
  }

  // Some ratings of one user: their errors, then what each error pulls.
  void add(std::int64_t first, int count) {
    const float* v[kLanes];
    Lanes products[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      products[i] = Lanes{};
      if (i >= count) continue;
      v[i] = factor(first + i);
      for (std::int64_t j = 0; j < rank_; j += kLanes)
        products[i] =
            add_product(load(x_.data() + j), load_some(v[i] + j, rank_ - j), products[i]);
    }
    float errors[kLanes];
    store(errors, load_some(job_.targets + first, count) - sum_each(products));
    for (std::int64_t j = 0; j < rank_; j += kLanes) {
      Lanes pull = load(pull_.data() + j);
      for (int i = 0; i < count; ++i)
        pull = add_product(splat(errors[i]), load_some(v[i] + j, rank_ - j), pull);
      store(pull_.data() + j, pull);
    }
  }

  void finish(std::int64_t user) {
    float* to = job_.moved + user * rank_;
    const Lanes rate = splat(job_.rates[user]);
    for (std::int64_t j = 0; j < rank_; j += kLanes) {
      Lanes sum = rate * load(pull_.data() + j);
      for (std::int64_t k = 0; k < rank_; ++k)
        sum = add_product(splat(x_[static_cast<std::size_t>(k)]),
                          load_some(job_.turn + k * rank_ + j, rank_ - j), sum);
      float flat[kLanes];
      store(flat, sum);
      std::copy_n(flat, std::min<std::int64_t>(rank_ - j, kLanes), to + j);
    }
  }

  const UserDescent& job_;
  const std::int64_t rank_, padded_;
  std::vector<float> x_, pull_;  // of the user at hand, with zeros after the last factor
};

}  // namespace

void descend_users(const UserDescent& job) {
  Descent descent(job);
  for (std::int64_t user = 0; user < job.users; ++user) descent.move(user);
}

}  // namespace tacit::TACIT_ISA
