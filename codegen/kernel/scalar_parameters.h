#pragma once
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// A number of any type as a parameter. Those below 32 bits, which launches do not give, are widened for it and made
/// narrow again, which keeps their value.
UOp number_parameter(int slot, DType type);
bool can_be_parameter(DType type);
/// True if an operation is no faster for knowing the number that is this source of it: divisors and counts of shifts
/// are worth knowing.
bool no_faster_for_knowing(Op user, size_t source);
/// The bits that a launch gives in place of a constant.
uint64_t parameter_bits(UOp constant);

/// The stand-in in a tensor graph for the number that launches give at this place: a tensor () over a buffer that is on
/// no device.
UOp number_tensor(int place, DType type);
bool is_number(UOp buffer);  ///< true if it is the one below a number_tensor
/// Makes parameters of those that a kernel reads, after its other buffers, which `buffers` keeps by slot. Gives the
/// places.
std::vector<int> take_number_tensors(UOp& sink, std::vector<UOp>& buffers);

/// A number of a kernel that can as well be a parameter: what computes with it is no faster for knowing it.
struct FreeNumber {
    UOp constant;
    uint64_t bits;  ///< of the parameter that takes its place
};

/// Those of a kernel, each constant once, in the order of its graph.
struct FreeNumbers {
    std::vector<FreeNumber> all;
    uint64_t form;  ///< a hash of everything else in the kernel
};
FreeNumbers free_numbers(UOp sink);

/// The same kernel with parameters from `first_slot` on in place of these numbers.
UOp with_parameters(UOp sink, std::span<const FreeNumber> numbers, int first_slot);

}  // namespace strata::codegen
