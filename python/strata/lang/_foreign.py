"""Names of CuTe, FlyDSL, Triton and HIP that strata.lang has under others."""

_INDEX = "lang.thread_idx.x; .y, .z"
_LAYOUT = "strata.layout: from strata import layout as lo; lo.{}"
_COORDINATES = "lang.identity(shape), or an index that a comparison bounds"
_FRAGMENT_LIKE = "fragment = lang.make_fragment_like(view)"
_BEST = "lang.block_reduce of a number that has value and place, or of a comparison by a function"
_MODES = "v.view(layout); modes of size 1 repeat in arithmetic"
_TURNED = "v.view(layout) with its modes in another order"
_STORES = "stores to lang.registers(shape, dtype)"
_SHARED = "lang.shared(shape, dtype)"
_ASYNC = 'lang.CopyAtom(bits, dtype, kind="async")'
_BUFFER = 'lang.CopyAtom(bits, dtype, kind="buffer")'
_SLICE = "a method: lang.make_tiled_copy(...).get_slice(t), lang.make_tiled_mma(...).get_slice(t)"
_GROUPS = "lang.warpgroup_layout((rows, k))"
_TYPES = "Int8 Int16 Int32 Int64 Uint8 Uint16 Uint32 Uint64 Float16 BFloat16 Float32 Float64".split()
_OF_LAYOUTS = "size rank depth crd2idx dice logical_divide tiled_divide Swizzle".split()

LANG = {
    # Triton
    "program_id": "lang.block_idx.x for axis 0; .y, .z", "num_programs": "lang.grid_dim.x for axis 0; .y, .z",
    "constexpr": "lang.Constexpr", "load": "v[c], or v.load() of a view",
    "store": "v[c] = x, or v.store(x) of a view", "arange": "lang.thread_idx.x: a kernel is of one thread",
    "zeros": "fragment = lang.registers(shape, dtype); fragment.fill(0)",
    "full": "fragment = lang.registers(shape, dtype); fragment.fill(x)",
    "dot": "lang.gemm(mma, d, a, b, c)", "where": "lang.select(condition, x, y)", "cat": "lang.registers of both",
    "sum": 'lang.block_reduce(x), or v.reduce("add") of a fragment',
    "reduce": "lang.block_reduce(x, op), lang.wave_reduce(x, op), or v.reduce(op)",
    "associative_scan": "lang.block_scan(x, op)", "cumsum": "lang.block_scan(x)",
    "atomic_cas": "lang.atomic_compare_exchange(place, expected, x)",
    "atomic_xchg": "lang.atomic_exchange(place, x)", "debug_barrier": "lang.barrier()",
    "make_block_ptr": "lo.local_tile(view, tiler, coordinate)", "make_tensor_descriptor": "lang.bounded(view)",
    "advance": "tiles[None, None, k] of lo.local_tile(view, tiler, (m, None))",
    "multiple_of": "lang.dynamic(t, divisibility=n)",
    "max_contiguous": "lang.dynamic(t, leading_dim=d)",
    "static_assert": "assert: it decides while the kernel is traced",
    "static_print": "print: it says a value of the trace", "device_print": 'lang.printf("{}", x)',
    "randint4x": "lang.philox(seed, offset)", "rand4x": "lang.philox(seed, offset)",
    "make_tensor": "lang.make_view(memory, layout)",
    "zeros_like": _FRAGMENT_LIKE + "; fragment.fill(0)", "full_like": _FRAGMENT_LIKE + "; fragment.fill(x)",
    "max": 'lang.maximum(x, y), lang.block_reduce(x, "max"), or v.reduce("max") of a fragment',
    "min": 'lang.minimum(x, y), lang.block_reduce(x, "min"), or v.reduce("min") of a fragment',
    "argmax": _BEST, "argmin": _BEST,
    "broadcast": _MODES, "broadcast_to": _MODES, "expand_dims": _MODES, "view": _MODES, "reshape": _MODES,
    "ravel": _MODES, "trans": _TURNED, "permute": _TURNED, "interleave": _STORES, "join": _STORES, "split": _STORES,
    "flip": _STORES, "num_warps": "block= of the launch, lang.wave_size() threads a wave",
    "num_stages": "stages= of lang.range", "maxnreg": "@strata.kernel(registers=n)",
    "umulhi": 'hi = (x.cast("uint64") * y) >> 32', "softmax": "lang.block_reduce of the maximum, then of the sum",
    "sort": "lang.shuffle_xor(v, x) of lanes, or local memory", "histogram": "lang.atomic_add(own.at(x), 1)",
    "dot_scaled": "scales times what lang.gemm gives", "swizzle2d": "// and % of lang.block_idx.x",
    "load_tensor_descriptor": "v[c] of lang.bounded(view)", "store_tensor_descriptor": "v[c] = x of lang.bounded(view)",
    "pair_uniform_to_normal": "lang.randn(seed, offset)", "randn4x": "lang.philox(seed, offset), lang.randn",
    "assume": "lang.dynamic(t, divisibility=n)", "xor_sum": 'lang.block_reduce(x, "xor")',
    "cumprod": 'lang.block_scan(x, "mul")', "tensor": "lang.Tensor", "pointer_type": "lang.Tensor, or lang.pointer",
    "interpreter": "k.interpret(...)", "do_not_specialize": "a number is given at each launch",
    # CuTe, FlyDSL
    "arch": "strata.arch(name)", "compile": "strata.compile(kernel, *args)", "kernel": "@strata.kernel",
    "print_tensor": 'lang.printf("{}", v[c]), or k.interpret(..., trace=(block, thread))',
    "make_smem_ptr": _SHARED, "alloc_smem": _SHARED, "get_dyn_smem": _SHARED, "get_dyn_shared_memory": _SHARED,
    "SharedAllocator": _SHARED, "allocate_tensor": _SHARED,
    "CopyUniversalOp": "lang.CopyAtom(bits, dtype)", "UniversalCopy": "lang.CopyAtom(bits, dtype)",
    "UniversalCopy128b": "lang.CopyAtom(128, dtype)", "BufferCopy128b": _BUFFER, "ReductionOp": 'a name: "add", "max"',

    "CopyG2SOp": _ASYNC, "make_cotiled_copy": "lang.make_tiled_copy(atom, tv, tiler)",
    "BufferCopy": _BUFFER, "make_buffer_tensor": "lang.bounded(view)", "buffer_store": _BUFFER,
    "wgmma": "lang.MmaAtom(dtype, shape=(64, n, 16))", "make_smem_layout_a": _GROUPS, "make_smem_layout_b": _GROUPS,
    "MmaUniversalOp": "lang.fma(a, b, c)", "MmaF16BF16Op": "lang.MmaAtom(dtype)", "MFMA": "lang.MmaAtom(dtype)",
    "WMMA": "lang.MmaAtom(dtype)", "make_fragment_A": _SLICE, "make_fragment_B": _SLICE, "make_fragment_C": _SLICE,
    "get_slice": _SLICE, "thr_slice": _SLICE, "partition_S": _SLICE, "partition_D": _SLICE, "retile": _SLICE,
    "lane_idx": "lang.lane()", "warp_idx": "lang.wave()", "elect_one": "lang.lane() == 0",
    "cp_async_commit_group": "lang.async_commit()", "cp_async_wait_group": "lang.async_wait(n)",
    "cp_async": _ASYNC, "make_rmem_tensor_like": "lang.make_fragment_like(view)",
    "basic_copy": "lang.copy_tile(src, dst)",
    "warp_reduction": "lang.wave_reduce(v, op)", "fence_proxy": "lang.fence(scope)",
    "shuffle_sync": "lang.shuffle_idx(v, lane)", "shuffle_sync_bfly": "lang.shuffle_xor(v, mask)",
    "shuffle_sync_up": "lang.shuffle_up(v, n)", "shuffle_sync_down": "lang.shuffle_down(v, n)",
    "vote_ballot_sync": "lang.ballot(p)", "vote_any_sync": "lang.any(p)", "vote_all_sync": "lang.all(p)",
    "dynamic_expr": "a plain if: what it meets decides", "range_loop": "lang.range(...)",
    "recast_tensor": "v.recast(dtype)", "recast_ptr": "v.recast(dtype)", "TensorSSA": "a view of registers, v.load()",
    "Vector": "lang.registers(n, dtype)", "size_in_bytes": "v.size * v.dtype.itemsize",
    "domain_offset": "lo.local_tile(view, tiler, coordinate)", "slice_": "v[None, i]",
    "make_swizzle": "lo.Swizzle(bits, base, shift)", "printf_tensor": 'lang.printf("{}", v[c])',
    **{name: f"dtypes.{name.lower()}, of strata" for name in _TYPES},
    "Boolean": "dtypes.bool, of strata", "Float8E4M3FN": "dtypes.fp8e4m3, of strata",
    "Float8E5M2": "dtypes.fp8e5m2, of strata",
    "make_layout": _LAYOUT.format("make_layout(...)"), "Layout": _LAYOUT.format("Layout"),
    "local_tile": _LAYOUT.format("local_tile(view, tiler, coordinate)"),
    "local_partition": _LAYOUT.format("local_partition(layout, threads, i)"),
    "zipped_divide": _LAYOUT.format("zipped_divide(view, tiler)"), "composition": _LAYOUT.format("composition(a, b)"),
    **{name: _LAYOUT.format(name) for name in _OF_LAYOUTS},
    "make_rmem_tensor": "lang.registers(shape, dtype)", "make_fragment": "lang.registers(shape, dtype)",
    "make_tensor_like": "lang.make_fragment_like(view)", "make_identity_tensor": "lang.identity(shape)",
    "make_copy_atom": "lang.CopyAtom(bits, dtype)", "make_mma_atom": "lang.MmaAtom(dtype)",
    "Copy_Atom": "lang.CopyAtom(bits, dtype)", "MMA_Atom": "lang.MmaAtom(dtype)",
    "mark_layout_dynamic": "lang.dynamic(t, leading_dim=d)",
    "mark_compact_shape_dynamic": "lang.dynamic(t, divisibility=n)",
    "from_dlpack": "the tensor itself: kernels take what DLPack gives", "make_ptr": "lang.pointer(address, dtype)",
    "elem_less": _LAYOUT.format("elem_less(a, b)"), "jit": "@strata.kernel", "autotune": "@strata.autotune",
    "sync_threads": "lang.barrier()", "syncthreads": "lang.barrier()", "sync_warp": "lang.wave_barrier()",
    "range_dynamic": "lang.range(...)", "range_constexpr": "lang.static_range(...)",
    "const_expr": "a Python value decides while the kernel is traced",
    "SmemAllocator": "lang.shared(shape, dtype), or of a class under @lang.struct",
    "MemRange": "lang.Array[dtype, n]",
    "buffer_load": 'lang.copy(lang.CopyAtom(bits, dtype, kind="buffer"), src, dst), or lang.bounded(view)',
    # HIP, CUDA
    "inline_asm_elementwise": "lang.inline_asm(text, outputs, inputs)",
    "extern_elementwise": "lang.extern(hip_source, name, args, returns)",
    "threadIdx": _INDEX, "blockIdx": "lang.block_idx.x; .y, .z", "blockDim": "lang.block_dim.x; .y, .z",
    "gridDim": "lang.grid_dim.x; .y, .z", "thread_id": _INDEX, "block_id": "lang.block_idx.x; .y, .z",
    "lane_id": "lang.lane()", "warp_id": "lang.wave()", "wave_id": "lang.wave()", "warp_size": "lang.wave_size()",
    "shfl": "lang.shuffle_idx(v, lane)", "shfl_xor": "lang.shuffle_xor(v, mask)", "shfl_up": "lang.shuffle_up(v, n)",
    "shfl_down": "lang.shuffle_down(v, n)", "shuffle": "lang.shuffle_idx(v, lane)",
    "popc": "lang.popcount(x)", "ffs": "lang.ctz(x) + 1", "brev": "lang.reverse_bits(x)",
    "warp_reduce": "lang.wave_reduce(v, op)", "atomicAdd": "lang.atomic_add(v.at(c), x)",
    "atomicCAS": "lang.atomic_compare_exchange(v.at(c), expected, x)", "threadfence": "lang.fence()",
    "syncwarp": "lang.wave_barrier()", "expf": "lang.exp(x)", "mask": _COORDINATES,
}  # fmt: skip
