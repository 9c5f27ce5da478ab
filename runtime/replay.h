#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "strata/core/support/settings.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/interpreted_graphs.h"
#include "strata/runtime/kernel_call.h"
#include "strata/runtime/launch_graph.h"

namespace strata::runtime {

/// Gives what the host puts into a buffer this time.
using Feed = std::function<std::vector<uint8_t>()>;

/// Writes down what a thread does to device memory while a scope of it lives there.
class Recorder {
  public:
    Recorder();
    static Recorder* active();  ///< of this thread; null: none

    class Scope {
      public:
        explicit Scope(Recorder& recorder);
        ~Scope();
        Scope(const Scope&) = delete;

      private:
        Recorder* previous_;
    };

    /// `in_place`: what the program may fill over what, by slot.
    void launched(std::shared_ptr<Program> program, std::span<const std::shared_ptr<Buffer>> memory,
                  std::span<const uint64_t> numbers, std::span<const executable::InPlace> in_place);
    /// Unsupported error where it writes memory that was there before.
    void called(const KernelCall& call, std::span<const std::shared_ptr<Buffer>> memory);
    /// `memory`: of the inputs, then of the results.
    void interpreted(std::shared_ptr<const InterpretedGraphs> graphs, std::span<const std::shared_ptr<Buffer>> memory);
    void copied(Buffer& from, Buffer& to);
    void uploaded(Buffer& buffer, const void* data, size_t bytes, Feed feed);
    bool made(const Buffer& buffer) const { return buffer.id() >= first_; }  ///< since it began

  private:
    friend class Replay;
    /// Something that is done to memory, which is known by its place.
    struct Action {
        std::shared_ptr<Program> program = {};
        std::optional<KernelCall> call = {};  ///< of a user's kernel; neither: the second is copied to the first
        std::vector<uint32_t> memory = {};    ///< by slot; of a call by its tensors
        std::vector<uint64_t> numbers = {};   ///< of the slots after them
        std::vector<executable::InPlace> in_place = {};
        std::shared_ptr<const InterpretedGraphs> graphs = {};  ///< no program: that a device interprets
    };
    struct Memory {
        std::shared_ptr<Buffer> buffer;
        std::string content = {};  ///< a hash of what the host put in; empty: nothing
        Feed feed = {};            ///< which gives it
    };
    uint32_t place(const std::shared_ptr<Buffer>& buffer);

    uint64_t first_;
    Settings settings_;
    std::vector<Action> actions_;
    std::vector<Memory> memory_;
    std::vector<uint32_t> fed_;                      ///< places, in the order of the feeds
    std::unordered_map<uint64_t, uint32_t> places_;  ///< by a buffer's id
};

/// Throws a Usage error while this thread records: `what` would not be done again.
void refuse_in_recording(std::string_view what);

/// A recording as a list of launches over other inputs. Its intermediate values are in memory of its own, planned
/// once.
class Replay {
  public:
    /// `results`: buffers whose content is wanted, in new memory each time; of inputs and what the host put in once, as
    /// they are. Usage error where memory was read that is neither made nor an input.
    Replay(Recorder recorded, std::span<const UOp> inputs, std::span<const UOp> results);

    /// The difference from the other replay; none: they do the same.
    std::optional<std::string> difference(const Replay& other) const;
    bool has_settings_in_force() const { return recorded_.settings_ == settings(); }
    /// The first input that had the memory of this one.
    size_t first_with_memory_of(size_t input) const { return first_with_[input]; }

    /// The values that the host puts in this time, in order.
    std::vector<std::vector<uint8_t>> feed() const;
    bool is_fed() const { return !recorded_.fed_.empty(); }
    /// Where the content of a result is after a run.
    struct Result {
        enum class Kind : uint8_t { made, input, constant } kind;
        size_t index;        ///< made: the first result in this memory; input: which
        Root constant = {};  ///< its buffer
    };
    Result result(size_t i) const;
    UOp new_memory(size_t result) const;
    /// The input whose memory the first result in a memory may be given as well. Nothing reads the input's value once
    /// something of the result is filled.
    std::optional<size_t> donor(size_t result) const { return donors_[result]; }
    /// One at a time. `results`: memory of those that are made, null for the others.
    void run(std::span<Buffer* const> inputs, std::span<Buffer* const> results,
             std::span<const std::vector<uint8_t>> fed);

    size_t actions() const { return recorded_.actions_.size(); }
    size_t own_bytes() const;

  private:
    enum class Kind : uint8_t { input, result, own, constant };
    struct Place {
        Kind kind;
        uint32_t index = 0;  ///< of inputs, results, own_
        uint16_t device;
        DType dtype;
        int64_t size;
        size_t bytes() const { return static_cast<size_t>(size) * static_cast<size_t>(dtype.bytes()); }
    };
    void sort_places(std::span<const UOp> inputs, std::span<const UOp> results);
    void plan_own_memory();
    void find_donors();
    void perform(Recorder::Action& action);
    /// True if a device takes the list as one: no clock is modelled and nobody listens to single launches.
    bool is_one_launch() const;
    void make_graph();
    void launch_graph();
    void take_slots(const Recorder::Action& action);

    Recorder recorded_;
    std::vector<size_t> first_with_;  ///< by input
    std::vector<Place> places_;
    std::vector<std::shared_ptr<Buffer>> own_;
    std::vector<uint32_t> results_;              ///< places
    std::vector<Root> constants_;                ///< by result; empty for others
    std::vector<std::optional<size_t>> donors_;  ///< by result

    std::vector<Buffer*> now_;  ///< by place, of a run
    std::vector<uint64_t> addresses_, slots_;
    std::unique_ptr<LaunchGraph> graph_;
    std::vector<uint64_t> graph_addresses_;  ///< that it was given, by place
    bool graph_refused_ = false;
};

}  // namespace strata::runtime
