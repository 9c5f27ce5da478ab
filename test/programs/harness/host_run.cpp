// The machine that programs run on for reference: work-items are fibers that change at barriers and at wave operations.
#include "host_run.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <map>
#include <stdexcept>

namespace programs {
namespace {

constexpr size_t stack_bytes = size_t{256} << 10;

enum class State { runs, at_barrier, at_wave, ended };

struct Fiber {
    ucontext_t context;
    State state = State::runs;
    dim3 index;
    unsigned wave_operations = 0;
};

struct Wave {
    uint64_t values[2][64], lanes[2];
};

/// One workgroup after the other, on stacks that are used again.
class Machine {
  public:
    int wave = 32;
    std::vector<uint64_t> shared;
    Fiber* current = nullptr;

    void run_group(const std::function<void()>& item, dim3 block) {
        item_ = &item;
        fibers_.assign(block.count(), {});
        waves_.assign((block.count() + wave - 1) / wave, {});
        for (unsigned i = 0; i < fibers_.size(); ++i) {
            fibers_[i].index = dim3(i % block.x, i / block.x % block.y, i / block.x / block.y);
            start(i);
        }
        while (run_all())
            if (!release_waves()) release_barrier();
    }
    void pause(State why) {
        current->state = why;
        Fiber* self = current;
        swapcontext(&self->context, &scheduler_);
    }
    unsigned item() const { return static_cast<unsigned>(current - fibers_.data()); }
    Wave& wave_of_item() { return waves_[item() / wave]; }

  private:
    void start(unsigned i) {
        if (stacks_.size() <= i) {
            void* stack =
                mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (stack == MAP_FAILED) throw std::runtime_error("no memory for the stack of a work-item");
            stacks_.push_back(stack);
        }
        ucontext_t& context = fibers_[i].context;
        getcontext(&context);
        context.uc_stack.ss_sp = stacks_[i];
        context.uc_stack.ss_size = stack_bytes;
        context.uc_link = &scheduler_;
        makecontext(&context, reinterpret_cast<void (*)()>(&Machine::work), 0);
    }
    static void work();

    /// Every fiber that can run runs until it pauses or ends; false when all have ended.
    bool run_all() {
        bool some = false;
        for (Fiber& fiber : fibers_) {
            if (fiber.state == State::runs) {
                current = &fiber;
                threadIdx = fiber.index;
                swapcontext(&scheduler_, &fiber.context);
            }
            some = some || fiber.state != State::ended;
        }
        return some;
    }
    bool release_waves() {
        bool some = false;
        std::vector<uint64_t> lanes(waves_.size());
        for (size_t i = 0; i < fibers_.size(); ++i)
            if (fibers_[i].state == State::at_wave) lanes[i / wave] |= uint64_t{1} << i % wave;
        for (size_t i = 0; i < fibers_.size(); ++i) {
            if (fibers_[i].state != State::at_wave) continue;
            waves_[i / wave].lanes[fibers_[i].wave_operations++ & 1] = lanes[i / wave];
            fibers_[i].state = State::runs;
            some = true;
        }
        return some;
    }
    void release_barrier() {
        for (Fiber& fiber : fibers_)
            if (fiber.state == State::at_barrier) fiber.state = State::runs;
    }

    const std::function<void()>* item_ = nullptr;
    std::vector<Fiber> fibers_;
    std::vector<Wave> waves_;
    std::vector<void*> stacks_;
    ucontext_t scheduler_;
};

Machine machine;

void Machine::work() {
    (*machine.item_)();
    machine.current->state = State::ended;
}

class HostRun : public Run {
  public:
    explicit HostRun(int wave) : wave_(wave) {}
    ~HostRun() override {
        for (auto& [address, first] : globals_) memcpy(address, first.data(), first.size());
    }
    void* allocate(const void* from, size_t bytes) override {
        auto& block = blocks_.emplace_back((bytes + 15) / 8);
        memcpy(block.data(), from, bytes);
        return block.data();
    }
    void read(void* to, const void* from, size_t bytes) override { memcpy(to, from, bytes); }
    void write(void* to, const void* from, size_t bytes) override { memcpy(to, from, bytes); }
    void* global(const char*, void* host, size_t bytes) override {
        auto* from = static_cast<const uint8_t*>(host);
        globals_.try_emplace(host, from, from + bytes);
        return host;
    }
    void run(const char*, const std::function<void()>& work_item, std::span<const uint8_t>, dim3 grid,
             dim3 block) override {
        machine.wave = wave_;
        machine.shared.assign((dynamic_lds + 7) / 8, 0);
        gridDim = grid;
        blockDim = block;
        for (unsigned i = 0; i < grid.count(); ++i) {
            blockIdx = dim3(i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y);
            machine.run_group(work_item, block);
        }
    }

  private:
    int wave_;
    std::vector<std::vector<uint64_t>> blocks_;
    std::map<void*, std::vector<uint8_t>> globals_;  ///< values to put back: the next run starts from them
};

}  // namespace

void* dynamic_shared() { return machine.shared.data(); }
int wave_size() { return machine.wave; }
int lane() { return static_cast<int>(machine.item()) % machine.wave; }

Gathered gather(uint64_t value) {
    Wave& wave = machine.wave_of_item();
    unsigned turn = machine.current->wave_operations & 1;
    wave.values[turn][lane()] = value;
    machine.pause(State::at_wave);
    return {wave.values[turn], wave.lanes[turn]};
}

uint64_t random_bits(uint64_t seed, uint64_t index) {
    uint64_t x = seed * 0x9e3779b97f4a7c15u + index * 0xd1342543de82ef95u + 0x2545f4914f6cdd1du;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

std::unique_ptr<Run> make_host_run(int wave) { return std::make_unique<HostRun>(wave); }

}  // namespace programs

void __syncthreads() { programs::machine.pause(programs::State::at_barrier); }
