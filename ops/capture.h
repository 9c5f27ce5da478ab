#pragma once
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "strata/core/support/mutex.h"
#include "strata/ops/tensor.h"
#include "strata/runtime/donation.h"
#include "strata/runtime/replay.h"

namespace strata::ops {

/// A tensor in memory that the host fills now, and again before each replay of what is recorded.
Tensor fed(Shape shape, DType dtype, std::string_view device, const runtime::Feed& feed);
/// Into the memory of a tensor that has its own; `feed`: what a replay puts there, none: the same.
void upload(Tensor& t, const void* data, const runtime::Feed& feed);

/// The operations of a function on tensors, seen once, to be done again with other values in them. The tensors are
/// known by their place among the inputs: all that the function reads, and those that it changes through assign() and
/// backward().
///
///     Capture capture(inputs);
///     { Capture::Scope scope(capture); results = f(); capture.finish(results); }
///     ...
///     results = capture.replay(inputs, capture.feed());
class Capture {
  public:
    /// Realizes the inputs, each once in the list. Usage error for one that was made of tensors that require gradients.
    explicit Capture(const std::vector<Tensor*>& inputs);
    static Capture* active();  ///< of this thread; null: none

    class Scope {
      public:
        explicit Scope(Capture& capture);
        ~Scope();
        Scope(const Scope&) = delete;

      private:
        Capture* previous_;
        runtime::Recorder::Scope recorder_;
    };

    /// Computes the results and what the inputs became, which are views of memory then, without a history. Usage error
    /// where something was read that is no input.
    void finish(const std::vector<Tensor*>& results);
    /// The difference from the other capture; none: they do the same.
    std::optional<std::string> difference(const Capture& other) const;

    /// Why it is not what would happen to these inputs: another shape, type, device or sharing of memory, other
    /// settings;
    /// none: it is. Computes inputs that are not in memory.
    std::optional<std::string> mismatch(const std::vector<Tensor*>& inputs) const;
    /// True if there is none, where settings are known to be the same.
    bool fits(const std::vector<Tensor*>& inputs) const { return !mismatch_of_inputs(inputs); }
    auto feed() const { return replay_->feed(); }
    bool is_fed() const { return replay_->is_fed(); }
    /// Changes the inputs as the function did; gives its results.
    std::vector<Tensor> replay(const std::vector<Tensor*>& inputs, const std::vector<std::vector<uint8_t>>& fed);

    size_t actions() const { return replay_->actions(); }
    size_t own_bytes() const { return replay_->own_bytes(); }

    /// Called before a tensor becomes another value. Usage error for one from outside that is no input.
    void assigned(const Tensor& t) const;

  private:
    struct Movement {
        Op op;
        Arg arg;
    };
    /// A value after a run: a view of the memory of a result, or always the same.
    struct Value {
        size_t result = 0;
        std::vector<Movement> movements = {};  ///< the lowest first
        const runtime::Device* device = nullptr;
        std::optional<Tensor> fixed = {};
    };
    struct Input {
        Shape shape;
        DType dtype;
        const runtime::Device* device;
        bool requires_grad, has_grad;
        Root before = {}, grad_before = {};          ///< as it was when the recording began
        std::optional<Value> after = {}, grad = {};  ///< what it became, where it did
        bool loses_grad = false;
    };
    /// Memory of a result that is used again once nobody has the tensors over it.
    struct Spare {
        Root buffer;
        runtime::Buffer* memory = nullptr;
        struct View {
            const Value* value;
            Tensor tensor;
        };
        std::vector<View> views = {};
        struct Count {
            UOp node;
            uint32_t roots, users;
        };
        std::vector<Count> counts = {};            ///< of its nodes, while nobody else has them
        std::weak_ptr<runtime::Buffer> seen = {};  ///< the memory, which its node alone keeps then
        bool is_free() const { return is_held_by(nullptr); }
        bool is_held_by(const Tensor* alone) const;  ///< null: by nobody
    };
    /// An input that becomes a result in its own memory, where nothing else has that.
    struct Donor {
        size_t input, place;  ///< place: of its memory below inputs
    };
    /// Memory of a place as it was last.
    struct Seen {
        UOp node = {};
        uint64_t buffer = 0;
        runtime::Buffer* memory = nullptr;
    };
    /// The working memory of a call, kept for the next one.
    struct Now {
        std::vector<UOp> nodes;
        std::vector<runtime::Buffer*> memory, results;
        std::vector<std::shared_ptr<Spare>> spares;
    };
    static void place(Tensor& t);
    Value value_of(const Tensor& t, std::vector<UOp>& results);
    std::optional<std::string> mismatch(size_t i, Tensor& t) const;
    std::optional<std::string> mismatch_of_inputs(const std::vector<Tensor*>& inputs) const;
    /// Buffers below the inputs and their gradients, without those of empty tensors.
    void nodes_below(const std::vector<Tensor*>& inputs, std::vector<UOp>& out) const;
    static runtime::Buffer* memory_of(UOp node, Seen& seen);
    Tensor view(const Value& value, UOp buffer) const;
    std::shared_ptr<Spare> new_spare(size_t result) const;
    /// Memory for all results that are made. Whether nodes were made, where none was free.
    /// `donates`: an input's own memory too.
    bool take_spares(const std::vector<Tensor*>& inputs, bool donates, std::vector<std::shared_ptr<Spare>>& out);
    std::shared_ptr<Spare> donated_spare(size_t result, const std::vector<Tensor*>& inputs) const;
    void find_donors();
    void tell_inputs(const std::vector<Tensor*>& inputs);
    Tensor tensor_of(const Value& value) const;
    std::vector<const Value*> values() const;

    Mutex mutex_;                   ///< of a replay
    std::vector<Tensor*> tensors_;  ///< while it records
    std::vector<Seen> seen_;        ///< by place of the memory below inputs
    Now now_;
    bool shares_memory_ = false, changes_inputs_ = false;
    std::vector<std::vector<std::shared_ptr<Spare>>> spares_;  ///< by result
    std::vector<std::optional<Donor>> donors_;                 ///< by result, or empty: there are none
    std::vector<Input> inputs_;
    std::vector<Value> results_;
    runtime::Recorder recorder_;
    std::unique_ptr<runtime::Replay> replay_;
};

}  // namespace strata::ops
