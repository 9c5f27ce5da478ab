"""Names of strata.lang and strata.layout that authors rely on: one that goes or comes is a change of this list."""

import pytest
from strata import dtypes, lang, layout
from strata.lang import _FUNCTIONS

LANG = """
    Array Constexpr CopyAtom MmaAtom Tensor TensorSpec TiledCopy TiledMma Value View all any async_commit
    async_wait atomic_add atomic_add_pair atomic_and atomic_compare_exchange atomic_dec atomic_exchange
    atomic_inc atomic_max atomic_min atomic_or atomic_xor autovec_copy ballot barrier block_dim block_idx
    block_reduce block_scan bounded cbrt cdiv clamp clz cond copy copy_tile ctz device_assert dynamic erfc
    extern fence fma fmax fmin gather gemm grid_dim identity inline_asm lane loop make_fragment_like
    make_tiled_copy make_tiled_copy_A make_tiled_copy_B make_tiled_copy_C make_tiled_copy_tv make_tiled_mma
    make_view philox pointer popcount printf rand randint randn range register_argument registers reverse_bits
    scatter sched_barrier sched_group_barrier select set_priority shared shuffle_down shuffle_idx shuffle_up
    shuffle_xor static_range struct thread thread_idx trap warpgroup_layout wave wave_barrier wave_reduce
    wave_scan wave_size while_loop
"""

LAYOUT = """
    BankConflicts Basis ComposedLayout CoordSwizzle E Layout LayoutError Swizzle Tile append bank_conflicts
    blocked_product ceil_div coalesce complement composition congruent coshape cosize crd2crd crd2idx depth dice
    draw elem_less flat_coord flat_divide flat_product flatten get group idx2crd inner_product is_injective
    left_inverse linear_coord local_partition local_tile logical_divide logical_product make_composed_layout
    make_fragment_layout make_identity_layout make_layout make_layout_like make_layout_tv make_ordered_layout
    make_tile parse prefix_product prepend product product_each product_like raked_product rank recast_layout
    right_inverse select shape_div show size slice slice_and_offset take tile_to_shape tiled_divide
    tiled_product tuple_add tuple_div tuple_mod tuple_mul tuple_sub unpack weakly_congruent zipped_divide
    zipped_product
"""


@pytest.mark.parametrize("module, names", [(lang, LANG), (layout, LAYOUT)], ids=["lang", "layout"])
def test_the_public_names_are_these(module, names):
    elementwise = set(_FUNCTIONS) if module is lang else set()
    assert set(module.__all__) - elementwise == set(names.split())
    assert all(hasattr(module, name) for name in module.__all__)


def test_functions_of_tensors_are_among_them():
    assert {"exp", "tanh", "atan2", "sqrt", "floor", "sigmoid", "erf"} <= set(lang.__all__)


MEMBERS = {
    lang.View: "at cast dtype fill layout load map offset rank recast reduce shape size space store stride view",
    lang.CopyAtom: "bits cache dtype elements kind",
    lang.MmaAtom: "acc clamp dtype dtype_A dtype_B layout_A_tv layout_B_tv layout_C_tv name shape_mnk threads",
    lang.TiledCopy: "atom get_slice layout_dst_tv layout_src_tv threads tiler",
    lang.TiledMma: "atom get_slice layout_A_tv layout_B_tv layout_C_tv threads tile_mnk",
    layout.Layout: "cosize depth rank shape size stride",
}


@pytest.mark.parametrize("of", MEMBERS, ids=lambda of: of.__name__)
def test_the_members_of_its_classes_are_these(of):
    assert set(MEMBERS[of].split()) <= {name for name in dir(of) if not name.startswith("_")}


def test_types_of_elements_are_those_of_tensors():
    assert lang.TensorSpec(4).dtype == dtypes.float32
