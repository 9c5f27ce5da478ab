// Random programs compiled for the host and, at every optimisation level, for every emulated GPU; their results must be
// the same bits. Prints the smallest program that still differs and how to get it again.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "compare_random.h"

namespace {

struct Options {
    uint64_t seed = 1, count = 0;
    double seconds = 0;
    std::string machine, level;
    bool print = false;
};

constexpr const char* usage =
    "fuzz_programs [--seed N] [--count N | --seconds S] [--machine NAME] [--level -O0..-O3] [--print]\n"
    "  Programs N, N + 1, ... until the count or the time is over; one program by default.\n";

bool read(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        std::string_view name = argv[i];
        if (name == "--print") {
            options.print = true;
            continue;
        }
        if (i + 1 == argc) return false;
        const char* value = argv[++i];
        if (name == "--seed")
            options.seed = std::strtoull(value, nullptr, 10);
        else if (name == "--count")
            options.count = std::strtoull(value, nullptr, 10);
        else if (name == "--seconds")
            options.seconds = std::atof(value);
        else if (name == "--machine")
            options.machine = value;
        else if (name == "--level")
            options.level = value;
        else
            return false;
    }
    return true;
}

/// True when the program does the same everywhere.
bool check(uint64_t seed, const Options& options) {
    const auto program = programs::make_random_program(seed);
    if (options.print) fmt::print("{}\n", program.device_text());
    const programs::HostResults host(program);
    for (const auto& machine : programs::machines())
        for (const char* level : {"-O0", "-O1", "-O2", "-O3"}) {
            if (!options.machine.empty() && options.machine != machine.name) continue;
            if (!options.level.empty() && options.level != level) continue;
            std::string found = programs::difference(program, host, machine, level);
            if (found.empty()) continue;
            const auto small = programs::minimised(program, machine, level);
            fmt::print("{}\nfuzz/words.h, then:\n{}\nagain: fuzz_programs --seed {} --machine {} --level {}\n", found,
                       small.device_text(), seed, machine.name, level);
            fmt::print("now: {}\n", programs::difference(small, programs::HostResults(small), machine, level));
            return false;
        }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (!read(argc, argv, options)) {
        fmt::print(stderr, "{}", usage);
        return 2;
    }
    const auto start = std::chrono::steady_clock::now();
    auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    const uint64_t count = options.count ? options.count : options.seconds > 0 ? UINT64_MAX : 1;
    uint64_t done = 0, wrong = 0;
    for (; done < count && (options.seconds == 0 || elapsed() < options.seconds); ++done)
        if (!check(options.seed + done, options)) ++wrong;
    fmt::print("{} random programs in {:.1f} s, {} differ\n", done, elapsed(), wrong);
    return wrong != 0;
}
