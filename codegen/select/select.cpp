// select: instruction selection. A linear program as code over virtual registers.
#include "strata/codegen/select/select.h"

#include "strata/codegen/linear/async_groups.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/select/arithmetic/arithmetic.h"
#include "strata/codegen/select/entry_p.h"
#include "strata/codegen/select/foreign_p.h"
#include "strata/codegen/select/lanes_p.h"
#include "strata/codegen/select/last_block_p.h"
#include "strata/codegen/select/matrix_p.h"
#include "strata/codegen/select/memory/atomic_ops.h"

namespace strata::codegen {
namespace {

/// Gives each operation to the class that selects it.
class Selector {
  public:
    Selector(const LinearProgram& program, MachineFunction& function) : context_(program, function) {}
    Result<void> run();

  private:
    bool select(UOp u);
    void select_vector(UOp u);

    SelectionContext context_;
    Packing packing_{context_};
    Divergence divergence_{context_};
    RegisterMemory registers_{context_, packing_, divergence_};
    Addresses addresses_{context_, registers_};
    Buffers buffers_{context_, packing_, addresses_};
    Memory memory_{context_, packing_, registers_, addresses_, buffers_};
    Atomics atomics_{context_, packing_, memory_};
    AtomicOps atomic_ops_{context_, packing_, memory_, atomics_};
    Arithmetic arithmetic_{context_, packing_};
    MatrixProducts matrices_{context_, packing_};
    OtherLanes lanes_{context_, packing_};
    Control control_{context_, addresses_, divergence_};
    LastBlock last_block_{context_, memory_, control_};
    ForeignCode foreign_{context_};
};

Result<void> Selector::run() {
    const LinearProgram& program = context_.program;
    KernelEntry(context_).begin();
    buffers_.begin_descriptors();
    context_.function.blocks[0].code.reserve(2 * program.ops.size());
    for (size_t i = 0; i < program.ops.size(); ++i) {
        context_.code.set_origin(static_cast<uint32_t>(i));
        const UOp u = program.ops[i];
        if (u.is(Op::foreign)) {
            STRATA_TRY_VOID(foreign_.run(u));
        } else if (!select(u)) {
            return program.about(
                u, make_error(ErrorKind::Unsupported, "{}: direct lowering for {} has no {}; use target 'hip'",
                              program.name, isa::info(context_.function.target.arch).name, to_string(u)));
        }
        addresses_.split_sum(u);
    }
    context_.code.add("s_endpgm");
    return {};
}

bool Selector::select(UOp u) {
    switch (u.op()) {
        case Op::param:
            if (u.as<ParamArg>().space == Space::reg) registers_.add(u);
            return true;
        case Op::define_var:
        case Op::special:
        case Op::index: return true;
        case Op::constant: context_.set(u, Source::of_number(encoded(u))); return true;
        case Op::range: control_.begin_loop(u); return true;
        case Op::end: control_.end_loop(skip_after(u.src(1))); return true;
        case Op::break_if: control_.break_if(u); return true;
        case Op::barrier: control_.barrier(); return true;
        case Op::load: return memory_.load(u);
        case Op::store: return memory_.store(u);
        case Op::atomic_add: return atomics_.add(u);
        case Op::atomic: return atomic_ops_.run(u);
        case Op::fetched: atomic_ops_.fetched(u); return true;
        case Op::fence:
            for (bool releases : {true, false}) last_block_.fence(releases, u.as<ScopeArg>().scope);
            return true;
        case Op::async_copy: return memory_.copy_async(u);
        case Op::async_commit: return true;  // the chip counts copies
        case Op::async_wait: control_.wait_for_copies(copies_left_by(context_.program.ops, u)); return true;
        case Op::schedule: control_.schedule(u); return true;
        case Op::wave_barrier: control_.wave_barrier(); return true;
        case Op::trap: control_.trap(u); return true;
        case Op::priority: context_.code.add("s_setprio").inst.offset = u.as<IndexArg>().index; return true;
        case Op::first_wave: last_block_.first_wave(u); return true;
        case Op::last_block: last_block_.last_block(u); return true;
        case Op::vec:
        case Op::lane: select_vector(u); return true;
        case Op::shuffle_xor: lanes_.shuffle_xor(u); return true;
        case Op::shuffle: lanes_.shuffle(u); return true;
        case Op::ballot: lanes_.ballot(u); return true;
        case Op::freeze: context_.set(u, context_.value(u.src(0))); return true;
        case Op::wmma: matrices_.product(u); return true;
        default: return info(u.op()).computes() && u.dtype().lanes == 1 && arithmetic_.elementwise(u);
    }
}

/// Building a vector, or taking an element of it, is no code.
void Selector::select_vector(UOp u) {
    if (u.is(Op::lane)) {
        context_.set(u, context_.value(u.src(0)).lanes[static_cast<size_t>(u.as<IndexArg>().index)]);
        return;
    }
    Value all;
    for (UOp s : u.src()) all.lanes.push_back(context_.value(s));
    context_.set(u, std::move(all));
}

}  // namespace

Result<MachineFunction> select(const LinearProgram& program, const Target& target) {
    MachineFunction function{.program = program, .target = target, .family = isa::info(target.arch).family};
    Selector selector(program, function);
    STRATA_TRY_VOID(selector.run());
    remove_dead_code(function);
    return function;
}

}  // namespace strata::codegen
