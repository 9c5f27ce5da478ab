#pragma once
#include <optional>
#include <string>
#include <vector>

#include "strata/core/uop/uop.h"
#include "strata/core/uop/uop_map.h"

namespace strata::lang {

/// Builds one kernel from loads, stores, loops and branches in program order. Nodes carry the order by `after`, so that
/// passes may move whatever is not ordered: accesses that surely touch different elements are not.
///
/// Branches are if-converted: what a branch loads and stores has its condition as a predicate. Values that leave a
/// branch go through `where`, those that leave a loop through register memory.
class Trace {
  public:
    Trace();
    ~Trace();
    Trace(const Trace&) = delete;

    /// The trace that this thread is building; Usage error outside of a kernel.
    static Trace& current(const char* what);
    static bool is_active();

    UOp shared(int64_t size, DType type);     ///< memory of a block, in elements
    UOp registers(int64_t size, DType type);  ///< memory of a thread

    /// `lanes` elements from an offset on, a vector where there are several; 0 where the predicate is false.
    UOp load(UOp memory, UOp offset, UOp predicate = {}, int lanes = 1);
    void store(UOp memory, UOp offset, UOp value, UOp predicate = {});
    /// The predicate under which this place of the program runs; empty: always.
    UOp predicate() const { return predicate_; }
    void barrier();

    void begin_if(UOp condition);
    void begin_else();
    void end_if();

    /// A serial loop of `size` steps; `steps`: how many of them, the same in all threads of a block.
    UOp begin_loop(int64_t size, UOp steps = {});
    void end_loop();
    int depth() const { return static_cast<int>(scopes_.size()) - 1; }  ///< open loops

    UOp finish(std::string name);  ///< the sink; every loop and branch is closed

  private:
    struct Access {
        UOp offset, node;
        int lanes;
    };
    /// The state of one memory in one scope: what each access comes after, and the accesses since then.
    struct Memory {
        std::vector<UOp> base;
        std::vector<Access> reads, writes;
    };
    struct Scope {
        UOp range;  ///< empty for the kernel itself
        UOpMap<Memory> memories;
        std::vector<UOp> touched;  ///< memories in order of their first access
        std::vector<UOp> effects;
    };
    struct Branch {
        UOp outer, condition;
        bool is_else = false;
        size_t scopes;  ///< open where the branch began
    };

    Memory& memory_in(UOp memory, size_t scope);
    Memory& here(UOp memory) { return memory_in(memory, scopes_.size() - 1); }
    UOp pointer(UOp memory, UOp offset, int lanes, bool writes);
    static std::vector<UOp> all_of(const Memory& memory);
    static void reset(Scope& scope, UOp memory, UOp effect);

    GraphScope keeps_nodes_;
    std::vector<Scope> scopes_;
    std::vector<Branch> branches_;
    UOp predicate_;
    UOpMap<UOp> made_under_;  ///< the predicate under which registers were made
    int next_slot_ = 0, next_range_ = 0;
    Trace* outer_;
};

}  // namespace strata::lang
