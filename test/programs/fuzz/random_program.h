#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace programs {

/// A statement: its text, and the statements within it, if any.
struct Statement {
    std::string open;
    std::vector<Statement> body = {};
    std::string close = {};
};

/// A step between segments in which work-items meet.
struct Meeting {
    enum Kind { none, shuffle_xor, shuffle_from, vote, publish, atomic } kind = none;
    std::string variable;
    unsigned number = 0;
};

/// Functions, and a kernel of segments of statements with meetings between them. Deleting any statement or meeting
/// leaves a valid program.
struct RandomProgram {
    static constexpr unsigned block = 128, blocks = 2, inputs = 256;

    struct Function {
        std::string head, result;
        std::vector<Statement> body;
    };
    struct Segment {
        std::vector<Statement> body;
        Meeting after;
    };
    std::vector<Function> functions;
    std::vector<Segment> segments;

    std::string device_text() const;
    std::string host_text() const;  ///< without words.h
    static unsigned results();      ///< 64-bit numbers that a work-item writes
};

RandomProgram make_random_program(uint64_t seed);

}  // namespace programs
