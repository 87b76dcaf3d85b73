// SPDX-License-Identifier: Apache-2.0
// Every kernel source is compiled once per instruction set; here the running machine picks one.
#pragma once

namespace tacit {

enum class Isa { generic, avx2, avx512 };

// The best instruction set that this machine has and this build contains (TACIT_ISA=generic|avx2|avx512
// in the environment lowers it, for tests).
Isa chosen_isa();

}  // namespace tacit

// In a kernel source: `namespace tacit::TACIT_ISA { ... }` holds this build's functions.
// In a binding: `TACIT_PICK(function)` is the address of the one that fits this machine.
#ifdef TACIT_X86
#define TACIT_PICK(function)                                      \
  (::tacit::chosen_isa() == ::tacit::Isa::avx512 ? ::tacit::avx512::function \
   : ::tacit::chosen_isa() == ::tacit::Isa::avx2 ? ::tacit::avx2::function   \
                                                 : ::tacit::generic::function)
#else
#define TACIT_PICK(function) (::tacit::generic::function)
#endif
