#pragma once
#include <functional>
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
    /// `threads`: the indices of a block's threads, all of them, which tell the block where the kernel uses none.
    explicit Trace(std::vector<UOp> threads = {});
    ~Trace();
    Trace(const Trace&) = delete;

    /// The trace that this thread is building; Usage error outside of a kernel.
    static Trace& current(const char* what);
    static bool is_active();

    UOp shared(int64_t size, DType type);     ///< memory of a block, in elements
    UOp registers(int64_t size, DType type);  ///< memory of a thread

    /// `lanes` elements from an offset on, a vector where there are several; 0 where the predicate is false.
    UOp load(UOp memory, UOp offset, UOp predicate = {}, int lanes = 1, std::optional<CachePolicy> cache = {});
    void store(UOp memory, UOp offset, UOp value, UOp predicate = {}, std::optional<CachePolicy> cache = {});
    /// Registers of `size` elements that hold 0 before the innermost open loop.
    UOp registers_before_loop(int64_t size, DType type);
    /// `chosen` has the elements of one of the others, which a condition took in a line of the author's. An assignment
    /// to either is lost to the other: a load that would miss one is a Usage error.
    void choose(UOp chosen, UOp first, UOp second, int line);
    /// Stores that make `memory` another object of the author's: choices of what it was are over.
    void renew(UOp memory, const std::function<void()>& stores);
    /// The first `lanes` elements of a tile that a node reads by itself, from an offset on. note_reader says which node
    /// does: later changes of the memory come after it.
    UOp start_of_tile(UOp memory, UOp offset, int lanes);
    void note_reader(UOp memory, UOp by);
    /// The predicate under which this place of the program runs; empty: always.
    UOp predicate() const { return state_.predicate; }
    void barrier();

    // Operations across threads (threads.cpp).

    /// The old value of the place, before an atomic operation. Where the predicate is false nothing is done, and the
    /// value is undefined. `value` may be two halves, for two neighbours.
    UOp atomic(UOp memory, UOp offset, AtomicArg what, UOp value, UOp expected = {}, UOp predicate = {});
    /// Others in the scope see the accesses before this before those after it.
    void fence(MemoryScope scope);
    /// `elements` of global to local memory, asynchronously.
    void async_copy(UOp to, UOp to_offset, UOp from, UOp from_offset, int elements, UOp predicate = {});
    void async_commit();          ///< copies since the last one are a group
    void async_wait(int groups);  ///< until so few groups, the last ones, are under way
    /// A place that limits what the compiler moves across it.
    void schedule(ScheduleArg what);
    void wave_barrier();       ///< the lanes of the wave have done what comes before
    void priority(int level);  ///< of the wave from here on, 0 to 3
    void trap();               ///< threads that come here end the kernel with a fault
    /// A bit for each lane of the wave that comes here and for which the condition holds.
    UOp ballot(UOp condition, DType type);

    void begin_if(UOp condition);
    void begin_else();
    void end_if();

    /// A serial loop of `size` steps, which threads outside of the branch around leave at once. `steps` is the number
    /// to run, the same in all threads of a block.
    UOp begin_loop(int64_t size, UOp steps = {});
    /// `stages`: steps for which local memory has room that the loop copies to, ahead of the step that reads it
    /// (stages.h).
    void end_loop(int64_t stages = 1);
    /// Threads for which the condition holds leave the innermost loop here, each by itself.
    void break_if(UOp condition);
    /// Whether a value is surely the same in all threads of a block.
    bool is_uniform(UOp value) const;
    int depth() const { return static_cast<int>(state_.scopes.size()) - 1; }  ///< open loops

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
        UOp left = {};       ///< the last break
        UOp predicate = {};  ///< of the loop itself
        UOp ordered = {};    ///< the last fence or wave barrier: memory that nothing touched before comes after it too
    };
    struct Branch {
        UOp outer, condition;
        bool is_else = false;
        size_t scopes;  ///< open where the branch began
    };

    /// One of several names of registers, and what was done with them since.
    struct Choice {
        struct Side {
            std::vector<UOp> memories;
            bool changed = false;
            UOp read_in = {};  ///< the outermost loop around the last read
            bool has(UOp memory) const;
        };
        Side chosen, others;
        int line;
        size_t depth;  ///< scopes that were open where it was made
    };

    void note_access(UOp memory, bool writes);
    UOp load_unnoted(UOp memory, UOp offset, UOp predicate, int lanes, std::optional<CachePolicy> cache);
    Memory& memory_in(UOp memory, size_t scope);
    Memory& here(UOp memory) { return memory_in(memory, state_.scopes.size() - 1); }
    UOp pointer(UOp memory, UOp offset, int lanes, bool writes);
    /// Accesses of memory that others see, which come before this place; and makes those after it come after an effect.
    std::vector<UOp> seen_by_others();
    void order_others(UOp effect);
    void order_all(UOp effect);  ///< memory that nothing touched yet too
    void check_is_in_no_branch(const char* what, const char* why) const;
    UOp in_loop(UOp value) const;  ///< of threads that have not left the loop around
    void stage(Scope& loop, int64_t stages);
    static std::vector<UOp> all_of(const Memory& memory);
    static void reset(Scope& scope, UOp memory, UOp effect);

  public:
    struct State {
        std::vector<Scope> scopes;
        std::vector<Branch> branches;
        UOp predicate;
        int next_slot = 0, next_range = 0;
        std::vector<UOp> staged;  ///< memories of loops with stages, which hold nothing after them
        std::vector<Choice> choices;
    };
    /// The kernel so far; what is traced after it can be undone, to be traced again in another way.
    State mark() const { return state_; }
    void undo_to(State state) { state_ = std::move(state); }

  private:
    GraphScope keeps_nodes_;
    State state_;
    std::vector<UOp> threads_;
    UOpMap<UOp> made_under_;  ///< the predicate under which registers were made
    UOp renewed_ = {};        ///< memory whose stores make it another object
    Trace* outer_;
};

}  // namespace strata::lang
