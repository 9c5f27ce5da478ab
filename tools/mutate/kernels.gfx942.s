// Hand-written kernels for `strata mutate`: above each its grid, block, and arguments as `strata run` takes them.

//@ 1 | 64 | f32[64] f32[256]=random
pipelined:
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v3, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v4, v3, s[6:7]
    global_load_dword v5, v3, s[6:7] offset:256
    global_load_dword v6, v3, s[6:7] offset:512
    global_load_dword v7, v3, s[6:7] offset:768
    s_waitcnt vmcnt(3)
    v_mul_f32 v8, v4, v4
    s_waitcnt vmcnt(2)
    v_fmac_f32 v8, v5, v5
    s_waitcnt vmcnt(1)
    v_fmac_f32 v8, v6, v6
    s_waitcnt vmcnt(0)
    v_fmac_f32 v8, v7, v7
    global_store_dword v3, v8, s[4:5]
    s_endpgm

//@ 1 | 128 | f32[128] f32[128]=random
exchanged:
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v3, 2, v0
    v_xor_b32 v4, 0x104, v3
    s_waitcnt lgkmcnt(0)
    global_load_dword v5, v3, s[6:7]
    s_waitcnt vmcnt(0)
    ds_write_b32 v3, v5
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v6, v4
    s_waitcnt lgkmcnt(0)
    v_add_f32 v6, v6, v5
    global_store_dword v3, v6, s[4:5]
    s_endpgm

//@ 1 | 64 | i32[64] i32[64]=arange
distances:
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v3, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v4, v3, s[6:7]
    s_waitcnt vmcnt(0)
    v_mov_b32 v5, v4
    s_nop 1
    v_add_u32_dpp v6, v5, v4 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1
    s_nop 0
    v_readfirstlane_b32 s30, v6
    s_nop 3
    v_readlane_b32 s31, v4, s30
    s_nop 1
    v_add_u32 v6, s31, v6
    v_cmp_lt_i32 vcc, 5, v6
    s_nop 1
    v_cndmask_b32 v7, v6, v4, vcc
    v_cvt_f32_u32 v8, v7
    v_rcp_f32 v8, v8
    s_nop 0
    v_mul_f32 v8, 0x42c80000, v8
    v_cvt_u32_f32 v8, v8
    v_mov_b32 v10, s6
    v_mov_b32 v11, s7
    v_readfirstlane_b32 s36, v10
    v_readfirstlane_b32 s37, v11
    s_nop 4
    global_load_dword v9, v3, s[36:37]
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0
    s_nop 1
    s_getreg_b32 s35, hwreg(HW_REG_MODE)
    s_waitcnt vmcnt(0)
    v_add_u32 v9, v9, v8
    global_store_dword v3, v9, s[4:5]
    s_endpgm

//@ 1 | 64 | f32[256] f32[64]=random f32[64]=random
products:
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_load_dwordx2 s[8:9], s[0:1], 0x10
    v_lshlrev_b32 v3, 2, v0
    v_lshlrev_b32 v14, 4, v0
    v_mov_b32 v4, 0
    v_mov_b32 v5, 0
    v_mov_b32 v6, 0
    v_mov_b32 v7, 0
    s_waitcnt lgkmcnt(0)
    global_load_dword v8, v3, s[6:7]
    global_load_dword v9, v3, s[8:9]
    s_waitcnt vmcnt(0)
    v_mul_f32 v9, 0.5, v9
    s_nop 1
    v_mfma_f32_4x4x1_16b_f32 v[4:7], v8, v9, v[4:7]
    s_nop 3
    v_mfma_f32_4x4x1_16b_f32 v[10:13], v4, v9, v[4:7]
    s_nop 3
    v_add_f32 v10, v10, v11
    global_store_dwordx4 v14, v[10:13], s[4:5]
    s_endpgm
