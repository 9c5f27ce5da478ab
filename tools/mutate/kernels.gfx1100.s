// Hand-written kernels for `strata mutate`: above each its grid, block, and arguments as `strata run` takes them.

//@ 1 | 64 | f32[64] f32[256]=random
pipelined:
    s_load_b128 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_b32 v2, v1, s[6:7]
    global_load_b32 v3, v1, s[6:7] offset:256
    global_load_b32 v4, v1, s[6:7] offset:512
    global_load_b32 v5, v1, s[6:7] offset:768
    s_waitcnt vmcnt(3)
    v_mul_f32 v6, v2, v2
    s_waitcnt vmcnt(2)
    v_fmac_f32 v6, v3, v3
    s_waitcnt vmcnt(1)
    v_fmac_f32 v6, v4, v4
    s_waitcnt vmcnt(0)
    v_fmac_f32 v6, v5, v5
    global_store_b32 v1, v6, s[4:5]
    s_nop 0
    s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
    s_endpgm

//@ 1 | 128 | f32[128] f32[128]=random
exchanged:
    s_load_b128 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    v_xor_b32 v2, 0x104, v1
    s_waitcnt lgkmcnt(0)
    global_load_b32 v3, v1, s[6:7]
    s_waitcnt vmcnt(0)
    ds_store_b32 v1, v3
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_load_b32 v4, v2
    s_waitcnt lgkmcnt(0)
    v_add_f32 v4, v4, v3
    global_store_b32 v1, v4, s[4:5]
    s_nop 0
    s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
    s_endpgm

//@ 1 | 32 | f32[32] f32[32]=random
rows_added:
    s_load_b128 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    s_mov_b32 s30, -1
    s_waitcnt lgkmcnt(0)
    global_load_b32 v8, v1, s[6:7]
    s_waitcnt vmcnt(0)
    v_add_f32_dpp v8, v8, v8 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1
    v_add_f32_dpp v8, v8, v8 row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:1
    v_permlanex16_b32 v9, v8, s30, s30
    v_add_f32 v9, v8, v9
    global_store_b32 v1, v9, s[4:5]
    s_nop 0
    s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
    s_endpgm

//@ 1 | 64 | f32[64] f32[64]=random f32[64]=random
loop_of_loads:
    s_load_b128 s[4:7], s[0:1], 0x0
    s_load_b64 s[8:9], s[0:1], 0x10
    v_lshlrev_b32 v1, 2, v0
    v_mov_b32 v3, 0
    v_mov_b32 v4, 0
    s_mov_b32 s30, 4
    s_waitcnt lgkmcnt(0)
again:
    global_load_b32 v5, v1, s[6:7]
    global_load_b32 v6, v1, s[8:9]
    s_sub_u32 s30, s30, 1
    s_cmp_lg_u32 s30, 0
    s_waitcnt vmcnt(1)
    v_add_f32 v3, v3, v5
    s_waitcnt vmcnt(0)
    v_add_f32 v4, v4, v6
    s_cbranch_scc1 again
    v_mul_f32 v3, v3, v4
    global_store_b32 v1, v3, s[4:5]
    s_nop 0
    s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
    s_endpgm
