#pragma once
#include <optional>

#include "strata/core/uop/uop.h"

/// Builders of kernels as graphs (kernel-level ops of ops.def), with the names of Python's strata.uop. The meaning of
/// each op, and which graphs are valid: ops.def, verify_kernel.
namespace strata::uop {

/// The kernel's parameter number `slot`, a buffer: the output of a custom kernel is 0, its inputs follow.
UOp buffer(int slot, DType type, int64_t size);
/// The kernel's parameter number `slot`: a number that each launch gives, of 32 or 64 bits.
UOp variable(int slot, DType type);
/// Memory of a block (local) or of a thread (reg).
UOp placeholder(int64_t size, DType type, Space space, int slot = 0);
/// A loop variable 0 .. size-1; ids are distinct in a kernel and give the order of nesting.
/// Steps: the number that a serial loop takes, the same in all threads of a block, 0 to size, 1 where that is 1.
/// Without it the loop takes all.
UOp range(int64_t size, int id, Axis axis, UOp steps = {});

/// A place in memory; nothing is touched there where `predicate` is false.
UOp at(UOp memory, UOp offset, UOp predicate = {}, std::optional<CachePolicy> cache = {});
UOp at(UOp memory, int64_t offset);
std::optional<CachePolicy> cache_of(UOp place);  ///< how accesses there use caches; none: as the chip does
/// The value at a place, or `otherwise` where its predicate is false: 0 if not given.
UOp load(UOp place, UOp otherwise = {});
UOp store(UOp place, UOp value);
UOp store(UOp place, double value);

/// The value or memory, used only after the effects and inside of the ranges given; itself where there are none.
UOp after(UOp u, std::span<const UOp> earlier);
UOp after(UOp u, std::initializer_list<UOp> earlier);
/// Closes ranges around an effect; the effect itself where there are none.
UOp end(UOp effect, std::span<const UOp> ranges);
UOp end(UOp effect, std::initializer_list<UOp> ranges);
/// All threads of the block have finished the effects, and read the values.
UOp barrier(std::span<const UOp> effects);
UOp barrier(UOp effect);
/// Several effects as one.
UOp group(std::span<const UOp> effects);
/// The whole kernel.
UOp sink(UOp effect, std::string name = {});

/// Threads for which the condition holds leave the loop here, each by itself; the loop goes on until none is left.
UOp break_if(UOp condition, UOp range);
/// The old value of an atomic's place, before its operation: a value, or the effect below it.
UOp atomic(UOp place, AtomicArg what, UOp value, UOp expected = {});
/// The effect: the old value stands for its atomic where effects are listed.
UOp effect_below(UOp u);
/// Others in the scope see effects before this one before they see later effects.
UOp fence(MemoryScope scope, std::span<const UOp> earlier);
/// All lanes of the wave have finished the effects, and read the values.
UOp wave_barrier(std::span<const UOp> earlier);
/// The wave's priority among those of its vector unit from here on, 0 to 3.
UOp priority(int level, std::span<const UOp> earlier);
/// The results of a text that the compiler does not look into.
UOp foreign(DType type, ForeignArg what, std::span<const UOp> numbers);
/// `elements` elements from a place of global memory to one of local memory, without registers. After a wait of the
/// threads that copied, and a barrier, all see them.
UOp async_copy(UOp to, UOp from, int elements);
UOp async_commit(std::span<const UOp> earlier);            ///< the thread's copies since the last one are a group
UOp async_wait(int groups, std::span<const UOp> earlier);  ///< until so few of the last groups are under way
/// A place that limits what is moved across it.
UOp schedule(ScheduleArg what, std::span<const UOp> earlier);
/// Ends the kernel with a fault in threads for which the condition holds.
UOp trap(UOp condition);

/// The value in the lane whose number is this one's with the mask's bits flipped.
UOp shuffle_xor(UOp value, int mask);
/// The value in the lane of that number.
UOp shuffle(UOp value, UOp lane);
/// A bit for each lane of the wave where the condition holds: uint64, or uint32 where waves have 32 lanes.
UOp ballot(UOp condition, DType type);
/// A vector of some values, the value itself where it is one; one element of such a vector.
UOp vec(std::span<const UOp> values);
UOp lane(UOp vector, int i);
/// The value for each step of some vector ranges as a vector, the last range fastest.
UOp contract(UOp value, std::span<const UOp> ranges);
/// The element of a vector that a number says which upcast ranges give.
UOp element(UOp vector, UOp i);
/// A * B + C by the matrix instruction of that mnemonic: vectors of what this lane holds of each.
UOp wmma(std::string name, UOp a, UOp b, UOp c, bool clamp = false);

/// Both conditions; an empty one always holds.
UOp both(UOp a, UOp b);

}  // namespace strata::uop
