"""Names of CuTe, FlyDSL, Triton and HIP that strata.lang has under others."""

_INDEX = "lang.thread_idx.x; .y, .z"
_LAYOUT = "strata.layout: from strata import layout as lo; lo.{}"
_COORDINATES = "lang.identity(shape), or an index that a comparison bounds"

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
    "static_print": "print: it says a value of the trace", "device_print": "k.interpret(..., trace=(block, thread))",
    "randint4x": "lang.philox(seed, offset)", "rand4x": "lang.philox(seed, offset)",
    "make_tensor": "lang.make_view(memory, layout)",
    # CuTe, FlyDSL
    "make_layout": _LAYOUT.format("make_layout(...)"), "Layout": _LAYOUT.format("Layout"),
    "local_tile": _LAYOUT.format("local_tile(view, tiler, coordinate)"),
    "local_partition": _LAYOUT.format("local_partition(layout, threads, i)"),
    "zipped_divide": _LAYOUT.format("zipped_divide(view, tiler)"), "composition": _LAYOUT.format("composition(a, b)"),
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
