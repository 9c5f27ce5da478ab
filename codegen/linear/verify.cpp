// verify_input: the rules of kernel.h, before anything is lowered; a user's mistake is a user's error. verify_waves:
// what depends on the target, when it is.
#include <fmt/format.h>

#include <algorithm>

#include "strata/codegen/linear/passes_p.h"
#include "strata/codegen/target/async_copy.h"
#include "strata/codegen/target/cache_policies.h"
#include "strata/codegen/target/ldmatrix.h"
#include "strata/codegen/target/matrix_layouts.h"
#include "strata/codegen/target/warpgroup_products.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"
#include "strata/core/uop/verify.h"

namespace strata::codegen {
namespace {

/// Users write memory and order by hand; Strata's own kernels before this stage never do.
bool is_users(std::span<const UOp> nodes) {
    return std::any_of(nodes.begin(), nodes.end(), [](UOp u) {
        bool own_memory = u.is(Op::param) && u.as<ParamArg>().space != Space::global;
        bool named = u.is(Op::sink) && !u.as<SinkArg>().name.empty();
        return own_memory || named || u.is(Op::after) || u.is(Op::barrier) || u.is(Op::special) ||
               u.is(Op::atomic_add) || u.is(Op::atomic) || u.is(Op::first_wave) || u.is(Op::last_block) ||
               u.is(Op::break_if) || u.is(Op::trap) || u.is(Op::shuffle_xor) || u.is(Op::shuffle) || u.is(Op::ballot) ||
               u.is(Op::wmma) || u.is(Op::foreign) || u.is(Op::priority) || u.is(Op::async_copy) ||
               u.is(Op::async_wait) || u.is(Op::schedule);
    });
}

std::string counted(DType type) { return fmt::format("{} {}", type.lanes, type.element().name()); }

template <class... Args>
Result<void> wrong(const LinearProgram& program, fmt::format_string<Args...> text, Args&&... args) {
    return make_error(ErrorKind::Usage, "kernel {}: {}", program.name, fmt::format(text, std::forward<Args>(args)...));
}

Result<void> verify_shuffle(UOp u, const LinearProgram& program, const Target& target) {
    const int mask = u.as<IndexArg>().index;
    if (mask < target.wave_size) return {};
    return wrong(program, "shuffle_xor by {}, and waves of {} have {} lanes; use a mask below that", mask,
                 target.arch.name(), target.wave_size);
}

Result<void> verify_atomic(UOp u, const LinearProgram& program, const Target& target) {
    const DType type = u.src(0).dtype();
    const std::string_view operation = atomic_names()[static_cast<size_t>(u.as<AtomicArg>().operation)];
    if (memory_of(u).as<ParamArg>().space == Space::reg)
        return wrong(program, "atomic {} of registers, which no other thread has: use global or local memory",
                     operation);
    if (u.src(1).dtype().lanes == 2) {
        if (proves_divisible(u.src(0).src(1), 2)) return {};
        return wrong(program, "atomic {} of two halves at an offset that may be odd; use one that is even", operation);
    }
    if (!type.is_bool() && type.bits() >= 32) return {};
    return make_error(ErrorKind::Unsupported, "kernel {}: {} has no atomic {} of {}; use a type of 32 or 64 bits",
                      program.name, target.arch.name(), operation, u.src(1).dtype().name());
}

Result<void> verify_ballot(UOp u, const LinearProgram& program, const Target& target) {
    if (u.dtype().bits() >= target.wave_size) return {};
    return wrong(program, "ballot as {}, and waves of {} have {} lanes; use uint64", u.dtype().name(),
                 target.arch.name(), target.wave_size);
}

Result<void> verify_async_copy(UOp u, const LinearProgram& program, const Target& target) {
    const int bytes = u.as<IndexArg>().index * u.src(0).dtype().bytes();
    if (!has_async_copy(target, 8 * bytes))
        return make_error(ErrorKind::Unsupported,
                          "kernel {}: {} has no asynchronous copy of {} bytes; use a load and a store", program.name,
                          target.arch.name(), bytes);
    if (async_copy_of(target) != AsyncCopy::by_lanes) return {};
    if (fills_by_lanes(u.src(0).src(1), u.src(0).dtype().bytes(), target.wave_size)) return {};
    return wrong(
        program,
        "asynchronous copies of {} fill {} neighbouring bytes for each lane of a wave, in order; the places in "
        "local memory are others",
        target.arch.name(), kBytesOfLane);
}

Result<void> verify_cache(UOp u, const LinearProgram& program, const Target& target) {
    const std::optional<CachePolicy> policy = uop::cache_of(u);
    if (!policy || has_policy(target, *policy)) return {};
    return make_error(ErrorKind::Unsupported, "kernel {}: {} has no accesses with the cache policy '{}'; it has {}",
                      program.name, target.arch.name(), cache_names()[static_cast<size_t>(*policy)],
                      policies_of(target));
}

Result<void> verify_foreign(UOp u, const LinearProgram& program, const Target& target) {
    const std::string& name = u.as<ForeignArg>().name;
    if (name.empty() || target.route == Route::hip) return {};
    return make_error(ErrorKind::Unsupported,
                      "kernel {}: {} is a function of HIP source (lang.extern), which the target asm does not compile; "
                      "use the target hip",
                      program.name, name);
}

Result<void> verify_product(UOp u, const LinearProgram& program, const Target& target) {
    const std::string& name = u.as<MatrixArg>().name;
    const std::string_view arch = target.arch.name();
    const MatrixShape* row = find_shape(target.matrix, name);
    if (!row) {
        std::string known;
        for (const MatrixShape& shape : target.matrix)
            known += fmt::format("{}{}", known.empty() ? "" : ", ", shape.mnemonic);
        return wrong(program, "{} has no {}; use one of {}", arch, name, known);
    }
    const DType operand = u.src(0).dtype(), sum = u.dtype();
    const std::optional<WarpgroupProduct> group = warpgroup_product(u);
    if (row->by_warpgroups && !group)
        return wrong(program, "{} of {} reads A and B from local memory: stage them", name, arch);
    const int of_b = row->operand_elements(), of_sum = row->accumulator_elements();
    const int of_a = group && group->holds_a() ? of_b * static_cast<int>(group->steps) : of_b;
    const DType other = u.src(1).dtype();
    if (!takes_operand(*row, operand.element()) || operand.lanes != of_a || !takes_operand(*row, other.element()) ||
        other.lanes != of_b || sum != row->accumulator.vector(of_sum))
        return wrong(program, "{} of {} takes {} {} of A, {} of B and {} {} of C from each lane, not {}, {} and {}",
                     name, arch, of_a, row->operand.name(), of_b, of_sum, row->accumulator.name(), counted(operand),
                     counted(other), counted(sum));
    if (u.as<MatrixArg>().clamp && !takes_signs(*row))
        return wrong(program, "{} of {} has no sums that saturate", name, arch);
    const uint32_t threads = program.block[0] * program.block[1] * program.block[2];
    const uint32_t together = static_cast<uint32_t>(target.wave_size * (row->by_warpgroups ? kWavesOfWarpgroup : 1));
    if (threads % together == 0) return {};
    return wrong(program, "{} in a block of {} threads: it works with whole waves, {} threads of {}", name, threads,
                 together, arch);
}

}  // namespace

Result<void> verify_waves(const LinearProgram& program, const Target& target) {
    for (UOp u : program.ops) {
        if (u.is(Op::shuffle_xor)) STRATA_TRY_VOID(verify_shuffle(u, program, target));
        if (u.is(Op::atomic)) STRATA_TRY_VOID(verify_atomic(u, program, target));
        if (u.is(Op::ballot)) STRATA_TRY_VOID(verify_ballot(u, program, target));
        if (u.is(Op::index)) STRATA_TRY_VOID(verify_cache(u, program, target));
        if (u.is(Op::async_copy)) STRATA_TRY_VOID(verify_async_copy(u, program, target));
        if (u.is(Op::foreign)) STRATA_TRY_VOID(verify_foreign(u, program, target));
        if (u.is(Op::wmma) && !is_ldmatrix(u)) STRATA_TRY_VOID(verify_product(u, program, target));
    }
    return {};
}

Result<void> verify_input(const Kernel& kernel) {
    if (!kernel.sink || !kernel.sink.is(Op::sink))
        return make_error(ErrorKind::Usage, "kernel {}: {} is no sink", kernel.name, to_string(kernel.sink));
    std::vector<UOp> nodes = toposort(kernel.sink);
    bool users = is_users(nodes);
    Result<void> checked = verify_kernel(kernel.sink);
    if (!checked) {
        Error error = std::move(checked.error());
        if (users) error.kind = ErrorKind::Usage;
        error.message = fmt::format("kernel {}: {}", kernel.name, error.message);
        return error;
    }
    return {};
}

}  // namespace strata::codegen
