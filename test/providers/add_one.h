#pragma once
#include <string_view>

namespace strata::providers {

/// Blocks of 32: out[i] = x[i] + 1 over uint32.
inline constexpr std::string_view kAddOne = R"(
.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
.text
.globl add_one
.p2align 8
.type add_one,@function
add_one:
    s_load_b128 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_lshl_b32 s3, s2, 7
    v_add_nc_u32_e32 v1, s3, v1
    s_waitcnt lgkmcnt(0)
    global_load_b32 v2, v1, s[6:7]
    s_waitcnt vmcnt(0)
    v_add_nc_u32_e32 v2, 1, v2
    global_store_b32 v1, v2, s[4:5]
    s_endpgm
.size add_one, .-add_one
.rodata
.p2align 6
.amdhsa_kernel add_one
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_user_sgpr_count 2
    .amdhsa_kernarg_size 16
    .amdhsa_wavefront_size32 1
    .amdhsa_next_free_vgpr .amdgcn.next_free_vgpr
    .amdhsa_next_free_sgpr .amdgcn.next_free_sgpr
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: add_one
    .symbol: add_one.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .max_flat_workgroup_size: 256
    .sgpr_count: 8
    .vgpr_count: 3
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
)";

}  // namespace strata::providers
