// SPDX-License-Identifier: Apache-2.0
#include "dispatch.hpp"

#include <cstdlib>
#include <string_view>

namespace tacit {

static Isa best_of_machine() {
#ifdef TACIT_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
#endif
  return Isa::generic;
}

Isa chosen_isa() {
  static const Isa isa = [] {
    const Isa best = best_of_machine();
    const char* wish = std::getenv("TACIT_ISA");
    if (!wish) return best;
    const Isa asked = std::string_view(wish) == "generic" ? Isa::generic
                      : std::string_view(wish) == "avx2"  ? Isa::avx2
                                                          : Isa::avx512;
    return asked < best ? asked : best;
  }();
  return isa;
}

}  // namespace tacit
