// SPDX-License-Identifier: Apache-2.0
namespace tacit::TACIT_ISA {}
